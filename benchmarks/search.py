"""Search on both stores: recall and first answers of sixty labelled questions, CPU of a query and of an insert.

    python -m benchmarks.search [--entries 5000] [--rounds 5] [--json]

CPU is that of this process and, on PostgreSQL, of its server. An insert is an entry of a document with ten new ones, as a poll commits
it; with and without the index in turns, and the fastest round of each counts.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.footprint import server_cpu_sec
from benchmarks.search_questions import CASES, Text, library, relevant
from msgspec.structs import replace
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.engine.ports.store import Store
from feedmill.model.page import EntryFilter
from feedmill.search.query import highlight, parse_query

_DOCUMENT: Final = 10  # new entries of a poll
_PAGE: Final = 20

Open = Callable[[bool], Awaitable[Store]]
Cpu = Callable[[], float]


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Search: quality and cost on both stores")
    parser.add_argument("--entries", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts = library(options.entries)
    with TemporaryDirectory() as folder, PostgresServer() as server:
        files = iter(range(1_000))

        async def sqlite(searchable: bool) -> Store:
            path = Path(folder) / f"{next(files)}.db"
            return await SqliteStore.open(path, searchable=searchable)

        async def postgres(searchable: bool) -> Store:
            dsn = await asyncio.to_thread(migrated_database, server)
            return await PostgresStore.open(dsn, searchable=searchable)

        found = {
            "sqlite": asyncio.run(_measure(sqlite, time.process_time, texts, options.rounds)),
            "postgres": asyncio.run(
                _measure(postgres, partial(_with_server, server), texts, options.rounds)
            ),
        }
    same = found["sqlite"].pop("answers") == found["postgres"].pop("answers")
    if options.json:
        print(json.dumps({**found, "same_answers": same}, ensure_ascii=False))
        return 0
    for name, figures in found.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))
    print(f"same answers in the same order on both stores: {same}")
    return 0


def _with_server(server: PostgresServer) -> float:
    return time.process_time() + server_cpu_sec(server)


async def _measure(opened: Open, cpu: Cpu, texts: list[Text], rounds: int) -> dict[str, Any]:
    cost: dict[bool, list[float]] = {True: [], False: []}
    figures: dict[str, Any] = {}
    for turn in range(rounds):
        for searchable in (True, False):
            store = await opened(searchable)
            begun = cpu()
            await _fill(store, texts)
            cost[searchable].append((cpu() - begun) / len(texts) * 1e6)
            if searchable and turn == 0:
                figures = await _ask(store, cpu)
            await store.close()
    with_index, without = min(cost[True]), min(cost[False])
    return {
        **figures,
        "insert_us_on": round(with_index),
        "insert_us_off": round(without),
        "insert_ratio": round(with_index / without, 2),
    }


async def _fill(store: Store, texts: list[Text]) -> None:
    feed, _ = await store.add_feed(new_feed())
    for run, start in enumerate(range(0, len(texts), _DOCUMENT), start=1):
        entries = [
            replace(
                an_entry(one.name),
                title=one.title,
                summary=None,
                content=one.html,
                language=one.language,
            )
            for one in texts[start : start + _DOCUMENT]
        ]
        feed = await poll(store, feed, run, entries, at=NOON.replace(microsecond=run))


async def _ask(store: Store, cpu: Cpu) -> dict[str, Any]:
    """Recall and first answers by language, what was missed, and the CPU of a page of results."""
    found: dict[str, list[str]] = {}
    recall: dict[str, list[float]] = {}
    first: dict[str, list[bool]] = {}
    missed, wrong = [], 0
    for language, cases in CASES.items():
        for number, case in enumerate(cases):
            where = EntryFilter(query=parse_query(case.question), order="relevance")
            page = await store.entries(where, limit=_PAGE)
            names = [(one.link or "").rpartition("/")[2] for one in page.items]
            wanted = relevant(language, number)
            found[f"{language}/{case.question}"] = names
            share = len(set(wanted) & set(names)) / len(wanted)
            recall.setdefault(language, []).append(share)
            first.setdefault(language, []).append(names[:1] == wanted[:1])
            wrong += len(set(names) - set(wanted))
            if share < 1 or names[:1] != wanted[:1]:
                missed.append(f"{language} {case.kind} {case.question}")
    every = [one for shares in recall.values() for one in shares]
    firsts = [one for shares in first.values() for one in shares]
    return {
        "questions": len(every),
        "recall": round(sum(every) / len(every), 3),
        "top1": round(sum(firsts) / len(firsts), 3),
        "recall_by_language": {name: round(sum(one) / len(one), 3) for name, one in recall.items()},
        "top1_by_language": {name: round(sum(one) / len(one), 3) for name, one in first.items()},
        "not_asked_for": wrong,
        "missed": missed,
        "query_us": round(
            await _cost(store, cpu, [one.question for c in CASES.values() for one in c])
        ),
        "common_word_us": round(await _cost(store, cpu, ["report"] * 20)),
        "answers": found,
    }


async def _cost(store: Store, cpu: Cpu, questions: list[str]) -> float:
    """CPU of a page of results with its highlights, in microseconds."""
    begun = cpu()
    for question in questions:
        query = parse_query(question)
        page = await store.entries(EntryFilter(query=query, order="relevance"), limit=_PAGE)
        for one in page.items:
            highlight(query, one.title, (one.summary, one.content))
    return (cpu() - begun) / len(questions) * 1e6


if __name__ == "__main__":
    raise SystemExit(main())
