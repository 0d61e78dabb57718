"""The functions that a request from somebody else may use: they only compute a value from their arguments.

A test compares the lists with the functions of the installed Spark, and shows what to sort in when a new version adds
some. Nobody but `request_checks.py` uses them; whoever writes the application file is not held to them.
"""

from __future__ import annotations

# Numbers, comparisons, conditions, types
_VALUES = """
    abs acos acosh asin asinh atan atan2 atanh between bigint bin binary bit_count bit_get boolean bround cast
    cbrt ceil ceiling coalesce conv cos cosh cot csc date decimal degrees div double e equal_null exp expm1
    factorial float floor getbit greatest hex hypot if ifnull ilike int isnan isnotnull isnull least like ln log
    log10 log1p log2 mod nanvl negative not nullif nullifzero nvl nvl2 pi pmod positive pow power radians regexp
    regexp_like rint rlike round sec shiftleft shiftright shiftrightunsigned sign signum sin sinh smallint sqrt
    string tan tanh time timestamp tinyint try_add try_cast try_divide try_mod try_multiply try_subtract unhex
    when width_bucket zeroifnull
    """
# Text, hashes, URLs
_TEXTS = """
    ascii base64 bit_length btrim char char_length character_length chr collate collation concat_ws contains
    crc32 decode elt encode endswith find_in_set format_number format_string from_base32 hash initcap instr
    is_valid_utf8 jaro_winkler_similarity lcase left len length levenshtein locate lower lpad ltrim luhn_check
    make_valid_utf8 mask md5 octet_length overlay parse_url position printf quote regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_replace regexp_substr repeat replace right rpad rtrim sentences sha
    sha1 sha2 soundex space split split_part startswith substr substring substring_index to_base32 to_binary
    to_char to_number to_varchar translate trim try_parse_url try_to_binary try_to_number try_url_decode
    try_validate_utf8 ucase unbase64 upper url_decode url_encode validate_utf8 xxhash64
    """
# Dates and times
_TIMES = """
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc
    dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_unixtime
    from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_time make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month monthname months_between next_day
    quarter second session_window time_bucket time_diff time_from_micros time_from_millis time_from_seconds
    time_to_micros time_to_millis time_to_seconds time_trunc timestamp_micros timestamp_millis timestamp_nanos
    timestamp_seconds timestampadd timestampdiff to_date to_time to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_utc_timestamp trunc try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_to_date try_to_time try_to_timestamp unix_date unix_micros unix_millis unix_nanos
    unix_seconds unix_timestamp weekday weekofyear window window_time year
    """
# Lists, maps, structs, lambdas
_NESTED = """
    aggregate array array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat
    array_size array_sort array_union arrays_overlap arrays_zip cardinality concat element_at exists filter
    flatten forall get map map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries
    map_keys map_values map_zip_with named_struct reduce reverse sequence size slice sort_array str_to_map
    struct transform transform_keys transform_values try_element_at zip_with
    """
# Documents
_DOCUMENTS = """
    from_csv from_json get_json_object is_valid_variant is_variant_null json_array_length json_object_keys
    parse_json schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg to_csv to_json
    to_variant_object to_xml try_parse_json try_variant_array_append try_variant_get try_variant_insert
    try_variant_set variant_array_append variant_delete variant_get variant_insert variant_set
    variant_strip_nulls
    """
# Sketches, vectors, places, and the rest
_OTHERS = """
    aes_decrypt aes_encrypt approx_top_k_estimate assert_true bitmap_bit_position bitmap_bucket_number
    bitmap_count hll_sketch_estimate hll_union hmac kll_sketch_get_n_bigint kll_sketch_get_n_double
    kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
    kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
    kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float raise_error st_asbinary
    st_geogfromwkb st_geomfromwkb st_setsrid st_srid theta_difference theta_intersection theta_sketch_estimate
    theta_union try_aes_decrypt tuple_difference_double tuple_difference_integer tuple_difference_theta_double
    tuple_difference_theta_integer tuple_intersection_double tuple_intersection_integer
    tuple_intersection_theta_double tuple_intersection_theta_integer tuple_sketch_estimate_double
    tuple_sketch_estimate_integer tuple_sketch_summary_double tuple_sketch_summary_integer
    tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_double tuple_union_integer
    tuple_union_theta_double tuple_union_theta_integer typeof vector_avg vector_cosine_similarity
    vector_inner_product vector_l2_distance vector_norm vector_normalize vector_sum
    """
# Aggregates
_AGGREGATES = """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    bool_and bool_or collect_list collect_set collect_union corr count count_if covar_pop covar_samp every first
    first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last
    last_value listagg max max_by mean median min min_by mode percentile percentile_approx percentile_cont
    percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    skewness some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg
    theta_union_agg try_avg try_sum tuple_intersection_agg_double tuple_intersection_agg_integer
    tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop
    var_samp variance
    """
ALLOWED = frozenset(" ".join((_VALUES, _TEXTS, _TIMES, _NESTED, _DOCUMENTS, _OTHERS, _AGGREGATES)).split())

_FILES = "can read files"
_SERVER = "tells about Headgate's machine and user, not about tuples"
# Why a function is not on the list, for those that a query could use otherwise.
LEFT_OUT = {
    **dict.fromkeys(("from_avro", "to_avro", "schema_of_avro", "from_protobuf", "to_protobuf"), _FILES),
    **dict.fromkeys(("from_xml", "schema_of_xml"), _FILES),
    **dict.fromkeys(
        """
        xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string
        """.split(),  # noqa: SIM905
        "reads the files that its XML names",
    ),
    **dict.fromkeys(
        """
        current_user session_user user current_catalog current_database current_path current_schema
        current_timezone version
        """.split(),  # noqa: SIM905
        _SERVER,
    ),
    "count_min_sketch": "takes as much memory as its arguments say",
    "measure": "belongs to views of Spark's catalog",
}

# Functions whose result is as large as an argument says: the positions of these arguments.
SIZED = {
    **dict.fromkeys(("repeat", "lpad", "rpad", "array_repeat", "array_insert"), (1,)),
    **dict.fromkeys(("round", "bround", "ceil", "ceiling", "floor", "format_number", "histogram_numeric"), (1,)),
    **dict.fromkeys(("percentile_approx", "approx_percentile"), (2,)),
    "space": (0,),
    "sequence": (0, 1),
}
# Functions that may do something for each part of one argument with each part of another.
MULTIPLYING = frozenset(
    """
    aggregate array_join array_sort exists filter flatten forall map_filter map_zip_with reduce regexp_replace replace
    transform transform_keys transform_values zip_with
    """.split()  # noqa: SIM905
)
