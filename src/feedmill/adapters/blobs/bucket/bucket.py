"""Segments as objects in a bucket, read by range; errors of an object store with a stable reason and advice.

    segments/<yyyy>/<mm>/<dd>/<name>.seg   sealed, created once, never overwritten
    condemned/<name>/<instant>             since then nothing points into that segment
    store-id                               the store that indexes these segments

The day is the one in the name itself, which is a UUID of version 7: a name alone leads to its
object. The instant stands in a key, not in an object, so that one listing tells everything.

The client's own words about an error are never passed on: they hold whole requests, and with some providers a
signature is part of the address. A status and the provider's code are all that is quoted.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)

from feedmill.adapters.blobs.errors import moved_error
from feedmill.adapters.blobs.record import (
    PACKED_SUFFIX,
    SEALED_SUFFIX,
    ReadAt,
    Write,
    check_segment_name,
    decode_owner,
    is_segment_name,
)
from feedmill.adapters.failpoints import reach
from feedmill.errors import BlobError, BlobMoved
from feedmill.model.running.worker import Segment, created_at

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SEGMENTS_PREFIX: Final = "segments"
MARKS_PREFIX: Final = "condemned"
_INSTANT: Final = "%Y%m%dT%H%M%S.%fZ"
OWNER_KEY: Final = "store-id"
MEDIA_PREFIX: Final = "media"  # files of entries: media.py
BEHIND_BYTES: Final = 1024 * 1024
AHEAD_BYTES: Final = 4 * 1024 * 1024

# What a call may raise: a missing object is the built-in error.
OBJECT_STORE_ERRORS: Final = (BaseError, FileNotFoundError)

_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_BUCKET: Final = frozenset({"NoSuchBucket", "ContainerNotFound", "InvalidBucketName"})
_PAST_THE_END: Final = ("StartTooLarge", "Invalid range", "InvalidRange")
_METADATA: Final = "169.254.169.254"  # asked for credentials when there are none at hand
_CROWDED: Final = (408, 409, 425, 429)


class Bucket:
    """The objects under one prefix; every method touches the network."""

    def __init__(self, store: "ObjectStore", place: str) -> None:
        self._store, self.place = store, place
        self._seen: dict[str, Segment] = {}  # as the last listing had it

    def check(self) -> None:
        """Ask for as little as can be asked; BlobError when that is refused."""
        next(self._list(None), None)

    def create(self, name: str, data: bytes) -> bool:
        """Put a whole segment; False when something else has that name."""
        key = segment_key(name)
        reach("blob-write")
        # One request: a segment is there whole or not at all, and its checksum is checked by
        # the other side (S3) or on every read (everywhere).
        if not self._put(key, data):
            # Our own: the first attempt was kept and its answer lost, so it was sent again.
            return self._whole(key) == data
        reach("blob-synced")
        return True

    def adopt(self, name: str, data: bytes) -> None:
        """Keep a sealed segment of another storage; one that is there is compared."""
        if not self.create(name, data):
            raise name_taken_error(self.place)

    @contextmanager
    def writing(self, name: str) -> Iterator[Write]:
        """A new segment, gathered in memory and put at the end; nothing when nothing was written."""
        chunks: list[bytes] = []
        yield chunks.append
        data = b"".join(chunks)
        if data:
            self.adopt(name, data)

    def size(self, name: str) -> int:
        """Of a segment, in bytes; BlobMoved when it is gone."""
        seen = self._seen.get(name)
        return seen.size_bytes if seen else self._size(name)

    @contextmanager
    def reading(self, name: str) -> Iterator[ReadAt]:
        """Bytes by range, as few as are needed; BlobMoved when the segment is gone."""
        key = segment_key(name)

        def fetch(offset: int, length: int) -> bytes:
            with object_errors(self.place, missing=moved_error(name)):
                try:
                    return bytes(obstore.get_range(self._store, key, start=offset, length=length))
                except OBJECT_STORE_ERRORS as error:
                    if is_missing(error) or not is_past_the_end(error):
                        raise
                    return b""

        yield RangeCache(fetch).read

    def segments(self) -> list[Segment]:
        """All segments, oldest first."""
        sizes, marks, _ = self._look()
        self._seen = {name: _segment(name, sizes[name], marks.get(name)) for name in sorted(sizes)}
        return list(self._seen.values())

    def unknown_files(self) -> list[str]:
        """Keys under the prefix that feedmill did not make."""
        return sorted(self._look()[2])

    def is_sealed(self, name: str) -> bool:
        """True: an object is complete or not there at all; then BlobMoved."""
        return name in self._seen or self._size(name) >= 0

    def marked_at(self, name: str) -> datetime | None:
        """Since when nothing points into the segment; the latest note counts, it is the safest."""
        seen = self._seen.get(name)
        if seen and seen.condemned_at is None:  # the listing that a sweep begins with
            return None
        return max((at for _, at in self._marks(name)), default=None)

    def mark_for_deletion(self, name: str, now: datetime) -> None:
        """Note that nothing points into the segment."""
        key = f"{MARKS_PREFIX}/{check_segment_name(name)}/{now.astimezone(UTC).strftime(_INSTANT)}"
        self._put(key, b"")  # or another process marked it at the same moment
        self._seen.pop(name, None)
        if not self._is_there(name):  # dropped meanwhile by another process
            self.unmark(name)

    def unmark(self, name: str) -> None:
        """Something points into the segment after all."""
        self._delete([key for key, _ in self._marks(name)])
        self._seen.pop(name, None)

    def remove(self, name: str) -> None:
        """Delete a segment and its notes; what is gone already is fine."""
        self._delete([segment_key(name)])
        self.unmark(name)

    def owner(self) -> str | None:
        """The store that indexes these segments; None when it was never written."""
        return decode_owner(self._whole(OWNER_KEY) or b"")

    def set_owner(self, store_id: str, *, instead_of: str | None) -> str:
        """Write the owner; the one that is there afterwards."""
        if instead_of is not None and self.owner() != instead_of:
            return self.owner() or ""
        mode: Literal["create", "overwrite"] = "create" if instead_of is None else "overwrite"
        is_ours = self._put(OWNER_KEY, f"{store_id}\n".encode(), mode)
        return store_id if is_ours else self.owner() or ""  # another process was first

    def _put(self, key: str, data: bytes, mode: Literal["create", "overwrite"] = "create") -> bool:
        """Put a whole object; False when there is one of that key, and none is overwritten."""
        with object_errors(self.place):
            try:
                obstore.put(self._store, key, data, mode=mode, use_multipart=False)
            except AlreadyExistsError:
                return False
        return True

    def _size(self, name: str) -> int:
        # A HEAD has no body that could tell a missing bucket from a missing object.
        with object_errors(self.place, missing=moved_error(name)):
            return obstore.head(self._store, segment_key(name))["size"]

    def _is_there(self, name: str) -> bool:
        try:
            return self._size(name) >= 0
        except BlobMoved:
            return False

    def _whole(self, key: str) -> bytes | None:
        with suppress(FileNotFoundError), object_errors(self.place, missing=FileNotFoundError()):
            return bytes(obstore.get(self._store, key).bytes())
        return None

    def _look(self) -> tuple[dict[str, int], dict[str, datetime], list[str]]:
        """Sizes by name, the latest note by name, and keys that are not ours."""
        sizes: dict[str, int] = {}
        marks: dict[str, datetime] = {}
        unknown: list[str] = []
        for key, size in self._list(None):
            name, mark = segment_name_of(key), _mark_of(key)
            if name is not None:
                sizes[name] = size
            elif mark is not None:
                marks[mark[0]] = max(mark[1], marks.get(*mark))
            elif key != OWNER_KEY and not key.startswith(f"{MEDIA_PREFIX}/"):
                unknown.append(key)
        return sizes, marks, unknown

    def _marks(self, name: str) -> list[tuple[str, datetime]]:
        found = (
            (key, _mark_of(key))
            for key, _ in self._list(f"{MARKS_PREFIX}/{check_segment_name(name)}/")
        )
        return [(key, mark[1]) for key, mark in found if mark is not None]

    def _list(self, prefix: str | None) -> Iterator[tuple[str, int]]:
        with object_errors(self.place):
            for chunk in obstore.list(self._store, prefix):
                for found in chunk:
                    yield found["path"], found["size"]

    def _delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            with (
                suppress(FileNotFoundError),
                object_errors(self.place, missing=FileNotFoundError()),
            ):
                obstore.delete(self._store, key)


class RangeCache:
    """A range of an object in memory: the next read mostly lies close to the last one.

    A single body costs exactly its own range. A chain of versions is walked backwards and costs one
    request more, because its links lie next to each other; a walk through a whole segment goes
    forward in large steps. In no case is more held than one step.
    """

    def __init__(self, fetch: ReadAt) -> None:
        self._fetch = fetch
        self._start = 0
        self._data: bytes | None = None
        self._is_at_end = False  # nothing lies behind what is held

    def read(self, offset: int, length: int) -> bytes:
        """These bytes; fewer at the end of the object."""
        data = self._held(offset, length)
        if data is None:
            data = self._load(offset, length)
        at = offset - self._start
        return data[at : at + length]

    def _held(self, offset: int, length: int) -> bytes | None:
        if self._data is None or offset < self._start:
            return None
        reaches = offset + length <= self._start + len(self._data)
        return self._data if reaches or self._is_at_end else None

    def _load(self, offset: int, length: int) -> bytes:
        start, end = offset, offset + max(length, 1)
        if self._data is not None:
            if offset < self._start:
                start = max(0, end - max(BEHIND_BYTES, length))
            else:
                end = max(end, offset + AHEAD_BYTES)
        data = self._data = self._fetch(start, end - start)
        self._start, self._is_at_end = start, len(data) < end - start
        return data


def segment_key(name: str) -> str:
    """The key of a segment."""
    return f"{SEGMENTS_PREFIX}/{_day_of(check_segment_name(name))}/{name}{SEALED_SUFFIX}"


def segment_name_of(key: str) -> str | None:
    """The segment that lies under a key; None when it is no key of ours."""
    name = key.rpartition("/")[2].removesuffix(SEALED_SUFFIX)
    return name if is_segment_name(name) and key == segment_key(name) else None


def _day_of(name: str) -> str:
    made = created_at(name)
    return "undated" if made is None else made.strftime("%Y/%m/%d")


def _mark_of(key: str) -> tuple[str, datetime] | None:
    match key.split("/"):
        case [place, name, instant] if place == MARKS_PREFIX and is_segment_name(name):
            try:
                return name, datetime.strptime(instant, _INSTANT).replace(tzinfo=UTC)
            except ValueError:
                return None
    return None


def _segment(name: str, size: int, condemned_at: datetime | None) -> Segment:
    return Segment(
        name=name,
        size_bytes=size,
        sealed=True,
        packed=name.endswith(PACKED_SUFFIX),
        condemned_at=condemned_at,
    )


def object_error(error: Exception, place: str) -> BlobError:
    """The object store's error in our words; `place` is its address, which holds no secret."""
    said = str(error)
    status, code = _status(said), _code(said)
    answer = " ".join(filter(None, (str(status or ""), code))) or "no answer"
    if code in _NO_BUCKET or (isinstance(error, FileNotFoundError) and code != "NoSuchKey"):
        advice = "the bucket is not there; create it, or correct [blobs] url"
        return BlobError("cannot-open", f"{place}: {advice} ({answer})")
    if _is_denied(error, status) or _METADATA in said:
        advice = (
            "the object store does not accept the credentials; check the key, its secret and what "
            "they may do (read, write, list and delete), in the variables of the provider such as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
        return BlobError("denied", f"{place}: {advice} ({answer})")
    if status is not None and 300 <= status < 500 and status not in _CROWDED:
        advice = "the object store refuses the request; check [blobs] url, the region and endpoint"
        return BlobError("refused", f"{place}: {advice} ({answer})")
    advice = "the object store does not answer; feedmill goes on by itself when it does"
    return BlobError("unreachable", f"{place}: {advice} ({answer})")


@contextmanager
def object_errors(place: str, *, missing: Exception | None = None) -> Iterator[None]:
    """Errors of the object store become ours; `missing` is what is raised for an object that is not there."""
    try:
        yield
    except OBJECT_STORE_ERRORS as error:
        if missing is not None and is_missing(error):
            raise missing from error
        raise object_error(error, place) from error


def name_taken_error(place: str) -> BlobError:
    """Something else lies under the name of a segment; nothing is ever overwritten."""
    return BlobError(
        "taken", f"{place}: something else has the name of a segment; nothing was kept"
    )


def is_missing(error: Exception) -> bool:
    """True when the object is not there, and the bucket is, as far as it was said."""
    return isinstance(error, FileNotFoundError) and _code(str(error)) not in _NO_BUCKET


def is_past_the_end(error: Exception) -> bool:
    """True when a range begins behind the last byte."""
    said = str(error)
    return _status(said) == 416 or any(mark in said for mark in _PAST_THE_END)


def _is_denied(error: Exception, status: int | None) -> bool:
    return isinstance(error, PermissionDeniedError | UnauthenticatedError) or status in (401, 403)


def _status(said: str) -> int | None:
    found = _STATUS.search(said)
    return int(found[1]) if found else None


def _code(said: str) -> str | None:
    found = _CODE.search(said)
    return found[1] if found else None
