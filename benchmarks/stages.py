"""Where the time of reading goes: CPU time of each stage on the same documents, as one table.

The arguments of every stage are recorded while documents are read once; then each stage is run
alone on what it was given. A stage that holds others names them with it, so that the lines of one
level add up to about the whole; the rest is glue.

    FEEDMILL_CORPUS=folder python -m benchmarks.stages [--count 60]
"""

import argparse
import gc
import os
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from benchmarks.contenders import FULL, KNOWN, PARSE, STEADY, Contender, Task, prepare
from benchmarks.documents import generate, load

_TURNS: Final = 5
# (what it is, where its caller finds it); indented below the stage that calls it.
_STAGES: Final = (
    ("sniff the kind", "parse.input.sniff:kind_of"),
    ("decode", "parse.document:decode"),
    ("find entries and digests", "parse.xml.feed:prepare_source"),
    ("  scan for entries", "parse.xml.slices:scan_entries"),
    ("  digests", "parse.xml.source:_marks"),
    ("  offsets in the raw body", "parse.xml.source:raw_slices"),
    ("build the tree (lxml)", "parse.xml.feed:read_tree"),
    ("walk it: the feed", "parse.xml.handlers:read_feed"),
    ("walk it: the entries", "parse.xml.handlers:read_entry"),
    ("parse, the whole", "parse.document:parse_markup"),
    ("normalise one entry", "normalise.entry:normalise_entry"),
    ("  links", "normalise.entry:entry_links"),
    ("  dates", "normalise.entry:read_publication_dates"),
    ("  texts: title, summary", "normalise.entry:field_text"),
    ("  findings", "normalise.entry:find_suspicious"),
    ("  findings of title and summary", "normalise.entry:field_findings"),
    ("  content", "normalise.entry:content_body"),
    ("  summary as content", "normalise.entry:summary_body"),
    ("    unwrap", "normalise.html.sanitise:unwrap"),
    ("    limit nesting", "normalise.html.sanitise:limit_nesting"),
    ("    nh3 and controls", "normalise.html.sanitise:_clean_tree"),
    ("  authors", "normalise.entry:_authors"),
    ("  categories", "normalise.entry:clean_categories"),
    ("  files", "normalise.entry:entry_files"),
    ("  modified", "normalise.entry:_modified"),
    ("normalise, the whole", "benchmarks.contenders:normalise"),
)
Calls = list[Callable[[], object]]


def main() -> None:
    """Print one column for each job."""
    parser = argparse.ArgumentParser(prog="benchmarks.stages", description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    count = parser.parse_args().count
    folder = os.environ.get("FEEDMILL_CORPUS")
    documents = load(Path(folder), count) if folder else generate(count)
    tasks = [task for document in documents if (task := prepare(document)) is not None]
    jobs = (PARSE, FULL, STEADY, KNOWN)
    columns = [_column(job, tasks) for job in jobs]
    print(f"{len(tasks)} documents, µs of CPU per document\n")
    print(f"{'':34}" + "".join(f"{job.name.removeprefix('feedmill ')[:22]:>24}" for job in jobs))
    for row in ("all", *dict(_STAGES)):
        print(f"{row:34}" + "".join(f"{column.get(row, 0.0):24.1f}" for column in columns))


def _column(job: Contender, tasks: list[Task]) -> dict[str, float]:
    whole: Calls = [partial(job.run, task) for task in tasks]
    calls = {"all": whole, **_recorded(job, tasks)}
    return {stage: _spent(each) / len(tasks) * 1e6 for stage, each in calls.items()}


def _recorded(job: Contender, tasks: list[Task]) -> dict[str, Calls]:
    """What every stage is called with while these documents are read."""
    calls: dict[str, Calls] = {stage: [] for stage, _ in _STAGES}
    for stage, place in _STAGES:
        module, _, name = place.partition(":")
        room = module if module.startswith("benchmarks") else f"feedmill.{module}"
        home = import_module(room)
        original = getattr(home, name)

        note = partial(_noted, original, calls[stage])
        setattr(home, name, note)
        try:
            for task in tasks:
                job.run(task)
        finally:
            setattr(home, name, original)
    return calls


def _noted(run: Callable[..., object], calls: Calls, *given: Any, **named: Any) -> object:  # noqa: ANN401
    calls.append(partial(run, *given, **named))
    return run(*given, **named)


def _spent(calls: Calls) -> float:
    """Seconds of all calls together, the least of several turns for each."""
    gc.disable()
    try:
        return sum(min(map(_timed, (call,) * _TURNS)) for call in calls)
    finally:
        gc.enable()


def _timed(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    main()
