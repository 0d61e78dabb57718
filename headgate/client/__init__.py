"""A client of a server: what runs and applications can do, over HTTP. `headgate.Client` is one."""
