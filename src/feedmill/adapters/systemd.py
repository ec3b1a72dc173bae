"""Notifies systemd (Type=notify): ready, watchdog, stopping and status (sd_notify(3)).

Without NOTIFY_SOCKET nothing is sent. A message that cannot be delivered is dropped: the supervisor
finds out by itself, and no role ends because of its supervisor. Signs of life may fill the queue of one that is
slow, so every other message waits for room for some seconds: a lost READY=1 would end the unit.
"""

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

_PATIENCE_SEC: Final = 5.0
_SIGN_OF_LIFE: Final = "WATCHDOG=1"


class SystemdNotifier:
    """One process's line to its supervisor; `watchdog_sec` is how often it wants a sign of life."""

    def __init__(
        self, environment: Mapping[str, str], pid: int, *, patience_sec: float = _PATIENCE_SEC
    ) -> None:
        self._patience_sec = patience_sec
        self._address = environment.get("NOTIFY_SOCKET", "")
        self.is_heard = bool(self._address)
        self.watchdog_sec: float | None = None
        asked, of = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID")
        if self.is_heard and asked.isdecimal() and int(asked) > 0 and of in (None, str(pid)):
            self.watchdog_sec = int(asked) / 1_000_000

    def notify(self, *words: str) -> bool:
        """Send words such as READY=1 in one datagram; False when they were not delivered."""
        if not self.is_heard:
            return False
        # A leading "@" stands for the NUL byte of Linux's abstract addresses.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        text = "\n".join(word.replace("\n", " ") for word in words).encode("utf-8", "replace")
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.settimeout(0.0 if words == (_SIGN_OF_LIFE,) else self._patience_sec)
            line.connect(address)
            line.send(text)
            return True
        return False
