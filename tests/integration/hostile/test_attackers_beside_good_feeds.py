"""Attackers and good feeds, one to one, under one mill: the good ones do not notice (F10)."""

import asyncio
from itertools import pairwise
from pathlib import Path

from tests.support.attacking_publisher import CANARY_TEXT, FIRST_HOST, Attackers
from tests.support.living_feeds_publisher import Press
from tests.support.run_process import Mill
from tests.support.store_ledger import Ledger
from tests.support.waiting import wait_until

from feedmill_demo.server.script import Answer, Request
from feedmill_demo.server.server import Publisher
from feedmill_demo.server.site import Site

INTERVAL_SEC = 4
LEASE_SEC = 8
MAX_MEGABYTES = 512
SETTINGS = {
    "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.1.0/24",  # the canary at 127.0.0.1 is out of reach
    "SCHED_MIN_INTERVAL_SEC": "2",
    "FEEDMILL_SCHEDULE_INITIAL_INTERVAL_SEC": "2",
    "SCHED_MAX_INTERVAL_SEC": str(INTERVAL_SEC),
    "FEEDMILL_SCHEDULE_BACKOFF_CAP_SEC": str(INTERVAL_SEC),
    "FEEDMILL_HOST_INCIDENT_BASE_SEC": "1",
    "FEEDMILL_HOST_INCIDENT_CAP_SEC": "2",
    "FETCH_TIMEOUT_MS": "3000",
    "FEEDMILL_FETCH_CONNECT_TIMEOUT_MS": "2000",
    "FEEDMILL_FETCH_READ_TIMEOUT_MS": "2000",
    "FEEDMILL_RUN_LEASE_SEC": str(LEASE_SEC),
    "FEEDMILL_RUN_CONCURRENCY": "32",
    "FEEDMILL_RUN_IDLE_SEC": "0.1",
    "FEEDMILL_LOG": "error",
}

# What becomes of those attacks that must end in one way only.
REASONS = {
    "bomb-gzip": "too-large",
    "bomb-gzip-twice": "too-large",
    "bomb-deflate": "too-large",
    "bomb-br": "too-large",
    "bomb-zstd": "too-large",
    "broken-gzip": "truncated",
    "length-too-long": "truncated",
    "length-absurd": "protocol-error",
    "two-lengths": "protocol-error",
    "no-http": "protocol-error",
    "many-headers": "headers-too-large",
    "huge-header": "headers-too-large",
    "endless-head": "headers-too-large",
    "to-private": "private-address",
    "to-metadata": "private-address",
    "to-canary": "private-address",
    "to-mapped": "private-address",
    "to-file": "scheme",
    "to-ftp": "scheme",
    "to-gopher": "scheme",
    "to-data": "scheme",
    "redirect-loop": "redirect-loop",
    "redirect-chain": "too-many-redirects",
    "reset": "connection-failed",
    "hang-up": "connection-failed",
    "reset-in-body": "truncated",
    "cut-in-body": "truncated",
    "stall-in-body": "timeout",
    "drip": "timeout",
    "drip-head": "timeout",
    "black-hole": "timeout",
}


class Mix(Site):
    """The attackers and the good feeds behind one publisher."""

    def __init__(self, attackers: Attackers, press: Press) -> None:
        self.attackers, self.press = attackers, press

    def opened(self, origin: str) -> None:
        self.attackers.opened(origin)
        self.press.opened(origin)

    def answer(self, request: Request) -> Answer | None:
        return self.attackers.answer(request) or self.press.answer(request)


def test_good_feeds_stay_fresh_whatever_the_others_send(tmp_path: Path) -> None:
    async def story() -> None:
        attackers, press = Attackers(tmp_path), Press(66, 66)
        mill, ledger = Mill(tmp_path / "home", **SETTINGS), Ledger(tmp_path / "home")
        mix = Mix(attackers, press)
        async with Publisher(mix, addresses=FIRST_HOST + 70, record=0, patience_sec=5):
            attacks = attackers.addresses
            assert abs(len(attacks) - len(press.feeds)) <= 5  # one to one
            await mill.subscribe([*press.addresses, *attacks.values()])

            async with await mill.start() as running:
                await wait_until(lambda: has_turned(ledger, press, attacks), "enough turns")
                peak = megabytes(running.process.pid)
                await wait_until(lambda: ledger.has(press), "every good item")
                assert await running.stop() == 0

        ledger.check(press)
        assert ledger.leases(running.process.pid) == 0
        check_fresh(ledger, press)
        check_attacks(ledger, attacks)
        assert attackers.canaries == 0
        assert not ledger.rows(
            f"SELECT title FROM entries WHERE title || summary || content LIKE '%{CANARY_TEXT}%'"
        )
        assert not mill.said("surprised")
        assert peak < MAX_MEGABYTES, f"{peak:.0f} MB"

    asyncio.run(story())


def has_turned(ledger: Ledger, press: Press, attacks: dict[str, str]) -> bool:
    """Every good feed was polled five times, every attack has struck twice; a little news too."""
    press.publish_next()
    turns = dict(
        ledger.rows(
            "SELECT f.url, count(*) FROM fetches x JOIN feeds f USING (feed_no) GROUP BY f.feed_no"
        )
    )
    good = min(turns.get(url, 0) for url in press.addresses)
    return bool(good >= 5 and min(turns.get(url, 0) for url in attacks.values()) >= 2)


def check_fresh(ledger: Ledger, press: Press) -> None:
    """No good feed was left alone for twice its interval, and none was ever charged a failure."""
    for url in press.addresses:
        rows = ledger.rows(
            "SELECT x.fetched_at, x.outcome FROM fetches x JOIN feeds f USING (feed_no)"
            f" WHERE f.url = '{url}' ORDER BY x.fetched_at"
        )
        assert {outcome for _, outcome in rows} <= {"fresh", "unchanged", "same-body"}
        waits = [(later - earlier) / 1e6 for (earlier, _), (later, _) in pairwise(rows)]
        assert max(waits) <= 2 * INTERVAL_SEC


def check_attacks(ledger: Ledger, attacks: dict[str, str]) -> None:
    """Each has its reason, and none of their fetches outlasted a lease."""
    found = {
        url: (outcome, longest)
        for url, outcome, longest in ledger.rows(
            "SELECT f.url, f.last_result, max(x.elapsed_ms) FROM fetches x"
            " JOIN feeds f USING (feed_no) GROUP BY f.feed_no"
        )
    }
    ended = {name: found[url][0] for name, url in attacks.items()}
    assert all(ended.values())
    assert {name: ended[name] for name in REASONS} == REASONS
    assert {ended["endless-chunks"], ended["endless-body"]} <= {"too-large", "timeout"}
    assert max(longest for _, longest in found.values()) < LEASE_SEC * 1000


def megabytes(pid: int) -> float:
    """The most memory that the process ever had."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
