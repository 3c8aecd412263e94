"""Files of events and of deltas, and who may say what when: reading, checking and writing logs."""
