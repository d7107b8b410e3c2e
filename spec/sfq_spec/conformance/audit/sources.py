"""Files as they lie about: plain, gzip or zstd, told by their first bytes, and one after another."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from sfq_spec.conformance.audit.records import Unreadable

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"


class Counted(io.RawIOBase):
    """A stream of bytes that tells how much of it has been read."""

    def __init__(self, stream: IO[bytes], show: Callable[[int], None]) -> None:
        self._stream = stream
        self._show = show
        self._done = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """As any raw stream."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._stream.read(len(view))
        view[: len(data)] = data
        self._done += len(data)
        self._show(self._done)
        return len(data)


@contextmanager
def unpacked(name: str, stream: IO[bytes], show: Callable[[int], None] = lambda done: None) -> Iterator[IO[bytes]]:
    """The bytes in a file, whichever of the three it is. `show` is told how many bytes of the file have been read.

    Raises `Unreadable` where the file is not what its first bytes say, is cut off, or needs what is not installed.
    """
    counted = io.BufferedReader(Counted(stream, show), 1 << 18)
    first = counted.peek(4)[:4]
    try:
        if first.startswith(GZIP):
            with gzip.GzipFile(fileobj=counted) as inside:
                yield inside  # type: ignore[misc]
        elif first == ZSTD:
            with _zstd(name, counted) as inside:
                yield inside
        else:
            yield counted
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Unreadable(f"{name}: is not whole, as gzip: {error}") from None


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


@contextmanager
def _zstd(name: str, stream: IO[bytes]) -> Iterator[IO[bytes]]:
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
                "pip install 'sfq-spec[zstd]', or unpack it first: zstd -dc FILE | sfq-spec audit -"
            ) from None
        ZstdError = zstandard.ZstdError

        def frame() -> Any:
            return zstandard.ZstdDecompressor().decompressobj()

    try:
        yield io.BufferedReader(Unzstd(stream, frame), 1 << 18)
    except (EOFError, ZstdError) as error:
        raise Unreadable(f"{name}: is not whole, as zstd: {error}") from None
