"""Checks deploy/observe with a real Prometheus that scrapes a real run (`make observe-check`).

    python -m tools.observe_check [--binaries DIR]

promtool checks and tests the rules. Then `feedmill demo` runs, Prometheus scrapes it, and every expression
of every panel and recording rule has to return a sample. The programs come from --binaries, from the
path, or from Debian's package `prometheus`, which is downloaded and unpacked into a temporary folder without
being installed. Everything listens on loopback and ends with the check.
"""

import argparse
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.observe_files import FOLDER, TESTS, expressions, recorded

_PATIENCE_SEC = 240.0
_EVERY_SEC = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--binaries", type=Path, help="folder with prometheus and promtool")
    given = parser.parse_args()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory()))
        programs = given.binaries or _on_path() or _unpacked(scratch)
        for arguments in (
            ("check", "rules", *map(str, sorted((FOLDER / "rules").glob("[ar]*.yml")))),
            ("test", "rules", str(FOLDER / TESTS)),
        ):
            subprocess.run([programs / "promtool", *arguments], check=True)
        port = stack.enter_context(_demo(scratch))
        address = stack.enter_context(_prometheus(programs, scratch, port))
        missing = _wait_for_samples(address)
    for place in missing:
        print(f"no sample: {place}")
    print(f"{len(_asked()) - len(missing)} of {len(_asked())} expressions returned samples")
    sys.exit(1 if missing else 0)


def _on_path() -> Path | None:
    found = shutil.which("promtool")
    return Path(found).parent if found and shutil.which("prometheus") else None


def _unpacked(scratch: Path) -> Path:
    """Debian's package, unpacked; it is not installed and starts no service."""
    subprocess.run(["apt-get", "download", "prometheus"], cwd=scratch, check=True)
    (package,) = scratch.glob("prometheus_*.deb")
    subprocess.run(["dpkg", "-x", package, scratch / "package"], check=True)
    return scratch / "package" / "usr" / "bin"


@contextmanager
def _demo(scratch: Path) -> Iterator[int]:
    """The demonstration with its metrics on a port."""
    port = _free_port()
    environment = {**os.environ, "FEEDMILL_OBSERVE_METRICS_TOP_FEEDS": "50"}
    feedmill = "from feedmill.interfaces.cli.main import main; main()"
    command = [
        *(sys.executable, "-c", feedmill, "demo", "--for", "0", "--json"),
        *("--port", "0", "--metrics-port", str(port)),
    ]
    with (scratch / "demo.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield port
        finally:
            _end(process)


@contextmanager
def _prometheus(programs: Path, scratch: Path, port: int) -> Iterator[str]:
    """Prometheus on the same rules, scraping every two seconds."""
    own = _free_port()
    config = {
        "global": {"scrape_interval": "2s", "evaluation_interval": "5s"},
        "rule_files": [str(FOLDER / "rules" / name) for name in ("recording.yml", "alerts.yml")],
        "scrape_configs": [
            {"job_name": "feedmill", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        ],
    }
    path = scratch / "prometheus.json"  # JSON is YAML
    path.write_text(json.dumps(config), encoding="utf-8")
    command = [
        str(programs / "prometheus"),
        f"--config.file={path}",
        f"--storage.tsdb.path={scratch / 'data'}",
        f"--web.listen-address=127.0.0.1:{own}",
    ]
    with (scratch / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{own}"
        finally:
            _end(process)


def _wait_for_samples(address: str) -> list[str]:
    """The expressions that returned no sample within our patience."""
    began, missing = _now(), _asked()
    while missing and _now() - began < _PATIENCE_SEC:
        time.sleep(_EVERY_SEC)
        missing = {
            place: expr for place, expr in missing.items() if not _has_sample(address, expr, began)
        }
    return [f"{place}: {expr}" for place, expr in missing.items()]


def _asked() -> dict[str, str]:
    panels = {
        f"{place} #{number}": expr.replace("$__rate_interval", "1m")
        for number, (place, expr) in enumerate(expressions())
    }
    return {**panels, **{f"rule {name}": name for name in recorded()}}


def _has_sample(address: str, expr: str, since: float) -> bool:
    """Whether the expression had a value, other than NaN, at any moment of the run."""
    asked = urllib.parse.urlencode({"query": expr, "start": since, "end": _now(), "step": "5"})
    try:
        with urllib.request.urlopen(f"{address}/api/v1/query_range?{asked}", timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as problem:
        sys.exit(f"{expr}: {problem.read().decode()}")
    except OSError:
        return False  # it is still starting
    values = (value for one in found["data"]["result"] for _, value in one["values"])
    return any(not math.isnan(float(value)) for value in values)


def _now() -> float:
    return time.time()  # noqa: TID251  # of the machine, as Prometheus has it


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
