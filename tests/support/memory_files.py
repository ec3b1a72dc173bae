"""Temporary files of the tests in memory: a sync is free, and copying a PostgreSQL database takes 18 ms of CPU instead of 50.

No test cuts the power of the machine. What a process had written before it was killed is in memory, as it would be in the
page cache of a disk. `TMPDIR=/tmp make test` puts the files on disk.
"""

import os
import re
import tempfile
from pathlib import Path
from typing import Final

_MEMORY: Final = Path("/dev/shm")
# A run needs about 1 GiB for the databases of its servers and the folders of the tests that are running or have failed.
_ROOM_BYTES: Final = 4 << 30


def keep_files_in_memory() -> None:
    """Make /dev/shm the folder of temporary files, here and in child processes, if there is room.

    A folder that the environment names stays.
    """
    if "TMPDIR" in os.environ or not _has_room():
        return
    os.environ["TMPDIR"] = str(_MEMORY)
    tempfile.tempdir = None  # it is looked up again


def _has_room() -> bool:
    """Containers often have 64 MB there, and some systems let no program be started from it."""
    try:
        there = os.statvfs(_MEMORY)
        memory = Path("/proc/meminfo").read_text(encoding="utf-8")
    except OSError:
        return False
    available = re.search(r"^MemAvailable:\s+(\d+) kB$", memory, re.MULTILINE)
    if available is None or there.f_flag & os.ST_NOEXEC or not os.access(_MEMORY, os.W_OK):
        return False
    return min(there.f_bavail * there.f_frsize, int(available[1]) << 10) >= _ROOM_BYTES
