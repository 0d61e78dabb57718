"""Checkpoints: what a run needs to go on after a restart, kept in a folder."""
