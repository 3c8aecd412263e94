"""A chain of manifests: numbered files, each taken by exactly one writer, that together say how deliveries stand.

Whoever wants to change something reads the chain to its end and takes the next number. When another was faster, the
number is taken: one reads what the other wrote and sees whether the change is still right. A new driver's claim is a
manifest too, so a driver that slept through it finds its number taken and learns that its epoch is over; there is no
moment between looking and writing.

Every so often what the chain says is written down as a checkpoint, and the manifests long before it are removed.
Commits that are older still are moved into pages of a fixed number, which never change, so that a checkpoint, a listing
and what a driver keeps in memory do not grow with the number of batches.
"""

import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, TypeVar

import msgspec

from tidings.log.committed import Commit
from tidings.log.deliveries import Batch, SnapshotParts
from tidings.log.durable_files import Folder
from tidings.model.errors import FileError, Problem, TidingsError

MANIFESTS: Final = "manifests"
PAGES: Final = "pages"
CHECKPOINT_EVERY: Final = 64
PAGE_COMMITS: Final = 128

_TRIES: Final = 5
"""A manifest may be removed between a listing and a look; not so often in a row."""
_CHECKPOINT: Final = "checkpoint-"
_SUFFIX: Final = ".json"

T = TypeVar("T")


class Claimed(msgspec.Struct, frozen=True, tag="claimed"):
    """A driver took over."""

    epoch: int


class Planned(msgspec.Struct, frozen=True, tag="planned"):
    """A batch is about to run."""

    batch: Batch


class Committed(msgspec.Struct, frozen=True, tag="committed"):
    """A batch is done."""

    commit: Commit


class Forgotten(msgspec.Struct, frozen=True, tag="forgotten"):
    """Retention removed what lies before a position."""

    start: int


Manifest = Claimed | Planned | Committed | Forgotten


class Page(msgspec.Struct, frozen=True):
    """Commits that stand in a file of their own."""

    name: str
    first: int
    end: int
    n_batches: int
    n_deltas: int
    n_bytes: int


class Standing(msgspec.Struct, frozen=True):
    """How deliveries stand after some manifest of the chain."""

    number: int = -1
    epoch: int = 0
    start: int = 0
    done: int = 0
    pending: Batch | None = None
    snapshot: SnapshotParts | None = None
    pages: tuple[Page, ...] = ()
    recent: tuple[Commit, ...] = ()
    """The commits behind the pages."""


class _Sealed(msgspec.Struct, frozen=True):
    """What a file holds, with its checksum."""

    crc32: int
    content: msgspec.Raw


def sealed_json(value: object) -> bytes:
    """A value as JSON, with a checksum."""
    content = msgspec.json.encode(value)
    return msgspec.json.encode(_Sealed(zlib.crc32(content), msgspec.Raw(content)))


def opened_json(data: bytes, kind: type[T] | Any, place: str) -> T:
    """The value, checked."""
    try:
        found = msgspec.json.decode(data, type=_Sealed)
        if zlib.crc32(found.content) == found.crc32:
            value: T = msgspec.json.decode(found.content, type=kind)
            return value
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    raise FileError(Problem("file-corrupt", place, "another checksum", "what was written"))


def after(standing: Standing, manifest: Manifest) -> Standing:
    """How deliveries stand after one more manifest."""
    replace, number = msgspec.structs.replace, standing.number + 1
    match manifest:
        case Claimed(epoch=epoch):
            return replace(standing, number=number, epoch=epoch)
        case Planned(batch=batch):
            return replace(standing, number=number, pending=batch)
        case Committed(commit=commit):
            return replace(
                standing,
                number=number,
                done=commit.batch.end,
                pending=None,
                snapshot=commit.snapshot or standing.snapshot,
                recent=(*standing.recent, commit),
            )
        case Forgotten(start=start):
            return replace(
                standing,
                number=number,
                start=start,
                pages=tuple(page for page in standing.pages if page.end > start),
                recent=tuple(commit for commit in standing.recent if commit.batch.end > start),
            )


