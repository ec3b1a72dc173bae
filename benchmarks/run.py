"""`make bench`: how fast feedmill is, as ratios in one run on one core.

Absolute figures move by a quarter between runs on a shared machine; ratios of contenders that
took turns on the same document do not. Every figure is CPU time of this process: the median of
the repetitions per document, summed over the documents that both sides could read.

    python -m benchmarks.run [--quick] [--json] [--check]
    FEEDMILL_CORPUS=folder python -m benchmarks.run      # real documents too

With a corpus, the ratios of the generated documents are printed beside those of the real ones: they
should predict them within 15 %.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from benchmarks.contenders import (
    BARE,
    DEFAULT,
    EVERYBODY,
    FAST,
    FLOOR,
    FULL,
    KNOWN,
    PARSE,
    STEADY,
    Contender,
    Task,
    prepare,
)
from benchmarks.documents import Document, generate, generate_entries, load

from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.normalise.entry import normalise
from feedmill.parse.document import parse_document

_NORMALISE_ENTRIES: Final = 50
Times = dict[str, dict[str, float]]  # contender -> document -> median seconds


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """Something the project promised, and the figure that was measured."""

    promise: str
    figure: float
    limit: float
    at_least: bool
    unit: str = "×"

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of the limit."""
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured on one set of documents."""

    name: str
    tasks: list[Task]
    times: Times
    bars: list[Bar]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and with --check fail when a promise is not kept."""
    options = _options(arguments)
    _take_one_core()
    results = [
        _result(name, documents, 5 if options.quick else 9)
        for name, documents in _documents(24 if options.quick else 96)
    ]
    if options.json:
        print(json.dumps({one.name: _report(one) for one in results}, indent=1))
    else:
        for one in results:
            _print_table(one)
            _print_bars(one.bars)
        if len(results) > 1:
            _print_prediction(*results)
    met = all(bar.met for one in results for bar in one.bars)
    return 1 if options.check and not met else 0


def _result(name: str, documents: list[Document], repetitions: int) -> "Result":
    tasks = [task for document in documents if (task := prepare(document)) is not None]
    times = measure(tasks, repetitions)
    return Result(name=name, tasks=tasks, times=times, bars=judge(times, normalise_milliseconds(9)))


def measure(tasks: list[Task], repetitions: int) -> Times:
    """The median CPU time of every contender on every document it can read."""
    samples: dict[str, dict[str, list[float]]] = {each.name: {} for each in EVERYBODY}
    for task in tasks:
        for turn in range(repetitions):
            gc.collect()
            for contender in _in_turn(turn):
                if _takes_part(contender, task, turn, repetitions):
                    spent = _spent(contender, task)
                    if spent is not None:
                        samples[contender.name].setdefault(task.document.name, []).append(spent)
    return {
        name: {document: median(spent) for document, spent in each.items()}
        for name, each in samples.items()
    }


def judge(times: Times, normalise_ms: float) -> list[Bar]:
    """The promises of the project, each with its figure."""
    return [
        _at_least(10, "parse, against feedparser without sanitising", times, BARE, PARSE),
        _at_least(8, "parse + normalise + sanitise, against feedparser", times, DEFAULT, FULL),
        _at_least(60, "one new entry, against feedparser", times, DEFAULT, STEADY),
        _at_least(90, "all entries known, against feedparser", times, DEFAULT, KNOWN),
        _at_least(1, "one new entry, against fastfeedparser", times, FAST, STEADY),
        _at_least(1.3, "all entries known, against fastfeedparser", times, FAST, KNOWN),
        Bar(
            promise="parse, against a bare lxml.etree.fromstring",
            figure=ratio(times, PARSE, FLOOR),
            limit=3,
            at_least=False,
            unit="× its time",
        ),
        Bar(
            promise="normalising 50 entries",
            figure=normalise_ms,
            limit=50,
            at_least=False,
            unit=" ms",
        ),
    ]


def _at_least(
    limit: float, promise: str, times: Times, slower: Contender, faster: Contender
) -> Bar:
    figure = ratio(times, slower, faster)
    return Bar(promise=promise, figure=figure, limit=limit, at_least=True)


