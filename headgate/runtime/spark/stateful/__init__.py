"""How Spark computes operators with state, one file per method; `base.py` is the contract."""
