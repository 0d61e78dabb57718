"""Papers that several policies come from."""

AL_MOAKAR = "Al Moakar: Class-Based Continuous Query Scheduling in Data Stream Management Systems (Pittsburgh, 2013)"
