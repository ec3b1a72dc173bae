"""What a process wrote, synced and sent, in order: made by `recorder.c`, which is compiled on demand."""

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_HEAD: Final = struct.Struct("<cHQI")
_SOURCE: Final = Path(__file__).parent / "recorder.c"


class Operation(NamedTuple):
    """One record; the kinds are listed in `recorder.c`."""

    kind: str
    path: str
    offset: int
    data: bytes


def compiler() -> str | None:
    """The C compiler of this machine, None when there is none."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def recorder_environment(folder: Path, home: Path) -> dict[str, str]:
    """Compile the recorder; what a process needs in its environment to be recorded."""
    library, found = folder / "recorder.so", compiler()
    assert found is not None
    subprocess.run(
        [found, "-O1", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl", "-lpthread"], check=True
    )
    return {
        "LD_PRELOAD": str(library),
        "POWER_CUT_LOG": str(folder / "recording"),
        "POWER_CUT_ROOT": str(home),
    }


def read_recording(folder: Path) -> list[Operation]:
    """All operations; half of the last one is left out."""
    return list(_operations((folder / "recording").read_bytes()))


def _operations(octets: bytes) -> Iterator[Operation]:
    at = 0
    while at + _HEAD.size <= len(octets):
        kind, path_size, offset, data_size = _HEAD.unpack_from(octets, at)
        begin = at + _HEAD.size
        at = begin + path_size + data_size
        if at > len(octets):
            return
        path = octets[begin : begin + path_size].decode()
        yield Operation(kind.decode(), path, offset, octets[begin + path_size : at])
