"""`kafka://host:port,host:port/topic?option=value`: where the events are, and what their topics are made with."""

import re
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from tidings.model.errors import InputError, Problem

SCHEME: Final = "kafka"
FORM: Final = "kafka://host:port/topic"

_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
_NUMBERS: Final = ("partitions", "delivery_partitions", "replication")
_MOST: Final = 10_000


class KafkaAddress(Struct, frozen=True):
    """The topics of one log."""

    bootstrap: str
    events: str
    deliveries: str
    """`<events>-deliveries` unless the address says otherwise."""
    partitions: int = 1
    """Of the events, when their topic is made."""
    delivery_partitions: int = 1
    """Of the deliveries, when their topic is made."""
    replication: int = -1
    """Copies of each partition when a topic is made; -1 for the broker's default."""

    @property
    def progress(self) -> str:
        """The topic in which relays keep how far they are."""
        return f"{self.deliveries}-progress"

    def __str__(self) -> str:
        return f"{SCHEME}://{self.bootstrap}/{self.events}"


def parse_address(url: str) -> KafkaAddress:
    """The address that a URL says, or an `InputError` that says what is wrong with it."""
    parts = urlsplit(url)
    if parts.scheme != SCHEME:
        raise _wrong(url, f"the scheme {parts.scheme!r}", FORM)
    if parts.fragment or "@" in parts.netloc:
        raise _wrong(url, "a user or a fragment", FORM)
    hosts = parts.netloc.split(",")
    for host in hosts:
        found = _HOST.fullmatch(host)
        if found is None or not 0 < int(found[1]) < 65536:
            raise _wrong(url, f"the host {host!r}", "host:port, several with commas between them")
    events = parts.path.removeprefix("/")
    options = _options(url, parts.query)
    deliveries = options.pop("deliveries", f"{events}-deliveries")
    for topic in (events, deliveries, f"{deliveries}-progress"):
        if not _TOPIC.fullmatch(topic):
            raise _wrong(url, f"the topic {topic!r}", "1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'")
    if events == deliveries:
        raise _wrong(url, f"{events!r} for events and deliveries", "two topics")
    numbers = {name: _number(url, name, value) for name, value in options.items()}
    return KafkaAddress(parts.netloc, events, deliveries, **numbers)


def _options(url: str, query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise _wrong(url, str(error), "?option=value&option=value") from None
    known = ("deliveries", *_NUMBERS)
    for name, _ in pairs:
        if name not in known:
            raise _wrong(url, f"the option {name!r}", f"one of {', '.join(known)}")
    if len(dict(pairs)) < len(pairs):
        raise _wrong(url, "an option twice", "each option once")
    return dict(pairs)


def _number(url: str, name: str, value: str) -> int:
    if not re.fullmatch(r"\d{1,5}", value) or not 1 <= int(value) <= _MOST:
        raise _wrong(url, f"{name}={value}", f"a whole number from 1 to {_MOST}")
    return int(value)


def _wrong(url: str, found: str, expected: str) -> InputError:
    return InputError(Problem("option-invalid", url, found, expected))
