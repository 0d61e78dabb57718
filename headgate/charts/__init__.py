"""Drawing, for commands and studies: what becomes of numbers in a picture. Needs matplotlib (`headgate[plot]`)."""
