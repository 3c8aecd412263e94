"""The columnar tables that everything below runs on: events, subscriptions and messages as flat arrays."""
