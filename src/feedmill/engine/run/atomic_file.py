"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO


@contextmanager
def atomic_file(path: Path, *, is_private: bool = False) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends without an error.

    Two writers of one path do not disturb each other, and the last to end wins: each has a file
    with a random name, which is never opened through a link that another user made.
    """
    partial = path.with_name(f"{path.name}.{token_hex(4)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(partial, flags, 0o600 if is_private else 0o666)
    except OSError as problem:
        problem.filename = str(path)
        raise
    try:
        with open(partial, "wb", opener=lambda *_: descriptor) as file:  # by descriptor
            yield file
            file.flush()
            os.fsync(descriptor)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_file(path: Path, data: bytes, *, is_private: bool = False) -> None:
    """Write a file whole or not at all, for its owner alone if it is private."""
    with atomic_file(path, is_private=is_private) as file:
        file.write(data)
