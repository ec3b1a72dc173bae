"""`make bench-mill`: what a poll costs the whole mill, everything persisted, against lemon24's reader.

The publisher is a process of its own on the second core, on 254 loopback addresses; the mill is
pinned to the first. A pass makes every feed due and polls it: claim, request, verdict, raw bytes,
reading, decision, commit, metrics. The two contenders take turns on the same publisher, and what
is compared is the CPU time of their processes, so that neighbours on the machine do not decide.

    python -m benchmarks.mill [--quick] [--json] [--check] [--only a,c]

Per second of the core means: of the time that the core was not working for other programs.
Everything talks to loopback only and stops by itself.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Final

import msgspec
import trustme
from benchmarks.contestants import HOSTS, Contestant, Publisher, mill, rival

Figures = dict[str, float]

_NOTE: Final = "the publisher shares the two cores with both mills"


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much is polled."""

    feeds: int
    fresh_feeds: int
    rival_feeds: int
    rival_fresh_feeds: int
    tls_feeds: int
    passes: int
    stores: tuple[int, ...]


FULL: Final = Size(
    feeds=4_000, fresh_feeds=800, rival_feeds=600, rival_fresh_feeds=60, tls_feeds=1_000, passes=5,
    stores=(1_000, 10_000, 100_000),
)  # fmt: skip
QUICK: Final = Size(
    feeds=1_000, fresh_feeds=200, rival_feeds=200, rival_fresh_feeds=20, tls_feeds=300, passes=2,
    stores=(1_000, 10_000),
)  # fmt: skip


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of the table, and the promise it is held to, if there is one."""

    what: str
    figure: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of its limit."""
        low = self.at_least is None or self.figure >= self.at_least
        return low and (self.at_most is None or self.figure <= self.at_most)


def main() -> None:
    options = _options()
    size = QUICK if options.quick else FULL
    lines: list[Line] = []
    for letter, scenario in _SCENARIOS.items():
        if not options.only or letter in options.only.split(","):
            found = scenario(size)
            lines += found
            if not options.json:
                _print(found)
    if options.json:
        print(json.dumps([msgspec.to_builtins(line) | {"met": line.met} for line in lines]))
    if options.check and not all(line.met for line in lines):
        sys.exit(1)


def unchanged(size: Size) -> list[Line]:
    """(a) All answers are 304."""
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "0"))
        ours = _ready(stack, mill(_home(stack)), publisher.urls(size.feeds))
        theirs = _ready(stack, rival(_home(stack)), publisher.urls(size.rival_feeds))
        mine, others = _take_turns((ours, theirs), size.passes)
    return [*_speed("304s, http kept alive", mine), _ratio("304s", mine, others, 6.0)]


def mixed(size: Size) -> list[Line]:
    """(b) One answer in twenty is a 200 with a new entry."""
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "20"))
        ours = _ready(stack, mill(_home(stack)), publisher.urls(size.feeds))
        (mine,) = _take_turns((ours,), 2 * size.passes)
    return _speed("5 % 200s, http kept alive", mine, at_least=2_000)


def fresh(size: Size) -> list[Line]:
    """(c) All answers are 200s with 30 entries, one of them new each time."""
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "1"))
        ours = _ready(stack, mill(_home(stack)), publisher.urls(size.fresh_feeds))
        # Feeds of its own: a feed gains an entry with every request, whoever asks.
        urls = publisher.urls(size.rival_fresh_feeds, first=1_000_000)
        theirs = _ready(stack, rival(_home(stack)), urls)
        mine, others = _take_turns((ours, theirs), size.passes)
    return [*_speed("200s with 30 entries", mine), _ratio("200s", mine, others, 10.0)]


def encrypted(size: Size) -> list[Line]:
    """(d) https, a connection for each request, sessions resumed."""
    with ExitStack() as stack:
        folder = Path(_home(stack))
        authority = _certificates(folder)
        cert = str(folder / "server.pem")
        publisher = stack.enter_context(
            Publisher("--fresh-every", "20", "--close", "--cert", cert, scheme="https")
        )
        ours = mill(_home(stack), ca_file=authority)
        _ready(stack, ours, publisher.urls(size.tls_feeds))
        (mine,) = _take_turns((ours,), size.passes)
    return _speed("https, a connection each", mine, at_least=400)


def doubled(size: Size) -> list[Line]:
    """(e) One and two processes on one home folder."""
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "20"))
        home = _home(stack)
        first = _ready(stack, mill(home), publisher.urls(size.feeds))
        second = stack.enter_context(mill(home, core=1))
        alone, together = [], []
        for _ in range(2 * size.passes):
            alone.append(first.ask("work"))
            first.ask("due")
            together.append(_both(first, second))
    by_wall = _best_rate(together, "wall") / _best_rate(alone, "wall")
    each = _best_rate(together, "cpu") / _best_rate(alone, "cpu")
    return [
        Line(what="two processes: polls/s against one", figure=by_wall, unit="×", note=_NOTE),
        Line(
            what="two processes: 2 × CPU cost of one poll alone / together",
            figure=2 * each,
            unit="×",
            at_least=1.7,
        ),
    ]


