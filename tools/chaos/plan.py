"""How large a trial is, and the terms that everybody in it has to keep."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Feeds, hosts, workers and their manners; the defaults are those of `make chaos`.

    A lease holds one whole fetch and the five seconds that a worker leaves beyond it, so it cannot
    be shorter than the timeout and these.
    """

    feeds: int = 2_400
    hosts: int = 80
    workers: int = 5
    lanes_each: int = 18  # that one worker has at work
    timeout_ms: int = 1_500
    lease_sec: float = 8.0
    gap_ms: int = 50
    interval_sec: int = 16  # the shortest; the longest is half as long again
    slow_sec: float = 0.4  # what every eighth host takes to answer
    short_pause_sec: int = 2  # Retry-After, within what the lease covers
    long_pause_sec: int = 11  # and beyond the lease
    warm_up: int = 800  # requests before anybody is struck
    between: int = 250  # and from one blow to the next
    covered_sec: float = 2.4  # how long a lease lasts after any answer: half of those five, nearly
    drain_sec: float = 1.0  # from SIGTERM to the end

    def host_of(self, feed: int) -> str:
        """The address that a feed lives at."""
        return f"127.0.3.{feed % self.hosts + 1}"

    def delay_of(self, host: int) -> float:
        """How long the host takes to answer, in seconds."""
        return self.slow_sec if host % 8 == 3 else 0.0

    def pause_of(self, host: int) -> int:
        """What the host's 429s ask for; 0 for a host that never sends any."""
        return {5: self.short_pause_sec, 7: self.long_pause_sec}.get(host % 10, 0)
