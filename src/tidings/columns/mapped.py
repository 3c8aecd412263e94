"""Arrays in a file that is mapped and changed in place, by one process at a time.

    header    64 KiB; the first 40 bytes are magic, version, clean or dirty, a count of the times it was made dirty,
              and length and CRC-32 of what follows: whose file it is, how long, and where each array stands
    regions   one per array and one for what the writer wants to remember, each at a multiple of 64 bytes

The order of writes is what a killed process leaves behind: `mark_dirty` stands in the file before the first change and
`mark_clean` after the last one, and what a process wrote before it was killed is in the page cache, which whoever maps
the file next reads. So nothing needs msync. Only a power cut or a crash of the machine loses writes in another order,
and then the id of the boot differs from that in the header. Within a boot a clean file is what it says it is; the
contents have a checksum only when the file was sealed.

A region is never taken before its blocks are allocated, so that a full disk is an `OSError` and not a signal. (On file
systems that copy on write, allocation promises less than elsewhere.)
"""

import mmap
import os
import secrets
import struct
import zlib
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from tidings.columns.regions import Array, Region, aligned, allocate, placed_in_gaps, region_of, whole_pages, write_at
from tidings.model.errors import FileError, Problem

MAGIC: Final = b"TIDMAP\0\0"
VERSION: Final = 1
HEADER_BYTES: Final = 1 << 16
_PREFIX: Final = struct.Struct("<8sQ8sQII")
_FLAG: Final = 16
_CLEAN: Final = b"CLEAN\0\0\0"
_DIRTY: Final = b"DIRTY\0\0\0"
_COUNT: Final = struct.Struct("<Q")
_COUNT_AT: Final = 24
_WORTH_REWRITING: Final = 1 << 20
"""A smaller file may be waste to any part."""


class _Body(msgspec.Struct, array_like=True):
    """The part of the header that has a checksum."""

    session: str
    boot: str
    size: int
    about: tuple[int, int, int, int]
    """Offset, room, length and CRC-32."""
    regions: dict[str, Region]
    seal: int | None


