"""What a pipeline is told."""

from typing import Final

from msgspec import Struct, field

from tidings.model.errors import InputError, Problem

MAX_SHARDS: Final = 1024
DEFAULT_METHODS: Final = {"within": "pyramid", "around": "brute", "best": "brute", "nearest": "brute"}


class PipelineSettings(Struct, frozen=True, kw_only=True):
    """Where events come from, where deltas go, and within which bounds."""

    log: str
    """The path of a log, or `kafka://host:port/topic`."""
    state: str = ""
    """The folder (or URI) of deliveries, snapshots and shards; beside the log when empty."""
    store: str = "sqlite"
    """Which store keeps the deliveries: `sqlite`, `segments` or `parquet`."""
    local: str | None = None
    """Where shard files are; None: in the state folder, or in the executor's own directory on a cluster."""
    exchange: str | None = None
    """The folder by which blocks go from task to task where all are on one machine; None: they go through Spark."""
    plan: str = "hash"
    shards: int = 2
    methods: dict[str, str] = field(default_factory=DEFAULT_METHODS.copy)
    max_events: int = 50_000
    max_bytes: int = 64 << 20
    target_s: float = 1.0
    """How long a batch should take when there is a lag."""
    tries: int = 3
    """How often a batch is tried before its events are suspected, or the pipeline stops."""
    snapshot_events: int = 2_000_000
    """After so many events a snapshot is due; restarting replays no more than these."""
    snapshot_s: float = 300.0
    snapshot_share: float = 0.04
    """The most of the time that snapshots may take."""

    def checked(self) -> "PipelineSettings":
        """The same settings, or an `InputError` with all that is wrong with them."""
        problems = [
            Problem("option-invalid", option, f"{value}", expected)
            for option, value, good, expected in (
                ("--shards", self.shards, 1 <= self.shards <= MAX_SHARDS, f"1 to {MAX_SHARDS}"),
                ("--batch-events", self.max_events, 1 <= self.max_events <= 1_000_000, "1 to 1,000,000"),
                ("--batch-bytes", self.max_bytes, self.max_bytes >= 1 << 16, "at least 65,536"),
                ("--batch-seconds", self.target_s, 0.01 <= self.target_s <= 3600, "0.01 to 3600"),
                ("--tries", self.tries, 1 <= self.tries <= 100, "1 to 100"),
                ("--snapshot-events", self.snapshot_events, self.snapshot_events >= 1, "at least 1"),
            )
            if not good
        ]
        if problems:
            raise InputError(problems)
        return self

    @property
    def state_folder(self) -> str:
        """Where deliveries and snapshots are."""
        return self.state or f"{self.log}.state"
