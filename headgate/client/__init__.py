"""A client of a server: what runs and applications can do, over HTTP. `headgate.connect` makes one."""
