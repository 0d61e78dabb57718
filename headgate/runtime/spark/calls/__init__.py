"""Calls of units: one Spark job each, prepared or planned for the call."""
