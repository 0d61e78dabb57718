"""From CQL text to operators.

query_text.py and parse.py read the text, build_tree.py makes the logical tree, rules/ rewrites it, and lower.py turns
it into operators. `compile.compile_query` does all of this for one query.
"""
