"""Errors of the raw store: a stable reason for each errno, with advice."""
# Tested in tests/contracts/blobs/

import errno
from typing import Final

from feedmill.errors import BlobError, BlobMoved

_FULL: Final = ("disk-full", "no space is left; free some, feedmill goes on by itself")
_READ_ONLY: Final = ("read-only", "it cannot be written; check permissions and the mount")
_GONE: Final = ("cannot-open", "the folder is not there any more; restore it")
_REASONS: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,  # a limit on the size of files
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.ENOENT: _GONE,
    errno.ENOTDIR: _GONE,
    errno.EMFILE: ("cannot-open", "too many files are open; raise the limit (ulimit -n)"),
    errno.ENFILE: ("cannot-open", "too many files are open on this machine"),
}
_OTHER: Final = ("io-error", "the disk gave an error; check it")


def blob_error(error: OSError, what: str) -> BlobError:
    """The disk's error in our words."""
    reason, advice = _REASONS.get(error.errno or 0, _OTHER)
    return BlobError(reason, f"{what}: {advice} ({error.strerror or error})")


def closed_error() -> BlobError:
    """The raw store was asked for something after its end."""
    return BlobError("closed", "the raw store is closed")


def too_slow_error(patience_sec: float) -> BlobError:
    """A disk that hangs."""
    return BlobError("too-slow", f"the raw store's disk did not answer within {patience_sec:g} s")


def damaged_error(segment: str, offset: int, problem: str) -> BlobError:
    """A record that is not what was written."""
    where = f"segment {segment} at {offset}"
    return BlobError("damaged", f"{where}: {problem}")


def not_a_segment_error(name: str) -> BlobError:
    """An index row that names something else; it never leads out of the folder."""
    return BlobError("damaged", f"{name!r} is not the name of a segment")


def too_new_error(segment: str) -> BlobError:
    """A record that only a later version of feedmill can read."""
    message = f"segment {segment} was written by a newer feedmill; use that one"
    return BlobError("unknown-version", message)


def moved_error(segment: str) -> BlobMoved:
    """A segment that is not there: it was re-encoded or dropped since the index was asked."""
    return BlobMoved("moved", f"segment {segment} is not in the raw store")
