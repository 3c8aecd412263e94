"""The commands. No logic: they read options, call the rooms and show what comes back."""
