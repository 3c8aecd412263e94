"""Every bound of the contract, with its default. The reference page of the documentation is generated from here."""

from typing import Final

MAX_LINE_BYTES: Final = 64 * 1024
"""A line of an event file."""
MAX_ID_CHARACTERS: Final = 128
"""An id of a message or a subscription, after NFKC."""
MAX_ATTRIBUTES_BYTES: Final = 4 * 1024
"""The attributes of a message, as JSON."""
MAX_LABELS: Final = 64
"""Labels of one subscription; each is a string of up to 128 characters."""
MAX_POLYGON_VERTICES: Final = 1000
"""Vertices of one polygon over all its rings, closing points not counted."""
MAX_REGION_PARTS: Final = 1000
"""Simple parts (boxes, circles, polygons) of one region."""
MAX_REGION_DEPTH: Final = 16
"""`any` inside `any`."""
MAX_CLAUSES: Final = 256
"""Conjunctive clauses of an expression in normal form."""
MAX_LEAVES: Final = 64
"""Words of an expression as written."""
MAX_DEPTH: Final = 16
"""Parentheses and `NOT`s inside each other."""
MAX_K: Final = 1000
"""k of `best` and `nearest`."""
DEFAULT_WINDOW_MESSAGES: Final = 1_000_000
"""The window of live messages when `configure` names none."""
MAX_WINDOW_MESSAGES: Final = 100_000_000
"""The largest count window."""
MAX_TIME_MS: Final = 8_640_000_000_000_000
"""The largest time in either direction from 1970, in milliseconds."""
MAX_WEIGHT: Final = 1e12
"""The largest weight of a word."""
MAX_SUBSCRIPTIONS: Final = 2**29 - 2
"""Subscriptions in force in one shard."""
MAX_VOCABULARY: Final = 2**31 - 2
"""Distinct words that the subscriptions of one shard use."""
MAX_SUBMISSION_EVENTS: Final = 65_536
"""Events of one submission to a log."""
MAX_SUBMISSION_BYTES: Final = 16 * 1024 * 1024
"""Bytes of one submission to a log, as lines."""
MAX_FRAME_EVENTS: Final = 8192
"""Events that a log keeps together under one checksum."""
MAX_FRAME_BYTES: Final = 1024 * 1024
"""Bytes of such events, unless it is a single one."""
MAX_PENDING_BYTES: Final = 64 * 1024 * 1024
"""Bytes that wait to be appended to a log by one process; who wants to append more waits."""
MAX_PRODUCERS: Final = 4096
"""Producers whose sequences a log remembers; the one that was silent for longest is forgotten."""
MAX_PRODUCER_SEQUENCES: Final = 64
"""The last submissions of a producer that a log knows again."""
MAX_CONSUMERS: Final = 1024
"""Consumers whose needs a log remembers."""
