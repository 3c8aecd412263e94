"""How subscriptions and messages are spread over shards: the plans, and what each shard gets of a block."""
