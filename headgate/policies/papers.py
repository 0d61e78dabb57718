"""Citations that several policies share."""

AL_MOAKAR = "Al Moakar: Class-Based Continuous Query Scheduling in Data Stream Management Systems (Pittsburgh, 2013)"
