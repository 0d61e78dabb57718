"""Starting and stopping Spark: its JVM, its settings, its session."""
