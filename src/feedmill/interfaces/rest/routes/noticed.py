"""When an answer last became another one, as far as this process has seen.

No column says when a collection changed: entries leave it, feeds are renamed, texts are revised.
What was served is known, though. Its digest and the moment are kept for the addresses that were
asked for last; one that was forgotten has changed just now, which costs its reader one answer.
"""

from datetime import datetime, timedelta
from typing import Final

_SECOND: Final = timedelta(seconds=1)


class ChangeTimes:
    """The last answer of each address, of a bounded number of addresses."""

    def __init__(self, most: int = 4_096) -> None:
        self._most = most
        self._last: dict[str, tuple[str, datetime]] = {}

    def since(self, address: str, tag: str, now: datetime) -> datetime | None:
        """What Last-Modified may say; None when two answers of one second cannot be told apart.

        A date has no fractions, so every other answer gets a second of its own: a reader that was
        given one never takes a later answer for it (RFC 9110 8.8.2.2).
        """
        now = now.replace(microsecond=0)
        before = self._last.pop(address, None)
        if before is not None and before[0] == tag:
            moment = before[1]
        else:
            moment = max(now - _SECOND, before[1] + _SECOND) if before else now - _SECOND
        self._last[address] = (tag, moment)
        if len(self._last) > self._most:
            del self._last[next(iter(self._last))]
        return moment if moment <= now else None
