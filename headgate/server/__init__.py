"""The server: registers, watches and steers continuous queries over HTTP. `headgate serve` runs it."""
