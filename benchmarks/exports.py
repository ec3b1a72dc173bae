"""CPU seconds, peak memory and file size of an export of 1,000,000 entries to each format, and of a tenth of it.

    python -m benchmarks.exports                  # fills stores in a temporary folder first
    python -m benchmarks.exports --entries 100000
    python -m benchmarks.exports --home DIR       # keeps the stores, and uses them again

Memory is constant when ten times the entries need no more of it. Each export is a process of its own.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.many_entries import fill

from feedmill.app.services import DATABASE_NAME

_FORMATS: Final = ("ndjson", "csv", "parquet", "sqlite", "snapshot")


class Export(NamedTuple):
    """One export as it was measured."""

    wall_sec: float
    cpu_sec: float
    peak_mb: float
    file_mb: float


def main() -> None:
    """Fill two stores unless they are there, export each to every format, and print a table."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--entries", type=int, default=1_000_000)
    reader.add_argument("--home", type=Path)
    asked = reader.parse_args()
    with TemporaryDirectory() as folder:
        homes = {}
        for count in (asked.entries // 10, asked.entries):
            homes[count] = (asked.home or Path(folder)) / str(count)
            if not (homes[count] / DATABASE_NAME).exists():
                fill(homes[count], count)
        print(
            f"{'format':9} {'entries':>9} {'wall s':>8} {'CPU s':>8} {'peak MB':>8} {'file MB':>8}"
        )
        for form in _FORMATS:
            for count, home in homes.items():
                done = _export(form, home, Path(folder) / f"export.{form}")
                print(
                    f"{form:9} {count:9,} {done.wall_sec:8.1f} {done.cpu_sec:8.1f}"
                    f" {done.peak_mb:8.0f} {done.file_mb:8.0f}",
                    flush=True,
                )


def _export(form: str, home: Path, path: Path) -> Export:
    command = [str(Path(sys.executable).with_name("feedmill")), "--home", str(home), "export"]
    command += ["snapshot"] if form == "snapshot" else ["entries", "--format", form]
    begin = time.perf_counter()
    status, used = 0, None
    child = os.posix_spawn(
        command[0],
        [*command, "--out", str(path)],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    peak_kb, ended = 0, 0
    while not ended:
        time.sleep(0.02)
        peak_kb = _peak_kb(child) or peak_kb
        ended, status, used = os.wait4(child, os.WNOHANG)
    wall_sec = time.perf_counter() - begin
    assert used is not None
    assert status == 0, f"the export to {form} failed"
    size = path.stat().st_size
    path.unlink()
    return Export(
        wall_sec=wall_sec,
        cpu_sec=used.ru_utime + used.ru_stime,
        peak_mb=peak_kb / 1024,
        file_mb=size / 1e6,
    )


def _peak_kb(process: int) -> int:
    """The high-water mark of its own memory; what wait4 says begins with that of its parent."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    main()
