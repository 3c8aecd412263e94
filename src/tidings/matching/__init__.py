"""The four matchers, the shard that runs them over one part of the subscriptions, and the engine of one process."""
