"""A server as a process: started, stopped, killed and started again on the same port and data."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.servers import watchdog
from tests.support.waiting import HANG_GUARD_SEC, block_until

_CHANGE_USER = (
    "import os, sys; uid, gid, *command = sys.argv[1:]; os.setgroups([]); os.setgid(int(gid));"
    " os.setuid(int(uid)); os.execv(command[0], command)"
)


class ServerFailedError(Exception):
    """A server did not start or stop; the message ends with the tail of its log."""


class Server(ABC):
    """What all servers share; each kind says its command, and how it shows that it is ready."""

    name = "server"
    ending = signal.SIGTERM  # a clean end
    abandoned = signal.SIGKILL  # the quickest end that leaves nothing of it behind
    uid: int | None = None  # as whom it runs, if not as us
    gid: int | None = None

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"fm-{self.name}-"))
        self.folder.chmod(0o711)  # a server under another user must be able to pass through
        self.log = self.folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Running and answering when this returns; the log is in the error when it is not."""
        if self.running:
            return self
        self._spawn(self.command(), self.environment())
        self._until(self.ready, "did not become ready")
        return self

    def stop(self) -> None:
        """Ended cleanly; port and data stay for the next start."""
        self._end(self.ending)

    def kill(self) -> None:
        """Gone as in a power cut of the process: SIGKILL."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """A clean stop and a start, same port, same data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Gone without a farewell, for its folder goes too."""
        try:
            self._end(self.abandoned)
        finally:
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process to signal (SIGSTOP, SIGCONT); an error when it is not running."""
        if self._process is None or self._process.poll() is not None:
            msg = f"{self.name} is not running"
            raise ServerFailedError(msg)
        return self._process.pid

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """The program and its arguments."""

    def environment(self) -> Mapping[str, str]:
        """What the program finds in its environment beside ours."""
        return {}

    @abstractmethod
    def ready(self) -> bool:
        """Asked again and again after a start."""

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def as_its_user(self, command: Sequence[str | Path]) -> Sequence[str | Path]:
        """The command, run as the server's own user if it has one.

        A program changes the user, not `subprocess`: that would fork this process with all its
        threads, and what gRPC does in the child of a fork has crashed it.
        """
        if self.uid is None or self.gid is None:
            return command
        return [sys.executable, "-ISc", _CHANGE_USER, str(self.uid), str(self.gid), *command]

    def _spawn(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        watchdog.wake()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.as_its_user(command),
                cwd=self.folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests; they end the servers
            )
        watchdog.watch(self._process.pid, self.abandoned, self.folder)

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(HANG_GUARD_SEC)
            except subprocess.TimeoutExpired:
                problem = f"did not end after {how.name}"
                raise self._failure(problem) from None
        watchdog.forget(process.pid)
        self._process = None

    def _until(self, condition: Callable[[], bool], otherwise: str) -> None:
        def holds_or_ended() -> bool:
            return condition() or self._has_ended()

        try:
            block_until(holds_or_ended, self.name)
        except AssertionError:
            failure = self._failure(otherwise)
            self.kill()
            raise failure from None
        if self._has_ended() and not condition():
            assert self._process is not None
            problem = f"ended with code {self._process.returncode}"
            raise self._failure(problem)

    def _has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _failure(self, problem: str) -> ServerFailedError:
        said = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return ServerFailedError(f"{self.name} {problem}; its log ends:\n{said[-4000:]}")
