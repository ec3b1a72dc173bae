"""A process that outlives the tests only to end the servers they left behind.

It is told each server as it starts. When its standard input closes, the tests are over, by
their end or by SIGKILL: what is still running is ended and its folder removed. (The kernel's
own PR_SET_PDEATHSIG follows the thread that started the server, not the process.)
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

_HANG_GUARD_SEC = 300.0  # as tests.support.waiting says it, which a process without paths lacks
_running: list[subprocess.Popen[str]] = []


def wake() -> None:
    """The watchdog is there; called before a server starts, so that none is ever unwatched."""
    if not _running:
        _running.append(_spawn())


def watch(pid: int, ending: signal.Signals, folder: Path) -> None:
    """If this process dies, the server gets that signal and its folder goes."""
    _tell(f"watch {pid} {int(ending)} {_born(pid)} {folder}")


def forget(pid: int) -> None:
    """The server has ended, so its number may belong to someone else from now on."""
    _tell(f"forget {pid}")


def keep_watch() -> None:
    """The life of the watchdog: listen until the tests are gone, then clean up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests first, then us
    watched: dict[int, tuple[int, str, Path]] = {}
    for line in sys.stdin:
        verb, pid, *rest = line.rstrip("\n").split(" ", 4)
        if verb == "watch":
            watched[int(pid)] = (int(rest[0]), rest[1], Path(rest[2]))
        else:
            watched.pop(int(pid), None)
    for number, (ending, born, folder) in watched.items():
        if _born(number) == born:  # never a stranger who got the same number
            os.kill(number, ending)
            _wait_for_the_end(number, born)
        shutil.rmtree(folder, ignore_errors=True)


def _tell(line: str) -> None:
    wake()
    dog = _running[0]
    assert dog.stdin is not None
    dog.stdin.write(line + "\n")
    dog.stdin.flush()


def _spawn() -> subprocess.Popen[str]:
    command = [sys.executable, "-I", "-S", __file__]
    dog = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)
    atexit.register(_dismiss, dog)
    return dog


def _dismiss(dog: subprocess.Popen[str]) -> None:
    if dog.stdin is not None:
        dog.stdin.close()
    dog.wait(_HANG_GUARD_SEC)


def _wait_for_the_end(pid: int, born: str) -> None:
    """It may still be writing into the folder that goes next."""
    deadline = time.monotonic() + _HANG_GUARD_SEC / 2
    while _born(pid) == born and time.monotonic() < deadline:
        time.sleep(0.01)


def _born(pid: int) -> str:
    """When that process started, or "gone"; "unknown" where there is no /proc.

    One that has ended is gone, although nobody may have asked for its exit code yet.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return "gone" if Path("/proc/self/stat").exists() else "unknown"
    state, *rest = stat.rpartition(")")[2].split()  # after the command's name
    return "gone" if state == "Z" else rest[18]  # field 22


if __name__ == "__main__":
    keep_watch()