class _Mapping:
    """A part of the file in memory."""

    def __init__(self, descriptor: int, start: int, end: int) -> None:
        self.start, self.end = start, end
        self._map = mmap.mmap(descriptor, end - start, offset=start)
        # An array over the map's buffer keeps the map from being closed under its views.
        self.bytes = np.frombuffer(self._map, np.uint8)
        self.address = _address(self.bytes)

    def at(self, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        """The array at an offset of the file."""
        first = offset - self.start
        n_bytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        return self.bytes[first : first + n_bytes].view(dtype).reshape(shape)


def boot_id() -> str:
    """What tells this boot of the machine from others; the empty string where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class MappedArrays:
    """Arrays in a file. Whoever opens it sees to it that nobody else has it open and dirty."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path: Final = path
        self.arrays: dict[str, Array] = {}
        """Ordinary arrays; changing them changes the file."""
        self.about = b""
        self.session = ""
        self.boot = ""
        """Whose file it is; what `mark_clean` writes."""
        self._seal: int | None = None
        self._regions: dict[str, Region] = {}
        self._about_region = (0, 0)
        self._take(descriptor)

    def _take(self, descriptor: int) -> None:
        self._descriptor = descriptor
        status = os.fstat(descriptor)
        self._inode = (status.st_dev, status.st_ino)
        self._mappings = [_Mapping(descriptor, 0, status.st_size)]

    @classmethod
    def create(
        cls, path: Path, about: bytes, arrays: dict[str, Array], *, session: str = "", boot: str = ""
    ) -> "MappedArrays":
        """A new, clean file of these arrays in place of one that may be there; OSError when there is no room."""
        descriptor, regions, _ = _written(path, arrays)
        mapped = cls(path, descriptor)
        mapped.session, mapped.boot = session, boot
        mapped._regions = regions
        mapped.arrays = mapped._views(regions)
        try:
            mapped.mark_clean(about)
        except BaseException:
            mapped.close()
            raise
        return mapped

    @classmethod
    def open(cls, path: Path) -> "MappedArrays":
        """The arrays of a file; a dirty one has none, only what stands in its header. FileError when it is none."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise FileError(Problem("file-unreadable", str(path), str(error), "a file that can be mapped")) from error
        try:
            size = os.fstat(descriptor).st_size
            if size < HEADER_BYTES or os.pread(descriptor, len(MAGIC), 0) != MAGIC:
                raise FileError(Problem("file-format", str(path), f"{size} bytes", "a file of mapped arrays"))
            mapped = cls(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        try:
            mapped._read_header()
        except BaseException:
            mapped.close()
            raise
        return mapped

    @property
    def clean(self) -> bool:
        """Whether nobody began to change it without coming to an end."""
        return bytes(self._mappings[0].bytes[_FLAG : _FLAG + 8]) == _CLEAN

    @property
    def times_dirty(self) -> int:
        """How often it was made dirty: tells whether anybody changed it meanwhile."""
        count: int = _COUNT.unpack_from(self._mappings[0].bytes.data, _COUNT_AT)[0]
        return count

    @property
    def sealed(self) -> bool:
        """Whether a checksum of the contents stands in the header."""
        return self._seal is not None

    def is_at_its_path(self) -> bool:
        """Whether the file that has the name is still this one."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._inode

    def mark_dirty(self) -> None:
        """Say that the arrays are about to change."""
        if self.clean:
            header = self._mappings[0].bytes.data
            header[_FLAG : _FLAG + 8] = _DIRTY
            _COUNT.pack_into(header, _COUNT_AT, self.times_dirty + 1)

    def absorb(self, arrays: dict[str, Array]) -> bool:
        """Take over arrays after a change: what still lies in the file stays, what does not is written into it.

        True when an array was written, so that it now is another one in `self.arrays`. After an OSError (no room)
        everything is as it was before, and dirty.
        """
        self._need_dirty()
        stay, regions, new = dict[str, Array](), dict[str, Region](), dict[str, Array]()
        for name, array in arrays.items():
            region = self._regions.get(name)
            if region is not None and array is self.arrays[name]:
                regions[name] = region
            elif region is not None and array.nbytes and self._stands(array, self.arrays[name], region.room):
                regions[name] = Region(array.dtype.str, array.shape, region.offset, region.room)
            elif array.nbytes:
                # A part of another region must not be overwritten while it is moved.
                new[name] = array.copy() if self._holds(array) else np.asarray(array, order="C")
                continue
            else:
                regions[name] = region_of(array, 0, 0)
            stay[name] = array
        if not new:
            self._regions, self.arrays = regions, stay
            return False
        own = {
            name: self._regions[name]
            for name, array in new.items()
            if name in self._regions and 0 < array.nbytes <= self._regions[name].room
        }
        for name, region in own.items():
            regions[name] = region_of(new[name], region.offset, region.room)
        others = {name: array.nbytes for name, array in new.items() if name not in own}
        placed, end = self._placed(others, regions)
        live = HEADER_BYTES + self._about_region[1] + sum(aligned(array.nbytes) for array in arrays.values())
        if end > max(2 * live, _WORTH_REWRITING):
            self._rewrite({name: new.get(name, array) for name, array in arrays.items()})
            return True
        self._extend(end)
        for name, (offset, room) in placed.items():
            regions[name] = region_of(new[name], offset, room)
        for name, array in new.items():
            write_at(self._descriptor, array, regions[name].offset)
        self._regions = {name: regions[name] for name in arrays}
        self.arrays = {name: stay[name] if name in stay else self._view(regions[name]) for name in arrays}
        return True

    def mark_clean(self, about: bytes) -> None:
        """Say that the arrays are what they should be, and what they are about. Without a seal until `seal`."""
        self.mark_dirty()
        if len(about) > self._about_region[1]:
            placed, end = self._placed({"": len(about)}, self._regions)
            self._extend(end)
            self._about_region = placed[""]
        if about:
            write_at(self._descriptor, np.frombuffer(about, np.uint8), self._about_region[0])
        self.about = about
        self._write_header(None)

    def seal(self) -> None:
        """Write a checksum of the contents, by which somebody else can trust the file later."""
        if not self.clean:
            raise ValueError("only a clean file can be sealed")
        if self._seal is None:
            checksum = self._checksum()
            self.mark_dirty()
            self._write_header(checksum)

    def verify(self) -> bool:
        """Whether the file is sealed and its contents are those that were sealed."""
        return self._seal is not None and self._seal == self._checksum()

    def close(self) -> None:
        """Let go of the file. It stays mapped as long as somebody holds one of the arrays, and only so long."""
        self.arrays = {}
        self._mappings = []
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _checksum(self) -> int:
        checksum = 0
        for array in self.arrays.values():
            checksum = zlib.crc32(array.reshape(-1).view(np.uint8).data, checksum)
        return checksum

    def _need_dirty(self) -> None:
        if self.clean:
            raise ValueError("the file has to be marked dirty before anything in it changes")

    def _read_header(self) -> None:
        header = self._mappings[0].bytes
        size = len(header)
        magic, version, flag, _, length, checksum = _PREFIX.unpack_from(header.data)
        if magic != MAGIC or version != VERSION:
            raise FileError(Problem("file-format", str(self.path), f"version {version}", f"version {VERSION}"))
        raw = bytes(header[_PREFIX.size : _PREFIX.size + length])
        if flag not in (_CLEAN, _DIRTY) or length > HEADER_BYTES - _PREFIX.size or zlib.crc32(raw) != checksum:
            raise _corrupt(self.path, "its header")
        body = msgspec.msgpack.decode(raw, type=_Body)
        if size < body.size or (flag == _CLEAN and size != body.size):
            raise _corrupt(self.path, f"its length: {size} bytes instead of {body.size}")
        offset, room, n_bytes, checksum = body.about
        self.about = bytes(header[offset : offset + n_bytes])
        if zlib.crc32(self.about) != checksum:
            raise _corrupt(self.path, "what it is about")
        self.session, self.boot, self._seal = body.session, body.boot, body.seal
        self._about_region = (offset, room)
        self._regions = body.regions
        if flag == _CLEAN:
            self.arrays = self._views(body.regions)

    def _write_header(self, seal: int | None) -> None:
        offset, room = self._about_region
        about = (offset, room, len(self.about), zlib.crc32(self.about))
        body = msgspec.msgpack.encode(_Body(self.session, self.boot, self._size, about, self._regions, seal))
        if len(body) > HEADER_BYTES - _PREFIX.size:
            raise ValueError(f"{len(self._regions)} arrays are more than a header can name")
        header = self._mappings[0].bytes.data
        header[_PREFIX.size : _PREFIX.size + len(body)] = body
        _PREFIX.pack_into(header, 0, MAGIC, VERSION, _DIRTY, self.times_dirty, len(body), zlib.crc32(body))
        self._seal = seal
        header[_FLAG : _FLAG + 8] = _CLEAN

    @property
    def _size(self) -> int:
        return self._mappings[-1].end

    def _views(self, regions: dict[str, Region]) -> dict[str, Array]:
        return {name: self._view(region) for name, region in regions.items()}

    def _view(self, region: Region) -> Array:
        dtype = np.dtype(region.dtype)
        if not region.room:
            return np.zeros(region.shape, dtype)
        mapping = next(mapping for mapping in self._mappings if mapping.start <= region.offset < mapping.end)
        return mapping.at(region.offset, dtype, region.shape)

    def _stands(self, array: Array, before: Array, room: int) -> bool:
        """Whether an array still lies where the one before it did."""
        return array.flags.c_contiguous and array.nbytes <= room and _address(array) == _address(before)

    def _holds(self, array: Array) -> bool:
        """Whether an array lies in the file, wherever."""
        address = _address(array)
        return any(mapping.address <= address < mapping.address + len(mapping.bytes) for mapping in self._mappings)

    def _placed(self, wanted: dict[str, int], taken: dict[str, Region]) -> tuple[dict[str, tuple[int, int]], int]:
        """Offset and room for so many bytes each, and the end of the file that this takes."""
        places = [(region.offset, region.room) for region in taken.values()]
        spans = [(mapping.start, mapping.end) for mapping in self._mappings]
        return placed_in_gaps(wanted, [(0, HEADER_BYTES), self._about_region, *places], spans)

    def _extend(self, end: int) -> None:
        if end > self._size:
            allocate(self._descriptor, self._size, end)
            self._mappings.append(_Mapping(self._descriptor, self._size, end))

    def _rewrite(self, arrays: dict[str, Array]) -> None:
        """The same file without gaps, in place of this one, and still dirty; only then is the old one let go."""
        descriptor, regions, self._about_region = _written(self.path, arrays, self)
        old = self._descriptor
        self._take(descriptor)
        os.close(old)
        self._regions = regions
        self.arrays = self._views(regions)


def _written(
    path: Path, arrays: dict[str, Array], like: MappedArrays | None = None
) -> tuple[int, dict[str, Region], tuple[int, int]]:
    """A new dirty file under this name: its descriptor, where the arrays stand, and the room for what it is about.
    Its header is empty, or says what that of another file does.
    """
    regions: dict[str, Region] = {}
    end = HEADER_BYTES
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name}: an array of objects cannot be in a file")
        regions[name] = region_of(array, end if array.nbytes else 0, aligned(array.nbytes))
        end += aligned(array.nbytes)
    about = b"" if like is None else like.about
    about_region = (end, aligned(len(about)))
    end = whole_pages(sum(about_region))
    body, count = b"", 0
    if like is not None:
        # Whose file it is can be read while it is dirty.
        body = msgspec.msgpack.encode(
            _Body(like.session, like.boot, end, (*about_region, len(about), zlib.crc32(about)), {}, None)
        )
        count = like.times_dirty
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        allocate(descriptor, 0, end)
        os.pwrite(descriptor, _PREFIX.pack(MAGIC, VERSION, _DIRTY, count, len(body), zlib.crc32(body)) + body, 0)
        for name, array in arrays.items():
            write_at(descriptor, np.asarray(array, order="C"), regions[name].offset)
        write_at(descriptor, np.frombuffer(about, np.uint8), about_region[0])
        temporary.replace(path)
    except BaseException:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
        raise
    return descriptor, regions, about_region


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _corrupt(path: Path, what: str) -> FileError:
    return FileError(Problem("file-corrupt", str(path), what, "bytes as they were written", "it is made again"))
