"""The AQSIOS study: class-based scheduling of continuous queries (Al Moakar, Pittsburgh, 2013)."""
