"""`make bench-mill`: what a poll costs the whole mill, everything persisted, against lemon24's reader.

The publisher is a process of its own on the second core; the mill is pinned to the first. A pass makes
every feed due and polls it: claim, request, verdict, raw bytes, reading, decision, commit, metrics. The
contenders take turns on the same publisher, and what is compared is the CPU time of their processes, so
that neighbours on the machine do not decide. `_SCENARIOS` is the table of what is measured; the disk
figures are those of a pass of their own, and of the first poll of every feed.

    python -m benchmarks.mill [--quick] [--json] [--check] [--only 304,trickle] [--pages] [--base REVISION]

With `--base` another commit of this repository takes turns with the working tree in every scenario: `make
bench-compare BASE=rev`. Everything talks to loopback only and stops by itself.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any, Final

import msgspec
import trustme
from benchmarks.contestants import HOSTS, Contestant, Publisher, mill, rival
from benchmarks.footprint import server_cpu_sec
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer

Figures = dict[str, float]

_QUICK: Final = 4  # times fewer feeds
_FILLED: Final = 20_000  # sleeping feeds a command


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table: what is polled, and what it may cost at most or bring at least."""

    what: str
    feeds: int
    hosts: int = HOSTS
    fresh_every: int = 0  # one answer in so many is a 200 with a new entry; 0: all are 304
    stored: int = 0  # feeds in the store, most of them asleep
    one_at_a_time: bool = False
    https: bool = False  # each request on a connection of its own
    postgres: bool = False
    rival_feeds: int = 0
    passes: int = 5
    at_least: Mapping[str, float] = {}
    at_most: Mapping[str, float] = {}


_SCENARIOS: Final = {
    "304": Scenario(
        what="304s, busy", feeds=4_000, rival_feeds=600,
        at_least={"polls per CPU-second": 4_500, "× reader": 8}, at_most={"WAL bytes": 3_000, "bytes kept": 350},
    ),
    "mixed": Scenario(
        what="5 % 200s, busy", feeds=4_000, fresh_every=20, passes=10, at_least={"polls per CPU-second": 2_600}
    ),
    "200": Scenario(
        what="200s, one new entry of 30", feeds=800, fresh_every=1, rival_feeds=60,
        at_least={"polls per CPU-second": 480, "× reader": 14}, at_most={"bytes kept at first": 100_000},
    ),
    "trickle": Scenario(
        what="304s, one poll at a time", feeds=1_000, hosts=1_000, stored=4_000, one_at_a_time=True,
        at_most={"WAL bytes": 12_000},
    ),
    "hosts": Scenario(what="304s, 20,000 hosts", feeds=20_000, hosts=20_000, passes=3),
    "https": Scenario(
        what="https, a resumed connection each", feeds=1_000, fresh_every=20, https=True,
        at_least={"polls per second of the core": 400},
    ),
    "1k": Scenario(what="5 % 200s, 1,000 feeds stored", feeds=500, fresh_every=20, stored=1_000, passes=20),
    "100k": Scenario(what="5 % 200s, 100,000 feeds stored", feeds=500, fresh_every=20, stored=100_000, passes=20),
    "1m": Scenario(what="5 % 200s, 1,000,000 feeds stored", feeds=500, fresh_every=20, stored=1_000_000, passes=20),
    "postgres": Scenario(what="5 % 200s, PostgreSQL", feeds=2_000, fresh_every=20, postgres=True),
    "postgres-304": Scenario(what="304s, PostgreSQL", feeds=2_000, postgres=True),
}  # fmt: skip
_APART: Final = ("1m", "two", "traces", "stored")  # only when they are asked for


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
    chosen = options.only.split(",") if options.only else [n for n in _SCENARIOS if n not in _APART]
    lines: list[Line] = []
    with ExitStack() as stack:
        base = None if options.base is None else stack.enter_context(_checkout(options.base))
        for name in chosen:
            found = _lines_of(name, quick=options.quick, base=base, pages=options.pages)
            lines += found
            if not options.json:
                _print(found)
    if options.json:
        print(json.dumps([msgspec.to_builtins(line) | {"met": line.met} for line in lines]))
    if options.check and not all(line.met for line in lines):
        sys.exit(1)


