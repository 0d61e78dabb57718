"""Spark's analyzer, applied to an application before it runs: schemas, and errors at their place in the file."""
