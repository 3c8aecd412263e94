"""What Tidings speaks of, as plain data: messages, subscriptions, regions, events, deltas, errors. No I/O."""
