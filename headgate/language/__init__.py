"""CQL in, operators out: text.py and parse.py read, build.py says what it means, rules/ rewrite, lower.py lowers.

`compile.compile_query` does all of it for one query; `queries.QueryBuilder` for all queries of an application.
"""
