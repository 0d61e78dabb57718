"""All that depends on the inner workings of Spark: swapping data under a plan, judging plans, reading results."""
