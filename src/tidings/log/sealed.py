"""Small things that a log keeps beside its events, each with what it is and a checksum over all of it."""

from typing import Final
from zlib import crc32

import msgspec

MAGIC: Final = b"TidN"
_START: Final = len(MAGIC) + 4

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode


def sealed(name: str, value: object) -> bytes:
    """A value of plain data under a name, so that neither can change unseen."""
    content = _encode((name, value))
    return MAGIC + crc32(content).to_bytes(4, "little") + content


def unsealed(data: object) -> tuple[str, object] | None:
    """The name and the value, or None when they are not as they were."""
    if not isinstance(data, bytes) or data[:4] != MAGIC:
        return None
    content = data[_START:]
    if crc32(content) != int.from_bytes(data[4:_START], "little"):
        return None
    name, value = _decode(content)
    return name, value
