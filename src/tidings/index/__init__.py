"""Indexes of `within` subscriptions: what finds, for a message, the subscriptions that could match it, and verifies."""
