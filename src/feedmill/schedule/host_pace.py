"""How a host is treated after each fetch: the gap, the pause, the slow-down (D24).

The host is the unit of politeness. Trouble doubles the gap and calm takes it back step by step
(AIMD). A 429 limits us, so it binds the whole host at once (RFC 6585 §4); a 503 binds its own URL
first and the host when a second URL of it says the same. When feeds of one host fail alike, one
after the other, that is an incident of the host: the feeds are not charged for it and one of
them at a time is the canary.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.config import HostConfig
from feedmill.errors import ConfigError
from feedmill.model.feed import HostPace, HostState
from feedmill.model.fetch import HOST_FAILURES
from feedmill.model.schedule import Outcome

# What says something about the host rather than about the one feed behind a URL.
_OF_HOST: Final = HOST_FAILURES | {"bot-wall"}
_CALMING: Final = 0.25  # of the slow-down, given back by every good fetch
_MAX_LIMITED_URLS: Final = 64
MAX_LANES: Final = 64  # of one host
_LANE_DIGITS: Final = 3


def initial_pace(config: HostConfig) -> HostPace:
    """How a host is treated before anything is known about it."""
    return HostPace(gap_ms=gap_ms(config))


def gap_ms(config: HostConfig) -> int:
    """The smallest gap that honours both the minimum gap and the requests per second."""
    by_rate = 1000.0 / config.rps if config.rps > 0 else 0.0
    return int(max(config.min_gap_ms, by_rate))


def lanes_by_host(config: HostConfig) -> dict[str, int]:
    """How many lanes each big host has; ConfigError tells every entry that is not `host=n`.

    n lanes with n gaps each ask as often as one lane with one gap, and one slow answer holds up
    only a part of the host's feeds.
    """
    found: dict[str, int] = {}
    mistakes: list[str] = []
    for entry in config.lanes:
        host, _, number = entry.strip().rpartition("=")
        is_number = number.isascii() and number.isdigit() and len(number) <= _LANE_DIGITS
        lanes = int(number) if is_number else 0
        if not host or not 1 <= lanes <= MAX_LANES:
            mistakes.append(
                f"lanes {entry!r} is not valid: expected a host and a number from 1 to {MAX_LANES}, "
                "like www.example.com=4"
            )
        elif host.lower() in found:
            mistakes.append(f"lanes names {host.lower()} twice")
        found[host.lower()] = lanes
    if mistakes:
        raise ConfigError(mistakes)
    return found


def pace_after(
    pace: HostPace, url: str, outcome: Outcome, *, ended_at: datetime, config: HostConfig
) -> HostPace:
    """The pace after a fetch that ended at `ended_at`; its gap is counted from there."""
    if outcome.kind != "failed":
        return _after_success(pace, ended_at)
    if outcome.reason == "rate-limited":
        return _after_rate_limit(pace, outcome, ended_at, config)
    if outcome.reason == "unavailable" and outcome.retry_after_sec:
        return _after_unavailable(pace, url, outcome, ended_at, config)
    if outcome.reason in _OF_HOST:
        return _after_failure(pace, outcome.reason, ended_at, config)
    return replace(pace, next_ok_at=_after_gap(pace, ended_at), failures=0, failing_with=None)


def pause_until(pace: HostPace, *, ended_at: datetime) -> datetime | None:
    """Until when the host asked to be left alone, beyond its ordinary gap; None when it did not."""
    ok_at = pace.next_ok_at
    return ok_at if ok_at is not None and ok_at > _after_gap(pace, ended_at) else None


def host_state(pace: HostPace, config: HostConfig) -> HostState:
    """How the host is doing, as far as its answers tell: a pause ends with the next success."""
    fails_alike = pace.failures >= config.incident_after and pace.failing_with != "rate-limited"
    if fails_alike:
        return "incident"
    return "well" if pace.blocked_reason is None else "paused"


def mark_trouble(before: HostPace, after: HostPace, feed_id: str, *, at: datetime) -> HostPace:
    """The pace with when its trouble began, and with the feed that tried the host last."""
    if after.blocked_reason is None and after.failing_with is None:
        if after.troubled_since is None and after.canary is None:
            return after
        return replace(after, troubled_since=None, canary=None)
    return replace(after, troubled_since=before.troubled_since or at, canary=feed_id)


def host_of_lane(key: str) -> str:
    """The host of a lane: one of several lanes has a number behind it."""
    return key.partition("#")[0]


def shift_pace(pace: HostPace, by: timedelta) -> HostPace:
    """The pace with its instants moved: the clock that they were read from was set."""
    ok_at = pace.next_ok_at
    return replace(
        pace,
        next_ok_at=None if ok_at is None else ok_at + by,
        limited_urls=tuple((url, until + by) for url, until in pace.limited_urls),
    )


def is_incident(pace: HostPace, reason: str, config: HostConfig) -> bool:
    """True when a failure is the host's rather than the feed's: several in a row, all alike."""
    return pace.failing_with == reason and pace.failures >= config.incident_after


def host_wait_sec(pace: HostPace, now: datetime) -> float:
    """How long the host is to be left alone, in seconds."""
    return 0.0 if pace.next_ok_at is None else max(0.0, (pace.next_ok_at - now).total_seconds())


def limited_until(pace: HostPace, url: str, now: datetime) -> datetime | None:
    """Until when this URL alone has to wait; None when it has not."""
    return next(
        (until for limited, until in pace.limited_urls if limited == url and now < until), None
    )


def _after_success(pace: HostPace, ended_at: datetime) -> HostPace:
    slow_down = max(1.0, pace.slow_down - _CALMING)
    limited = pace.limited_urls
    return replace(
        pace,
        slow_down=slow_down,
        failures=0,
        failing_with=None,
        blocked_reason=None,
        limited_urls=limited and tuple(pair for pair in limited if pair[1] > ended_at),
        next_ok_at=ended_at + timedelta(milliseconds=pace.gap_ms * slow_down),
    )


def _after_rate_limit(
    pace: HostPace, outcome: Outcome, ended_at: datetime, config: HostConfig
) -> HostPace:
    slower = _slower(pace, config)
    pause = ended_at + timedelta(seconds=_pause_sec(outcome, slower, config))
    return replace(
        slower,
        next_ok_at=max(pause, _after_gap(slower, ended_at)),
        blocked_reason="rate-limited",
        failures=pace.failures + 1 if pace.failing_with == "rate-limited" else 1,
        failing_with="rate-limited",
    )


def _after_unavailable(
    pace: HostPace, url: str, outcome: Outcome, ended_at: datetime, config: HostConfig
) -> HostPace:
    """503 with Retry-After: this URL waits; the host does once a second URL says the same."""
    until = ended_at + timedelta(seconds=_pause_sec(outcome, pace, config))
    others = [pair for pair in pace.limited_urls if pair[0] != url and pair[1] > ended_at]
    failed = _after_failure(pace, "unavailable", ended_at, config)
    limited = (*others, (url, until))[-_MAX_LIMITED_URLS:]
    if not others:
        return replace(failed, limited_urls=limited)
    widened = max([until, *(pair[1] for pair in others)])
    return replace(failed, limited_urls=limited, next_ok_at=widened, blocked_reason="unavailable")


def _after_failure(pace: HostPace, reason: str, ended_at: datetime, config: HostConfig) -> HostPace:
    slower = _slower(pace, config)
    failures = pace.failures + 1 if pace.failing_with == reason else 1
    ok_at = _after_gap(slower, ended_at)
    blocked = pace.blocked_reason
    if failures >= config.incident_after:
        steps = min(failures - config.incident_after, 10)
        pause = min(config.incident_base_sec * 2**steps, config.incident_cap_sec)
        ok_at = max(ok_at, ended_at + timedelta(seconds=pause))
        blocked = reason
    return replace(
        slower, next_ok_at=ok_at, failures=failures, failing_with=reason, blocked_reason=blocked
    )


def _slower(pace: HostPace, config: HostConfig) -> HostPace:
    return replace(pace, slow_down=min(pace.slow_down * 2.0, config.max_slow_down))


def _after_gap(pace: HostPace, ended_at: datetime) -> datetime:
    return ended_at + timedelta(milliseconds=pace.gap_ms * pace.slow_down)


def _pause_sec(outcome: Outcome, pace: HostPace, config: HostConfig) -> float:
    """Retry-After as asked, up to its ceiling; without a pause in it, what an incident would cost."""
    if not outcome.retry_after_sec:
        return min(config.incident_base_sec * pace.slow_down, config.incident_cap_sec)
    return min(outcome.retry_after_sec, config.retry_after_max_sec)