class Chain:
    """The chain in a folder, read as far as it was at the last look."""

    def __init__(self, folder: Folder) -> None:
        self.folder: Final = folder
        self._standing = Standing()
        self._lock = threading.RLock()

    def standing(self) -> Standing:
        """How deliveries stand now."""
        with self._lock:
            for _ in range(_TRIES):
                missing = self._read_on()
                if missing is None:
                    return self._standing
            raise FileError(
                Problem("file-corrupt", f"{self.folder.place}/{missing}", "missing", "every manifest up to the last")
            )

    def append(self, decide: Callable[[Standing], Manifest | None]) -> Standing:
        """Add the manifest that is right where the chain ends; none when there is nothing to do."""
        with self._lock:
            while True:
                standing = self.standing()
                manifest = decide(standing)
                if manifest is None:
                    return standing
                number = standing.number + 1
                if not self.folder.create(_name(number), sealed_json(manifest)):
                    continue
                if self._last_checkpoint() >= number:
                    # The number had been used and removed: this process slept for very long.
                    self.folder.remove([_name(number)])
                    continue
                self._standing = after(standing, manifest)
                if number % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
                    # What was appended is durable, whether there is room for a checkpoint or not.
                    with suppress(TidingsError):
                        self._checkpoint()
                return self._standing

    def commits(self, first: int, end: int) -> Iterator[Commit]:
        """The commits with events at first <= position < end."""
        standing = self.standing()
        for page in standing.pages:
            if page.end > first and page.first < end:
                for commit in self.page(page):
                    if commit.batch.end > first and commit.batch.first < end:
                        yield commit
        for commit in standing.recent:
            if commit.batch.end > first and commit.batch.first < end:
                yield commit

    def page(self, page: Page) -> tuple[Commit, ...]:
        """The commits of a page."""
        data, place = self.folder.read(page.name), f"{self.folder.place}/{page.name}"
        if data is None:
            raise FileError(Problem("file-corrupt", place, "missing", f"commits of {page.first}..{page.end}"))
        return opened_json(data, tuple[Commit, ...], place)

    def _read_on(self) -> str | None:
        """Read what is new; the file that should be there and is not, which may mean that it was just removed."""
        names = self.folder.names(MANIFESTS)
        checkpoint = max((_number(name, _CHECKPOINT) for name in names), default=-1)
        if checkpoint > self._standing.number:
            name = _name(checkpoint, _CHECKPOINT)
            data = self.folder.read(name)
            if data is None:
                return name
            self._standing = opened_json(data, Standing, f"{self.folder.place}/{name}")
        last = max((_number(name) for name in names), default=-1)
        while self._standing.number < last:
            name = _name(self._standing.number + 1)
            data = self.folder.read(name)
            if data is None:
                return name
            manifest: Manifest = opened_json(data, Manifest, f"{self.folder.place}/{name}")
            self._standing = after(self._standing, manifest)
        return None

    def _last_checkpoint(self) -> int:
        return max((_number(name, _CHECKPOINT) for name in self.folder.names(MANIFESTS)), default=-1)

    def _checkpoint(self) -> None:
        standing = self._standing
        pages, recent = list(standing.pages), standing.recent
        while len(recent) >= 2 * PAGE_COMMITS:
            moved, recent = recent[:PAGE_COMMITS], recent[PAGE_COMMITS:]
            first, end = moved[0].batch.first, moved[-1].batch.end
            name = f"{PAGES}/{first:020d}-{end:020d}{_SUFFIX}"
            self.folder.replace(name, sealed_json(moved))
            n_deltas, n_bytes = (sum(sizes) for sizes in zip(*((c.n_deltas, c.n_bytes) for c in moved), strict=True))
            pages.append(Page(name, first, end, len(moved), n_deltas, n_bytes))
        self._standing = msgspec.structs.replace(standing, pages=tuple(pages), recent=recent)
        self.folder.replace(_name(standing.number, _CHECKPOINT), sealed_json(self._standing))
        # Who reads just now still finds the manifests since the checkpoint before.
        keep = standing.number - CHECKPOINT_EVERY
        names = self.folder.names(MANIFESTS)
        old = [name for name in names if 0 <= _number(name) <= keep or 0 <= _number(name, _CHECKPOINT) < keep]
        self.folder.remove([f"{MANIFESTS}/{name}" for name in old])


def _name(number: int, prefix: str = "") -> str:
    return f"{MANIFESTS}/{prefix}{number:020d}{_SUFFIX}"


def _number(name: str, prefix: str = "") -> int:
    """The number in a name, -1 when it is another kind of file."""
    digits = name.removesuffix(_SUFFIX).removeprefix(prefix)
    return int(digits) if digits.isdigit() and name.startswith(prefix) else -1