def grown(size: Size) -> list[Line]:
    """(f) What a poll costs with more and more feeds in the store."""
    costs: dict[int, float] = {}
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "20"))
        ours = {}
        for feeds in size.stores:
            polled = min(2_000, feeds // 2)
            ours[feeds] = _ready(stack, mill(_home(stack)), publisher.urls(polled))
            ours[feeds].ask("fill", count=feeds - polled)
        turns = _take_turns(tuple(ours.values()), size.passes)
        costs = {feeds: 1e6 / _best_rate(turn) for feeds, turn in zip(ours, turns, strict=True)}
    smallest, largest = costs[size.stores[0]], costs[size.stores[-1]]
    lines = [
        Line(what=f"{feeds:,} feeds in the store", figure=cost, unit="µs a poll")
        for feeds, cost in costs.items()
    ]
    what = f"cost of a poll with {size.stores[-1]:,} feeds against {size.stores[0]:,}"
    return [*lines, Line(what=what, figure=largest / smallest, unit="×", at_most=1.25)]


def traced(size: Size) -> list[Line]:
    """(g) Traces at their default ratio of 1 %, against traces that are off."""
    with ExitStack() as stack:
        collector = stack.enter_context(_collector())
        publisher = stack.enter_context(Publisher("--fresh-every", "20"))
        ours = mill(_home(stack), otlp_endpoint=collector)
        _ready(stack, ours, publisher.urls(size.feeds))
        pairs = [_traced_and_not(ours, first=at % 2 == 0) for at in range(16 * size.passes)]
    ratio = median(off["cpu"] / off["polls"] * on["polls"] / on["cpu"] for on, off in pairs)
    what = "traces of 1 %: polls per CPU-second against off"
    without = [off for _, off in pairs]
    return [*_speed("traces off", without), Line(what=what, figure=ratio, unit="×", at_least=0.97)]


def _traced_and_not(contestant: Contestant, *, first: bool) -> tuple[Figures, Figures]:
    """A pass with traces and one without, in turns the one or the other first."""
    found: dict[bool, Figures] = {}
    for on in (first, not first):
        contestant.ask("trace", on=on)
        found[on] = contestant.ask("work")
    return found[True], found[False]


@contextmanager
def _collector() -> Iterator[str]:
    """An OTLP collector that drops what it is given, on the second core with the publisher."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _ready(stack: ExitStack, contestant: Contestant, urls: Sequence[str]) -> Contestant:
    """Subscribed and warm: the first poll of every feed is behind it."""
    stack.enter_context(contestant)
    contestant.ask("subscribe", urls=urls)
    contestant.ask("work")
    return contestant


def _take_turns(contestants: Sequence[Contestant], passes: int) -> list[list[Figures]]:
    found: list[list[Figures]] = [[] for _ in contestants]
    for _ in range(passes):
        for contestant, figures in zip(contestants, found, strict=True):
            figures.append(contestant.ask("work"))
    return found


def _both(first: Contestant, second: Contestant) -> Figures:
    """Both at once on what is due; they share it by leases."""
    for one in (first, second):
        one.tell("work", due=False)
    answers = [one.hear() for one in (first, second)]
    return {
        "polls": sum(answer["polls"] for answer in answers),
        "cpu": sum(answer["cpu"] for answer in answers),
        "wall": max(answer["wall"] for answer in answers),
        "others": 0.0,
    }


def _speed(what: str, passes: Sequence[Figures], at_least: float | None = None) -> list[Line]:
    wall = median(one["polls"] / one["wall"] for one in passes)
    free = median(one["polls"] / (one["wall"] - one["others"]) for one in passes)
    cpu = median(one["polls"] / one["cpu"] for one in passes)
    return [
        Line(what=f"{what}: by the wall clock", figure=wall, unit="polls/s"),
        Line(
            what=f"{what}: per second of the core", figure=free, unit="polls/s", at_least=at_least
        ),
        Line(what=f"{what}: per CPU-second", figure=cpu, unit="polls"),
    ]


def _ratio(what: str, ours: Sequence[Figures], theirs: Sequence[Figures], at_least: float) -> Line:
    mine = median(one["polls"] / one["cpu"] for one in ours)
    others = median(one["polls"] / one["cpu"] for one in theirs)
    note = f"reader {others:,.0f} polls per CPU-second"
    return Line(
        what=f"{what}: polls per CPU-second against reader",
        figure=mine / others,
        unit="×",
        at_least=at_least,
        note=note,
    )


def _best_rate(passes: Sequence[Figures], by: str = "cpu") -> float:
    """The quickest pass: what disturbs a pass only ever makes it slower."""
    return max(one["polls"] / one[by] for one in passes)


def _home(stack: ExitStack) -> str:
    return stack.enter_context(tempfile.TemporaryDirectory(prefix="feedmill-bench-"))


def _certificates(folder: Path) -> str:
    authority = trustme.CA()
    leaf = authority.issue_cert(*[f"127.0.1.{number + 1}" for number in range(HOSTS)])
    leaf.private_key_and_cert_chain_pem.write_to_path(str(folder / "server.pem"))
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    return str(folder / "ca.pem")


def _print(lines: Sequence[Line]) -> None:
    for line in lines:
        figure = f"{line.figure:,.2f}" if line.figure < 100 else f"{line.figure:,.0f}"
        verdict = ""
        if line.at_least is not None:
            verdict = f"≥ {line.at_least:g}: {'met' if line.met else 'MISSED'}"
        elif line.at_most is not None:
            verdict = f"≤ {line.at_most:g}: {'met' if line.met else 'MISSED'}"
        note = f"({line.note})" if line.note else ""
        print(f"{line.what:66} {figure:>9} {line.unit:10} {verdict:16} {note}".rstrip(), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a poll costs the whole mill")
    parser.add_argument("--quick", action="store_true", help="fewer feeds and passes")
    parser.add_argument("--json", action="store_true", help="one JSON list instead of the table")
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise is missed")
    parser.add_argument("--only", default="", help=f"of {','.join(_SCENARIOS)}")
    return parser.parse_args()


_SCENARIOS: Final[dict[str, Callable[[Size], list[Line]]]] = {
    "a": unchanged,
    "b": mixed,
    "c": fresh,
    "d": encrypted,
    "e": doubled,
    "f": grown,
    "g": traced,
}

if __name__ == "__main__":
    main()
