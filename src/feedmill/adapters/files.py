"""Files and folders of the home folder: readable by their owner alone, and there after a power cut.

Databases and raw documents hold addresses with tokens and the passwords of feeds. A folder that others can enter is closed
when it is opened, if it is ours; the mode of a file that exists is set as well.
"""
# Tested in tests/unit/adapters/test_files.py

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

PRIVATE_FOLDER: Final = 0o700
PRIVATE_FILE: Final = 0o600


def make_private_folder(path: Path) -> bool:
    """Create the folder for its owner alone; True when it was open to others and is not any more."""
    path.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    return close_to_others(path, PRIVATE_FOLDER)


def make_private_file(path: Path) -> None:
    """Create an empty file for its owner alone, unless it is there; behind a link, as a database on another disk has one, too."""
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(os.path.realpath(path), flags, PRIVATE_FILE))


def close_all(paths: Iterable[Path]) -> list[Path]:
    """Take files from others; those that were open to them."""
    return [path for path in paths if close_to_others(path, PRIVATE_FILE)]


def close_folder(path: Path) -> None:
    """Take a folder and its files from others; a folder that is closed already is not read."""
    if close_to_others(path, PRIVATE_FOLDER):
        close_all(file for file in path.iterdir() if file.is_file())


def close_to_others(path: Path, mode: int) -> bool:
    """Set the mode of what is ours and open to others; True when it was."""
    try:
        found = path.lstat()
        is_open = found.st_mode & 0o077 and not stat.S_ISLNK(found.st_mode)
        if not is_open or found.st_uid != os.geteuid():
            return False
        path.chmod(mode)
    except OSError:  # a file system without modes, or a file that went
        return False
    return True


def is_open_to_others(path: Path) -> bool:
    """True when others than the owner and the group can read it."""
    try:
        return bool(path.stat().st_mode & 0o007)
    except OSError:
        return False


sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync


def make_folder(path: Path) -> None:
    """Create a folder and those above it, private; their names are synced, up to the first that was there."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
    for folder in missing:
        sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Sync the names in a folder."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