def ratio(times: Times, slower: Contender, faster: Contender) -> float:
    """How many times the one's CPU time the other needed, over what both could read."""
    both = times[slower.name].keys() & times[faster.name].keys()
    return total(times, slower, both) / total(times, faster, both)


def total(times: Times, contender: Contender, documents: set[str]) -> float:
    """Seconds for all of these documents."""
    return sum(times[contender.name][document] for document in documents)


def normalise_milliseconds(repetitions: int) -> float:
    """CPU time of normalising fifty entries of a blog with full content."""
    document = generate_entries("wordpress", _NORMALISE_ENTRIES)
    raw = RawDocument(body=document.body, url=document.url, content_type=document.content_type)
    feed = parse_document(raw)
    assert isinstance(feed, ParsedFeed)
    assert len(feed.entries) == _NORMALISE_ENTRIES
    spent: list[float] = []
    for _ in range(repetitions):
        start = time.process_time()
        normalise(feed)
        spent.append(time.process_time() - start)
    return median(spent) * 1000


def _spent(contender: Contender, task: Task) -> float | None:
    """Seconds of one call; None when the contender cannot read the document at all."""
    gc.disable()
    start = time.process_time()
    try:
        result = contender.run(task)
    except Exception:  # noqa: BLE001  # what a stranger's parser raises is its own business
        return None
    finally:
        spent = time.process_time() - start
        gc.enable()
    del result
    return spent


def _in_turn(turn: int) -> list[Contender]:
    """Everybody, beginning with another one each time, so that nobody always finds a warm cache."""
    first = turn % len(EVERYBODY)
    return [*EVERYBODY[first:], *EVERYBODY[:first]]


def _takes_part(contender: Contender, task: Task, turn: int, repetitions: int) -> bool:
    if task.document.kind == "json" and not contender.reads_json:
        return False
    return turn < max(1, round(contender.share * repetitions))


def _documents(count: int) -> list[tuple[str, list[Document]]]:
    folder = os.environ.get("FEEDMILL_CORPUS")
    generated = [("generated", generate(count))]
    return [*generated, ("real", load(Path(folder), count))] if folder else generated


def _take_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _print_table(result: Result) -> None:
    tasks, times = result.tasks, result.times
    sizes = {task.document.name: len(task.raw.body) for task in tasks}
    everything = sum(sizes.values())
    print(f"{len(tasks)} {result.name} documents, {everything / 1e6:.1f} MB, one core, CPU time\n")
    print(f"{'':40} {'docs':>5} {'ms/doc':>9} {'MB/s':>8} {'× parse':>9}")
    for contender in EVERYBODY:
        read = times[contender.name]
        spent = sum(read.values())
        speed = sum(sizes[name] for name in read) / spent / 1e6
        against = ratio(times, contender, PARSE)
        print(
            f"{contender.name:40} {len(read):5} {spent / len(read) * 1000:9.3f} "
            f"{speed:8.1f} {against:9.2f}"
        )


def _print_prediction(generated: Result, real: Result) -> None:
    print(f"{'':48} {'generated':>10} {'real':>8} {'differs':>8}")
    for one, other in zip(generated.bars, real.bars, strict=True):
        if one.unit == " ms":
            continue  # of the same generated entries in both
        off = 100 * (one.figure / other.figure - 1)
        print(f"{one.promise:48} {one.figure:10.2f} {other.figure:8.2f} {off:+7.0f} %")


def _print_bars(bars: list[Bar]) -> None:
    print()
    for bar in bars:
        word = "at least" if bar.at_least else "at most"
        verdict = "met   " if bar.met else "MISSED"
        print(f"{verdict} {bar.promise}: {bar.figure:.2f}{bar.unit} ({word} {bar.limit:g})")
    print()


def _report(result: Result) -> dict[str, object]:
    return {
        "documents": {task.document.name: len(task.raw.body) for task in result.tasks},
        "seconds": result.times,
        "bars": [
            {"promise": bar.promise, "figure": bar.figure, "limit": bar.limit, "met": bar.met}
            for bar in result.bars
        ],
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer documents and repetitions")
    parser.add_argument("--json", action="store_true", help="print figures for a program")
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise is not kept")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
