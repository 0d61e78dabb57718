"""What Spark's analyzer says of an application before it runs: schemas, and errors at their place in the file."""
