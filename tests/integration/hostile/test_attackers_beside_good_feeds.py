"""As many hostile feeds as good ones in one process: the good ones are polled as if alone (F10)."""

from collections import Counter, defaultdict
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

FIRST_INTERVAL_SEC, LAST_INTERVAL_SEC = 2, 4
LEASE_SEC = 300  # minutes: a busy machine keeps a fetch of five seconds within it
MAX_MEGABYTES = 512
SETTINGS = {
    "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.1.0/24",  # the canary at 127.0.0.1 is out of reach
    "SCHED_MIN_INTERVAL_SEC": str(FIRST_INTERVAL_SEC),
    "FEEDMILL_SCHEDULE_INITIAL_INTERVAL_SEC": str(FIRST_INTERVAL_SEC),
    "SCHED_MAX_INTERVAL_SEC": str(LAST_INTERVAL_SEC),
    "FEEDMILL_SCHEDULE_BACKOFF_CAP_SEC": str(LAST_INTERVAL_SEC),
    "FEEDMILL_HOST_INCIDENT_BASE_SEC": "1",
    "FEEDMILL_HOST_INCIDENT_CAP_SEC": "2",
    "FETCH_TIMEOUT_MS": "5000",
    "FEEDMILL_FETCH_CONNECT_TIMEOUT_MS": "4000",
    "FEEDMILL_FETCH_READ_TIMEOUT_MS": "4000",
    "FEEDMILL_RUN_LEASE_SEC": str(LEASE_SEC),
    "FEEDMILL_RUN_CONCURRENCY": "32",
    "FEEDMILL_RUN_IDLE_SEC": "0.1",
    "FEEDMILL_LOG": "error",
}

# How those attacks end that can end in one way only: each time, or in a timeout where the machine
# is too busy for the rest.
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


async def test_good_feeds_are_polled_as_often_as_each_other_beside_attackers(
    tmp_path: Path,
) -> None:
    attackers, press = Attackers(tmp_path), Press(66, 66)
    mill, ledger = Mill(tmp_path / "home", **SETTINGS), Ledger(tmp_path / "home")
    mix = Mix(attackers, press)
    async with Publisher(mix, addresses=FIRST_HOST + 70, record=0):
        attacks = attackers.addresses
        assert abs(len(attacks) - len(press.feeds)) <= 5  # one to one
        await mill.subscribe([*press.addresses, *attacks.values()])

        async with await mill.start() as running:
            await wait_until(lambda: has_met_all(ledger, press, attacks), "every attack")
            peak = megabytes(running.process.pid)
            await wait_until(lambda: ledger.has(press), "every good item")
            assert await running.stop() == 0

    ledger.check(press)
    assert ledger.leases(running.process.pid) == 0
    check_good_feeds(ledger, press)
    check_attacks(ledger, attacks)
    assert attackers.canaries == 0
    assert not ledger.rows(
        f"SELECT title FROM entries WHERE title || summary || content LIKE '%{CANARY_TEXT}%'"
    )
    assert not mill.said("unexpected error")
    assert peak < MAX_MEGABYTES, f"{peak:.0f} MB"


def has_met_all(ledger: Ledger, press: Press, attacks: dict[str, str]) -> bool:
    """Good feeds were polled three times, attacks struck and ended as they have to."""
    press.publish_next()
    outcomes = outcomes_by_url(ledger)
    return (
        min(len(outcomes[url]) for url in press.addresses) >= 3
        and min(len(outcomes[url]) for url in attacks.values()) >= 1
        and all(reason in outcomes[attacks[name]] for name, reason in REASONS.items())
    )


def check_good_feeds(ledger: Ledger, press: Press) -> None:
    """None was ever charged a failure, and none waited while another had many turns.

    Time is not measured: between two polls of one feed the machine's other work delays all alike.
    """
    good = set(press.addresses)
    polls = [
        url
        for (url, outcome) in ledger.rows(FETCHES)
        if url in good and outcome in ("fresh", "unchanged", "same-body")
    ]
    assert len(polls) == sum(len(outcomes_by_url(ledger)[url]) for url in good)
    places = defaultdict[str, list[int]](list)
    for place, url in enumerate(polls):
        places[url].append(place)
    for url in good:
        for earlier, later in pairwise(places[url]):
            ((_, turns),) = Counter(polls[earlier + 1 : later]).most_common(1) or [("", 0)]
            assert turns <= 2 * LAST_INTERVAL_SEC / FIRST_INTERVAL_SEC, url


def check_attacks(ledger: Ledger, attacks: dict[str, str]) -> None:
    """Each ended with its reason whenever it was met, and no fetch outlasted the lease."""
    outcomes = outcomes_by_url(ledger)
    for name, reason in REASONS.items():
        assert set(outcomes[attacks[name]]) <= {reason, "timeout"}, name
    for name in ("endless-chunks", "endless-body"):
        assert set(outcomes[attacks[name]]) <= {"too-large", "timeout"}, name
    assert ledger.number("SELECT max(elapsed_ms) FROM fetches") < LEASE_SEC * 1000


FETCHES = (
    "SELECT f.url, x.outcome FROM fetches x JOIN feeds f USING (feed_no) ORDER BY x.fetched_at"
)


def outcomes_by_url(ledger: Ledger) -> dict[str, list[str]]:
    """How each poll of each feed ended, in order."""
    found = defaultdict[str, list[str]](list)
    for url, outcome in ledger.rows(FETCHES):
        found[url].append(outcome)
    return found


def megabytes(pid: int) -> float:
    """The most memory that the process ever had."""
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
