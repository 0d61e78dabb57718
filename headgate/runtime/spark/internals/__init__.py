"""Everything that depends on Spark's inner workings: swapping a plan's data, judging plans, reading results."""
