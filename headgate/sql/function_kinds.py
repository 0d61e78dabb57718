"""Kinds of Spark SQL functions that need special treatment: aggregates, generators, nondeterministic ones, ...

`AGGREGATES` lists the functions of the group `agg_funcs` in Spark's function registry. A test compares the list with
the installed Spark, and shows what to change here when a new version adds some.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

AGGREGATES = frozenset(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set collect_union corr count count_if count_min_sketch
    covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg
    hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max max_by mean measure median
    min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev
    stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg theta_union_agg try_avg
    try_sum tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance
    """.split()  # noqa: SIM905
)
# Aggregates that Spark lists in other groups.
OTHER_AGGREGATES = frozenset({"schema_of_variant_agg", "vector_avg", "vector_sum"})
GENERATORS = frozenset(
    """
    explode explode_outer inline inline_outer posexplode posexplode_outer stack json_tuple
    """.split()  # noqa: SIM905
)
WINDOW_FUNCTIONS = frozenset(
    """
    counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number
    """.split()  # noqa: SIM905
)
# Refused, because an answer must not depend on when and how often an operator is called.
NONDETERMINISTIC = frozenset(
    """
    rand randn random randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id
    now curdate current_date current_time current_timestamp localtimestamp localtime
    """.split()  # noqa: SIM905
)
# Functions that do more than compute a value from a row, and what is wrong with them.
FORBIDDEN = {
    **dict.fromkeys(("reflect", "try_reflect", "java_method"), "calls any method of any Java class"),
    **dict.fromkeys(
        ("input_file_name", "input_file_block_start", "input_file_block_length"),
        "asks which file a row was read from, which Spark does not know for the tuples of a stream",
    ),
    "identifier": "turns a string into a column name",
}
FORBIDDEN_REMEDIES = {
    **dict.fromkeys(
        ("reflect", "try_reflect", "java_method"), "use Spark's functions, or an operator of kind function"
    ),
    "identifier": "write the name itself",
}
TIME_WINDOWS = ("window", "session_window")
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def is_aggregate(node: exp.Expr) -> bool:
    """Is it the bare call of an aggregate function?"""
    return isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES | OTHER_AGGREGATES


def aggregate_calls(expression: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost aggregate calls in an expression, each including its FILTER, WITHIN GROUP or IGNORE NULLS."""
    if is_aggregate_call(expression):
        yield expression
        return
    for child in expression.iter_expressions():
        yield from aggregate_calls(child)


def is_aggregate_call(node: exp.Expr) -> bool:
    """Is it an aggregate call, including any FILTER, WITHIN GROUP or IGNORE NULLS around it?"""
    if isinstance(node, _WRAPPERS):
        return is_aggregate_call(node.this)
    return is_aggregate(node)


def is_time_window(expression: exp.Expr) -> bool:
    """Is it window(ts, ..) or session_window(ts, ..)?"""
    return isinstance(expression, exp.Anonymous) and expression.name.lower() in TIME_WINDOWS
