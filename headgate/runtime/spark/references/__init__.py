"""Tuples that wait elsewhere: how Spark reads and surveys them."""
