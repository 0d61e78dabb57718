"""The HTTP API: one file per kind of thing, versioned under `/v1`."""