def _lines_of(name: str, *, quick: bool, base: str | None, pages: bool) -> list[Line]:
    if name == "two":
        return doubled(4_000 // (_QUICK if quick else 1))
    if name == "traces":
        return traced(4_000 // (_QUICK if quick else 1))
    if name == "stored":
        return grown(10 if quick else 40)
    one = _SCENARIOS[name]
    if quick:
        one = msgspec.structs.replace(
            one,
            feeds=one.feeds // _QUICK,
            hosts=min(one.hosts, max(HOSTS, one.feeds // _QUICK)),
            rival_feeds=one.rival_feeds // 3,
            passes=max(2, one.passes // 2),
        )
    return measure(one, base, show_pages=pages)


def measure(one: Scenario, base: str | None = None, *, show_pages: bool = False) -> list[Line]:
    """Run a scenario; the working tree, another commit and reader take turns."""
    with ExitStack() as stack:
        publisher, ca_file = _publisher(stack, one)
        ours = _mill(stack, one, ca_file, None)
        mills = [ours, *([] if base is None else [_mill(stack, one, ca_file, base)])]
        firsts = []
        for number, each in enumerate(mills):
            # Feeds of its own: a feed gains an entry with every request, whoever asks.
            urls = publisher.urls(one.feeds, first=number * 1_000_000, hosts=one.hosts)
            firsts.append(_begin(each, urls, one.stored))
        contenders: list[Contestant] = [each.contestant for each in mills]
        if one.rival_feeds:
            theirs = stack.enter_context(rival(_home(stack)))
            theirs.ask("subscribe", urls=publisher.urls(one.rival_feeds, first=9_000_000))
            theirs.ask("work")
            contenders.append(theirs)
        servers = [each.server for each in mills]
        turns = _take_turns(contenders, one.passes, servers)
        weighed = [each.contestant.ask("work", weighed=True) for each in mills]
    if show_pages:
        _print_pages(one, weighed[0])
    found = [_summary(*each) for each in zip(turns, firsts, weighed, strict=False)]
    if one.rival_feeds:
        others = median(turn["polls"] / turn["cpu"] for turn in turns[-1])
        found[0]["× reader"] = found[0]["polls per CPU-second"] / others
    return _table(one, found)


def _summary(passes: Sequence[Figures], first: Figures, weighed: Figures) -> Figures:
    """The figures of one mill, each per poll."""
    cpu = [turn["cpu"] / turn["polls"] for turn in passes]
    server = [turn["server"] / turn["polls"] for turn in passes if "server" in turn]
    return {
        "polls per CPU-second": 1 / median(cpu),
        "µs of CPU": 1e6 * median(cpu),
        "µs of CPU, least": 1e6 * min(cpu),
        **({"µs of CPU of the server": 1e6 * median(server)} if server else {}),
        "polls per second of the core": median(
            turn["polls"] / (turn["wall"] - turn["others"]) for turn in passes
        ),
        "WAL bytes": weighed["wal"] / weighed["polls"],
        "bytes kept": weighed["kept"] / weighed["polls"],
        "WAL bytes at first": first["wal"] / first["polls"],
        "bytes kept at first": first["kept"] / first["polls"],
    }


def _table(one: Scenario, found: Sequence[Figures]) -> list[Line]:
    """A line for each figure; beside another commit, what it was there."""
    lines = []
    for unit, figure in found[0].items():
        base = found[1].get(unit) if len(found) > 1 else None
        note = "" if not base else f"{base:,.0f} before: {figure / base:.3f} ×"
        low, high = one.at_least.get(unit), one.at_most.get(unit)
        line = Line(what=one.what, figure=figure, unit=unit, at_least=low, at_most=high, note=note)
        lines.append(line)
    return lines


class _Mill(msgspec.Struct, frozen=True):
    contestant: Contestant
    server: PostgresServer | None


def _mill(stack: ExitStack, one: Scenario, ca_file: str | None, base: str | None) -> _Mill:
    server = stack.enter_context(PostgresServer()) if one.postgres else None
    url = None if server is None else migrated_database(server)
    if base is not None and server is not None:
        message = "another commit is compared on SQLite only: the database is migrated by this tree"
        raise SystemExit(message)
    further = {"concurrency": 1} if one.one_at_a_time else {}
    made = mill(_home(stack), ca_file=ca_file, source=base, url=url, **further)
    return _Mill(stack.enter_context(made), server)


def _begin(each: _Mill, urls: Sequence[str], stored: int) -> Figures:
    """Subscribe, and poll every feed for the first time; what that cost."""
    for first in range(0, max(0, stored - len(urls)), _FILLED):
        count = min(_FILLED, stored - len(urls) - first)
        each.contestant.ask("fill", count=count, first=first)
    each.contestant.ask("subscribe", urls=urls)
    return each.contestant.ask("work", weighed=True)


def _publisher(stack: ExitStack, one: Scenario) -> tuple[Publisher, str | None]:
    arguments, ca_file = ["--fresh-every", str(one.fresh_every)], None
    if one.https:
        folder = Path(_home(stack))
        ca_file = _certificates(folder)
        arguments += ["--close", "--cert", str(folder / "server.pem")]
    scheme = "https" if one.https else "http"
    made = Publisher(*arguments, scheme=scheme, hosts=one.hosts)
    return stack.enter_context(made), ca_file


def doubled(feeds: int) -> list[Line]:
    """One and two processes on one home folder."""
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "20"))
        home = _home(stack)
        first = stack.enter_context(mill(home))
        _begin(_Mill(first, None), publisher.urls(feeds), 0)
        second = stack.enter_context(mill(home, core=1))
        alone, together = [], []
        for _ in range(10):
            alone.append(first.ask("work"))
            first.ask("due")
            together.append(_both(first, second))
    by_wall = _best_rate(together, "wall") / _best_rate(alone, "wall")
    each = _best_rate(together, "cpu") / _best_rate(alone, "cpu")
    note = "the publisher shares the two cores with both mills"
    return [
        Line(what="two processes: polls/s against one", figure=by_wall, unit="×", note=note),
        Line(
            what="two processes: 2 × CPU cost of one poll alone / together",
            figure=2 * each,
            unit="×",
            at_least=1.7,
        ),
    ]


def traced(feeds: int) -> list[Line]:
    """Traces at their default ratio of 1 %, against traces that are off."""
    with ExitStack() as stack:
        collector = stack.enter_context(_collector())
        publisher = stack.enter_context(Publisher("--fresh-every", "20"))
        ours = stack.enter_context(mill(_home(stack), otlp_endpoint=collector))
        _begin(_Mill(ours, None), publisher.urls(feeds), 0)
        pairs = [_traced_and_not(ours, first=at % 2 == 0) for at in range(64)]
    ratio = median(off["cpu"] / off["polls"] * on["polls"] / on["cpu"] for on, off in pairs)
    what = "traces of 1 %: polls per CPU-second against off"
    return [Line(what=what, figure=ratio, unit="×", at_least=0.97)]


def grown(passes: int) -> list[Line]:
    """A store of 1,000 feeds and one of 100,000, in turns: the same 500 are polled."""
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "20"))
        mills = [_Mill(stack.enter_context(mill(_home(stack))), None) for _ in range(2)]
        for number, (each, stored) in enumerate(zip(mills, (1_000, 100_000), strict=True)):
            _begin(each, publisher.urls(500, first=number * 1_000_000), stored)
        turns = _take_turns([each.contestant for each in mills], passes)
    few, many = ([turn["cpu"] / turn["polls"] for turn in each] for each in turns)
    what = "5 % 200s, 100,000 feeds stored against 1,000"
    note = f"{median(few) * 1e6:,.0f} and {median(many) * 1e6:,.0f} µs of CPU"
    ratio, least = median(many) / median(few), min(many) / min(few)
    return [
        Line(what=what, figure=ratio, unit="×", at_most=1.25, note=note),
        Line(what=f"{what}, least", figure=least, unit="×"),
    ]


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


@contextmanager
def _checkout(revision: str) -> Iterator[str]:
    """The source of another commit, in a worktree that goes again."""
    with tempfile.TemporaryDirectory(prefix="feedmill-base-") as folder:
        tree = f"{folder}/tree"
        git = ["git", "-C", str(Path(__file__).parents[1]), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], check=True)
        try:
            yield f"{tree}/src"
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)


