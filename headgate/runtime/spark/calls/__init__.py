"""Calls of units, as Spark jobs: prepared, or planned for each call."""
