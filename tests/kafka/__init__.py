"""Kafka for real: a broker on loopback, appended to, read from and relayed to."""