def _take_turns(
    contestants: Sequence[Contestant], passes: int, servers: Sequence[PostgresServer | None] = ()
) -> list[list[Figures]]:
    found: list[list[Figures]] = [[] for _ in contestants]
    for number in range(passes):
        order = list(enumerate(contestants))
        for at, contestant in order if number % 2 == 0 else order[::-1]:
            server = servers[at] if at < len(servers) else None
            before = 0.0 if server is None else server_cpu_sec(server)
            figures = contestant.ask("work")
            if server is not None:
                figures["server"] = server_cpu_sec(server) - before
            found[at].append(figures)
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
        print(f"{line.what:36} {figure:>9} {line.unit:29} {verdict:16} {note}".rstrip(), flush=True)


def _print_pages(one: Scenario, weighed: Mapping[str, Any]) -> None:
    """The pages of each table and index in the log, per poll, on standard error."""
    for name, count in sorted(weighed["pages"].items(), key=lambda each: -each[1]):
        print(f"{one.what:36} {count / weighed['polls']:9.2f} pages of {name}", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a poll costs the whole mill")
    parser.add_argument("--quick", action="store_true", help="fewer feeds and passes")
    parser.add_argument("--json", action="store_true", help="one JSON list instead of the table")
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise is missed")
    parser.add_argument(
        "--pages", action="store_true", help="what the log of a poll holds, by table"
    )
    parser.add_argument("--base", metavar="REVISION", help="a commit that takes turns with this")
    names = ",".join([*_SCENARIOS, *_APART[1:]])
    parser.add_argument("--only", default="", help=f"of {names}")
    return parser.parse_args()


if __name__ == "__main__":
    main()
