"""After a failed call: which row or operator is to blame, and what to say about it."""
