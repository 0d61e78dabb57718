"""Charts, for commands and studies. They need matplotlib (`headgate[plot]`)."""
