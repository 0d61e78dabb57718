"""A module that cannot be imported, as packages may have one."""

raise ImportError("the sample is broken on purpose")
