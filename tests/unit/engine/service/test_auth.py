"""Scopes, bindings and the pace of callers."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.adapters.clock import SystemClock
from feedmill.config import AccessConfig
from feedmill.engine.service.auth import IssuedToken, RateLimiter, is_loopback, require_scope
from feedmill.errors import AccessError
from feedmill.model.running.webhook import Caller, Scope, Token

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)


class HandClock(SystemClock):
    """Seconds that pass when the test says so."""

    seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


def caller(*scopes: Scope) -> Caller:
    return Caller(token_id="t", name="reader", scopes=scopes)


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        ((), ()),
        (("read",), ("read",)),
        (("write",), ("read", "write")),
        (("admin",), ("read", "write", "admin")),
        (("read", "admin"), ("read", "write", "admin")),
    ],
)
def test_a_wider_scope_includes_the_narrower_ones(
    scopes: tuple[Scope, ...], allowed: tuple[Scope, ...]
) -> None:
    every: tuple[Scope, ...] = ("read", "write", "admin")

    assert tuple(scope for scope in every if caller(*scopes).may(scope)) == allowed


def test_nobody_is_told_to_bring_a_token_and_somebody_to_bring_a_wider_one() -> None:
    with pytest.raises(AccessError) as nobody:
        require_scope(None, "read")
    with pytest.raises(AccessError) as narrow:
        require_scope(caller("read"), "write")

    assert nobody.value.reason == "unauthenticated"
    assert narrow.value.reason == "forbidden"
    assert "write" in narrow.value.hint


def test_whoever_may_goes_on() -> None:
    assert require_scope(caller("write"), "read") == caller("write")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.1", False),
        ("localhost.example.com", False),
        ("", False),
    ],
)
def test_only_loopback_is_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_token_holds_until_it_expires_or_is_revoked() -> None:
    later = NOON + timedelta(days=1)
    plain = Token(id="t", name="n", scopes=("read",), created_at=NOON)
    ending = Token(id="t", name="n", scopes=("read",), created_at=NOON, expires_at=later)
    ended = Token(id="t", name="n", scopes=("read",), created_at=NOON, revoked_at=NOON)

    assert plain.holds(later)
    assert ending.holds(NOON)
    assert not ending.holds(later)
    assert not ended.holds(NOON)


def test_a_new_token_can_be_printed_without_its_secret() -> None:
    token = Token(id="t", name="n", scopes=("read",), created_at=NOON)

    assert "fm_hush" not in repr(IssuedToken(token=token, secret="fm_hush"))


def test_a_caller_may_burst_and_is_then_held_to_its_rate() -> None:
    clock = HandClock()
    limiter = RateLimiter(AccessConfig(requests_per_sec=2.0, burst=3), clock)

    burst = [limiter.admit("a") for _ in range(4)]
    clock.seconds += 0.25
    early = limiter.admit("a")
    clock.seconds += 0.25

    assert burst == [0.0, 0.0, 0.0, 0.5]
    assert early == 0.25
    assert limiter.admit("a") == 0.0


def test_one_caller_does_not_spend_what_another_has() -> None:
    limiter = RateLimiter(AccessConfig(requests_per_sec=1.0, burst=1), HandClock())

    assert [limiter.admit(name) for name in ("a", "b", "a")] == [0.0, 0.0, 1.0]


def test_a_bucket_never_holds_more_than_a_burst() -> None:
    clock = HandClock()
    limiter = RateLimiter(AccessConfig(requests_per_sec=100.0, burst=2), clock)
    limiter.admit("a")

    clock.seconds += 3600

    assert [limiter.admit("a") > 0 for _ in range(3)] == [False, False, True]


def test_no_rate_is_no_limit() -> None:
    limiter = RateLimiter(AccessConfig(requests_per_sec=0.0), HandClock())

    assert not any(limiter.admit("a") for _ in range(1_000))


def test_a_crowd_of_callers_costs_bounded_memory() -> None:
    limiter = RateLimiter(AccessConfig(), HandClock())

    for number in range(10_050):
        limiter.admit(str(number))

    assert len(limiter._buckets) == 10_000
