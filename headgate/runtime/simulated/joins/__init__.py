"""Joins of two windows, simulated pair by pair."""
