"""Each role runs with what the manifests give it, answers its probes, and speaks to systemd."""

import os
import signal
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from tests.support.command_line import COMMAND, Said, finish
from tests.support.deploy_files import make_secrets, pods, variables
from tests.support.servers.free_port import free_port
from tests.support.servers.nats import NatsServer
from tests.support.servers.seaweedfs import S3Server
from tests.support.waiting import HANG_GUARD_SEC, block_until
from tests.support.warm_process import WarmPopen

ROLES = ("feedmill-worker", "feedmill-api", "feedmill-relay")
PORTS = {"health": "FEEDMILL_HEALTH_PORT", "http": "FEEDMILL_SERVE_PORT"}
READY = "ready"


@pytest.fixture
def secrets(
    tmp_path: Path, postgres_dsn: str, nats_server: NatsServer, s3_server: S3Server
) -> Path:
    """The secrets that lead to the servers of the tests."""
    folder = make_secrets(tmp_path / "secrets")
    (folder / "database_url").write_text(postgres_dsn)
    (folder / "bus_url").write_text(nats_server.url)
    (folder / "s3_access_key_id").write_text(s3_server.access_key)
    (folder / "s3_secret_access_key").write_text(s3_server.secret_key)
    return folder


@pytest.fixture
def surroundings(tmp_path: Path, secrets: Path, s3_server: S3Server) -> dict[str, dict[str, str]]:
    """The environment of each pod, its ports and folders brought to this machine."""
    here = {
        "PATH": os.environ["PATH"],
        "AWS_ENDPOINT_URL": s3_server.url,
        "FEEDMILL_BLOBS_URL": "s3://feedmill/deployed",
        "FEEDMILL_HOME": str(tmp_path / "home"),
        "FEEDMILL_HEALTH_HOST": "127.0.0.1",
        "FEEDMILL_SERVE_HOST": "127.0.0.1",
        **{name: str(free_port()) for name in PORTS.values()},
    }
    places = dict(variables(secrets))
    return {name: {**places[f"kubernetes {name}"], **here} for name in pods()}


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """Where a supervisor listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.settimeout(HANG_GUARD_SEC)
        line.bind(str(tmp_path / "notify"))
        yield line


@pytest.mark.parametrize("name", ROLES)
def test_a_role_answers_its_probes_and_tells_systemd_how_it_is_until_it_is_asked_to_end(
    name: str, surroundings: dict[str, dict[str, str]], systemd: socket.socket
) -> None:
    container = pods()[name]["containers"][0]
    told = {"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "1000000"}
    migrated = _migrate(surroundings)

    with _Running(container["args"], surroundings[name] | told) as (process, log):
        ready = _until_ready(container["readinessProbe"]["httpGet"], surroundings[name], process)
        alive, _ = _asked(container["livenessProbe"]["httpGet"], surroundings[name])
        _until_said("READY=1", systemd)
        _until_said("WATCHDOG=1", systemd)
        process.send_signal(signal.SIGTERM)
        _until_said("STOPPING=1", systemd)
        ended = process.wait(HANG_GUARD_SEC)

        assert migrated.status == 0, migrated.err
        assert ready == READY, log.read_text("utf-8")
        assert (alive, ended) == (200, 0), log.read_text("utf-8")


def test_the_migration_may_run_twice(surroundings: dict[str, dict[str, str]]) -> None:
    done = [_migrate(surroundings) for _ in range(2)]

    assert [one.status for one in done] == [0, 0], [one.err for one in done]


class _Running:
    """A process that does not outlive its block, and what it says."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self._log = Path(environment["FEEDMILL_HOME"]).with_name("log")
        with self._log.open("wb") as log:
            self._process = WarmPopen(
                [COMMAND, *arguments], env=environment, stdout=log, stderr=log
            )

    def __enter__(self) -> tuple[Popen[bytes], Path]:
        return self._process, self._log

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def _migrate(surroundings: dict[str, dict[str, str]]) -> Said:
    arguments = pods()["feedmill-migrate"]["containers"][0]["args"]
    environment = surroundings["feedmill-migrate"]
    return finish(WarmPopen([COMMAND, *arguments], env=environment, stdout=PIPE, stderr=PIPE))


def _until_ready(probe: dict[str, Any], environment: dict[str, str], process: Popen[bytes]) -> str:
    """That it is ready; its last words when it ended instead."""
    answers = [(0, "nothing was said")]

    def is_ready_or_ended() -> bool:
        answers.append(_asked(probe, environment))
        return answers[-1][0] == 200 or process.poll() is not None

    block_until(is_ready_or_ended, "a role that is ready")
    status, said = answers[-1]
    return READY if status == 200 else said


def _until_said(word: str, line: socket.socket) -> None:
    """Returns when the role has said that word; TimeoutError when it does not."""
    while word not in line.recv(4096).decode("utf-8").splitlines():
        pass


def _asked(probe: dict[str, Any], environment: dict[str, str]) -> tuple[int, str]:
    connection = HTTPConnection(
        "127.0.0.1", int(environment[PORTS[probe["port"]]]), timeout=HANG_GUARD_SEC
    )
    try:
        connection.request("GET", probe["path"])
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8")
    except OSError as problem:
        return 0, str(problem)
    finally:
        connection.close()
