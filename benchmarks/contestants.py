"""The processes of `mill.py`: the publisher, mills and lemon24's reader, started and ended here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

HOSTS: Final = 254  # 127.0.1.1 and following
CORES: Final = sorted(os.sched_getaffinity(0))
_LONGEST_SEC: Final = 1_800
_FAREWELL_SEC: Final = 30
_ROOT: Final = str(Path(__file__).parents[1])


class Publisher:
    """The demonstration publisher under load, on the second core."""

    def __init__(self, *arguments: str, scheme: str = "http", hosts: int = HOSTS) -> None:
        self._scheme = scheme
        self._command = [
            *(sys.executable, "-m", "benchmarks.load_site"),
            *("--addresses", str(hosts), "--seconds", str(_LONGEST_SEC)),
            *arguments,
        ]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, text=True, cwd=_ROOT
        )
        os.sched_setaffinity(self._process.pid, {CORES[-1]})
        assert self._process.stdout is not None
        self._port = json.loads(self._process.stdout.readline())["port"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _end(self._process)

    def urls(self, count: int, first: int = 0, hosts: int = HOSTS) -> list[str]:
        """Addresses of feeds, spread over all hosts."""
        return [
            f"{self._scheme}://{_address(number % hosts)}:{self._port}/load/{number}"
            for number in range(first, first + count)
        ]


def _address(host: int) -> str:
    """The loopback address of a host."""
    return f"127.{host // 62_500}.{host // HOSTS % 246 + 1}.{host % HOSTS + 1}"


class Contestant:
    """A process that takes commands as lines of JSON and answers each with one."""

    def __init__(self, module: str, options: dict[str, Any], source: str | None = None) -> None:
        """`source` is a folder to import feedmill from instead of this tree's."""
        self._command = [sys.executable, "-m", module, json.dumps(options)]
        self._environment = None if source is None else {**os.environ, "PYTHONPATH": source}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env=self._environment,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # that is how it learns that it is over
        _end(self._process, patience_sec=_FAREWELL_SEC)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
        """What came of a command."""
        self.tell(do, **arguments)
        return self.hear()

    def tell(self, do: str, **arguments: Any) -> None:  # noqa: ANN401  # JSON
        """Give a command whose answer is heard later."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next answer."""
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def mill(
    home: str,
    *,
    core: int = 0,
    ca_file: str | None = None,
    source: str | None = None,
    **further: Any,  # noqa: ANN401  # JSON
) -> Contestant:
    """A mill on one home folder, pinned to one core; `source`: of another commit."""
    options = {
        "core": CORES[core % len(CORES)],
        "home": home,
        "ca_file": ca_file,
        "concurrency": None,
        "parse_in_thread_bytes": None,
    }
    return Contestant("benchmarks.mill_process", options | further, source)


def rival(home: str, *, workers: int = 8) -> Contestant:
    """lemon24's reader with its workers, on the same core as the mill."""
    options = {"core": CORES[0], "home": home, "workers": workers}
    return Contestant("benchmarks.rival_process", options)


def _end(process: subprocess.Popen[str], patience_sec: float = 0.0) -> None:
    """Wait that long for it to end by itself, then end it."""
    try:
        process.wait(patience_sec)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.wait(_FAREWELL_SEC)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
