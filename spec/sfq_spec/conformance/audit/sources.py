"""Files as they lie about: plain, gzip or zstd, told by their first bytes, and one after another."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from typing import IO, Any

from sfq_spec.conformance.audit.records import Unreadable

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
BUFFER = 1 << 16
"""Bytes that are read at a time."""


class Counted(io.RawIOBase):
    """A stream of bytes that tells how much of it has been read. It waits for no more than is there."""

    def __init__(self, stream: IO[bytes], show: Callable[[int], None]) -> None:
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self._show = show
        self._done = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """As any raw stream."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._read(len(view))
        view[: len(data)] = data
        self._done += len(data)
        self._show(self._done)
        return len(data)


class Whole(io.RawIOBase):
    """What is inside a compressed file. Raises `Unreadable` where that is damaged or cut off, whoever reads it."""

    def __init__(self, name: str, kind: str, inside: io.BufferedIOBase, broken: tuple[type[Exception], ...]) -> None:
        self._about = f"{name}: is not whole, as {kind}"
        self._inside = inside
        self._broken = broken

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """As any raw stream."""
        try:
            return self._inside.readinto1(buffer)  # type: ignore[arg-type]
        except self._broken as error:
            raise Unreadable(f"{self._about}: {error}") from None


def unpacked(name: str, stream: IO[bytes], show: Callable[[int], None] = lambda done: None) -> IO[bytes]:
    """The bytes in a file, whichever of the three it is. `show` is told how many bytes of the file have been read.

    It waits for the first bytes. Raises `Unreadable` where the file needs what is not installed; and so does whoever
    reads on, where the file is not what its first bytes say, or is cut off.
    """
    counted = io.BufferedReader(Counted(stream, show), BUFFER)
    first = counted.peek(4)[:4]
    if first.startswith(GZIP):
        inside: io.BufferedIOBase = gzip.GzipFile(fileobj=counted)
        return io.BufferedReader(Whole(name, "gzip", inside, (EOFError, zlib.error, gzip.BadGzipFile)), BUFFER)
    return _zstd(name, counted) if first == ZSTD else counted


class Unzstd(io.RawIOBase):
    """The bytes in a stream of zstd frames. Raises `EOFError` where the last one is not whole."""

    def __init__(self, stream: IO[bytes], frame: Callable[[], Any]) -> None:
        self._stream = stream
        self._frame = frame
        self._inside: Any = None
        self._packed = b""
        self._ready = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """As any raw stream."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        while not self._ready and self._more():
            pass
        count = min(len(view), len(self._ready))
        view[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _more(self) -> bool:
        """Unpack some more; whether there was any."""
        self._packed = self._packed or self._stream.read(1 << 16)
        if not self._packed:
            if self._inside:
                raise EOFError("it ends in the middle")
            return False
        self._inside = self._inside or self._frame()
        self._ready = self._inside.decompress(self._packed)
        self._packed = b""
        if self._inside.eof:
            self._packed, self._inside = self._inside.unused_data, None
        return True


def _zstd(name: str, stream: IO[bytes]) -> IO[bytes]:
    frame: Callable[[], Any]
    try:
        from compression.zstd import ZstdDecompressor, ZstdError  # type: ignore[import-not-found, unused-ignore]

        frame = ZstdDecompressor
    except ModuleNotFoundError:
        try:
            import zstandard
        except ModuleNotFoundError:
            raise Unreadable(
                f"{name}: is compressed with zstd, which needs Python 3.14 or the package zstandard: "
                "pip install zstandard, or unpack it first: zstd -d FILE"
            ) from None
        ZstdError = zstandard.ZstdError

        def frame() -> Any:
            return zstandard.ZstdDecompressor().decompressobj()

    inside = io.BufferedReader(Unzstd(stream, frame), BUFFER)
    return io.BufferedReader(Whole(name, "zstd", inside, (EOFError, ZstdError)), BUFFER)
