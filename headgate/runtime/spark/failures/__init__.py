"""After a failed call: finds the row or operator to blame, and words the error."""
