"""A relay in a process of its own, to be killed: `relaying BOOTSTRAP TOPIC SEED POSITIONS CHUNK_ROWS [NAME]`."""

import sys

from tests.kafka.committed import Seeded
from tidings.log.kafka_relay import DeliveriesRelay


class Told(DeliveriesRelay):
    """Says so when it begins a transaction."""

    def _publish(self, chunk) -> None:
        print("chunk", flush=True)
        super()._publish(chunk)


if __name__ == "__main__":
    bootstrap, topic, seed, n_positions, chunk_rows, *name = sys.argv[1:]
    relay = Told(
        Seeded(int(seed), int(n_positions)), bootstrap, topic, *(name or ["tested"]), chunk_rows=int(chunk_rows)
    )
    print("up", flush=True)
    print(relay.run_once(), flush=True)
