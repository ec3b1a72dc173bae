"""`feedmill replay`: parse stored raw documents again."""
# Tested in tests/integration/interfaces/cli/

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import click
import msgspec

from feedmill.engine.poll.replay import (
    KINDS,
    FeedHistory,
    FeedReading,
    Replayed,
    against_reading,
    against_store,
    read_history,
)
from feedmill.engine.poll.replay import replay as replay_feed
from feedmill.engine.run.services import Services
from feedmill.engine.service.feed_lookup import all_feeds, iterate_feeds, resolve_feeds
from feedmill.errors import UsageError
from feedmill.interfaces.cli.command import Answer, answer_with, command
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import FILE_TO_WRITE, flag, option, parse_time, usage_error
from feedmill.interfaces.cli.output import progress, shorten, show_json_line
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.feed import Feed

_SHOWN: Final = 10  # differences of one feed that are printed

T = TypeVar("T", bound=msgspec.Struct)


class _Head(msgspec.Struct):
    feed_id: str


class LineFile(Generic[T]):
    """Lines of one type, one per feed, found by its id, so that a run that was stopped goes on.

    Only their places are in memory. A line that was cut off by a kill is dropped, and its feed is read again.
    """

    def __init__(self, path: Path, kind: type[T], *, must_exist: bool = False) -> None:
        self._path = path
        self._decoder = msgspec.json.Decoder(kind)
        self._places: dict[str, int] = {}
        if must_exist and not path.exists():
            message = f"{path} does not exist; write it with the other version: --record {path}"
            raise UsageError(message)
        self._end = self._index() if path.exists() else 0

    def __contains__(self, feed_id: str) -> bool:
        return feed_id in self._places

    def append(self, line: T) -> None:
        """Write a line; it is in the file when this returns."""
        with self._path.open("r+b" if self._path.exists() else "wb") as file:
            file.truncate(self._end)
            file.seek(self._end)
            file.write(msgspec.json.encode(line) + b"\n")
            self._end = file.tell()

    def read(self, feed_id: str) -> T | None:
        """The line of a feed; None when there is none."""
        if feed_id not in self._places:
            return None
        with self._path.open("rb") as file:
            file.seek(self._places[feed_id])
            return self._decoder.decode(file.readline())

    def lines(self) -> Iterator[T]:
        """Every line that was in the file when it was opened."""
        for feed_id in self._places:
            line = self.read(feed_id)
            if line is not None:
                yield line

    def _index(self) -> int:
        head = msgspec.json.Decoder(_Head)
        end = 0
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                try:
                    self._places[head.decode(line).feed_id] = end
                except msgspec.MsgspecError as problem:
                    message = f"{self._path} is no file of feedmill replay: {problem}"
                    raise UsageError(message) from problem
                end += len(line)
        return end


class _History(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a replay over history."""

    since: datetime | None
    until: datetime | None
    record: Path | None
    against: Path | None
    resume: Path | None
    gate: bool
    allow: tuple[str, ...]


@command()
@click.argument("feeds", nargs=-1, metavar="[FEED]...")
@flag("--all", "everything", "Every feed.")
@flag("--write", "Commit the differences instead of showing them.")
@flag("--history", "Every stored document, not only the last one.")
@option("--since TIME", "Documents of this time or later.", type=parse_time)
@option("--until TIME", "Documents before this time.", type=parse_time)
@option("--record", "Write what this version reads to a file, for --against.", type=FILE_TO_WRITE)
@option("--against", "Compare with what another version recorded.", type=FILE_TO_WRITE)
@option("--resume", "Keep results in a file; go on where a run was stopped.", type=FILE_TO_WRITE)
@flag("--gate", "Exit 1 when anything differs but what --allow names.")
@option(
    "--allow KIND",
    f"A kind of difference that --gate lets pass; repeatable: {', '.join(KINDS)}.",
    choices=KINDS,
    multiple=True,
)
def replay(
    feeds: tuple[str, ...],
    *,
    everything: bool,
    write: bool,
    history: bool,
    **options: Any,  # noqa: ANN401  # as click parsed them: see _History
) -> None:
    """Parse stored raw documents again with the current parser and show what would change.

    Without --write nothing is written. --since, --until, --record, --against, --resume and --gate read the whole
    history of a feed, the oldest document first.

    \b
    Examples:
      feedmill replay --all
      feedmill replay --all --history --gate --allow content
      feedmill replay --all --record old.ndjson       (with the old version)
      feedmill replay --all --against old.ndjson      (with the new one)
    """
    if bool(feeds) == everything:
        usage_error("name feeds or pass --all, and not both")
    asked = _History(**options)
    if not (history or any(options.values())):
        _replay_last(feeds, everything=everything, write=write)
        return
    if write or (asked.record and (asked.against or asked.gate)):
        usage_error("a replay over history only reads: leave out --write, and give --record alone")
    names = None if everything else feeds
    if asked.record is not None:
        _record(names, asked)
        return
    different = _compare(names, asked)
    if asked.gate and any(different[kind] for kind in KINDS if kind not in asked.allow):
        click.get_current_context().exit(1)


def _record(names: tuple[str, ...] | None, asked: _History) -> None:
    assert asked.record is not None
    file = LineFile(asked.record, FeedReading)

    async def action(services: Services) -> Answer:
        done = Counter[str]()
        with progress(None, "reading") as step:
            async for feed in _chosen(names, services):
                if feed.id in file:
                    done["recorded_before"] += 1
                else:
                    reading = await read_history(feed, services, asked.since, asked.until)
                    file.append(reading)
                    done += Counter(
                        feeds=1, documents=reading.documents, entries=len(reading.entries)
                    )
                step()
        words = f"{done['feeds']} feeds recorded: {done['documents']} documents, {done['entries']} entries"
        if done["recorded_before"]:
            words += f"; {done['recorded_before']} were recorded before"
        return Answer(dict(done), words)

    answer_with(action)


def _compare(names: tuple[str, ...] | None, asked: _History) -> Counter[str]:
    recorded = LineFile(asked.against, FeedReading, must_exist=True) if asked.against else None
    results = LineFile(asked.resume, FeedHistory) if asked.resume else None
    show: Callable[[FeedHistory], None] = show_json_line if is_json() else _say_history
    totals = Counter[str]()
    for one in results.lines() if results else ():
        _add(totals, one)

    async def action(services: Services) -> None:
        with progress(None, "reading") as step:
            async for feed in _chosen(names, services):
                if results is None or feed.id not in results:
                    one = await _compared(feed, services, asked, recorded)
                    _add(totals, one)
                    show(one)
                    if results is not None:
                        results.append(one)
                step()

    with_services(action)
    if is_json():
        show_json_line({"total": dict(totals)})
        return totals
    kinds = ", ".join(f"{totals[kind]} {kind}" for kind in KINDS if totals[kind]) or "no difference"
    click.echo(
        f"{totals['feeds']} feeds, {totals['documents']} documents,"
        f" {totals['read_entries']} entries: {kinds}"
    )
    if totals["missing"]:
        click.echo(f"{totals['missing']} documents are not kept any more, or cannot be read")
    return totals


async def _compared(
    feed: Feed, services: Services, asked: _History, recorded: LineFile[FeedReading] | None
) -> FeedHistory:
    reading = await read_history(feed, services, asked.since, asked.until)
    if recorded is None:
        return await against_store(reading, services, is_recent=asked.until is None)
    return against_reading(reading, recorded.read(feed.id) or _nothing(feed))


def _nothing(feed: Feed) -> FeedReading:
    return FeedReading(feed_id=feed.id, reader="nothing recorded")


async def _chosen(names: tuple[str, ...] | None, services: Services) -> AsyncIterator[Feed]:
    if names is None:
        async for feed in iterate_feeds(services):
            yield feed
    else:
        for feed in await resolve_feeds(names, services):
            yield feed


def _add(totals: Counter[str], one: FeedHistory) -> None:
    totals += Counter(
        feeds=1, documents=one.documents, missing=one.missing, read_entries=one.entries
    )
    totals.update(difference.kind for difference in one.differences)


def _say_history(one: FeedHistory) -> None:
    if one.differences:
        click.echo(f"{one.feed_id}  {len(one.differences)} differ from {one.before}")
    for difference in one.differences[:_SHOWN]:
        what = ", ".join(difference.changed)
        name = shorten(difference.title or difference.subject, 60)
        click.echo(f"  {difference.kind:<12}{what:<30}{name}")
    if len(one.differences) > _SHOWN:
        click.echo(f"  and {len(one.differences) - _SHOWN} more")


def _replay_last(feeds: tuple[str, ...], *, everything: bool, write: bool) -> None:
    async def action(services: Services) -> Answer:
        chosen = await (all_feeds(services) if everything else resolve_feeds(feeds, services))
        results = []
        with progress(len(chosen), "parsing") as step:
            for feed in chosen:
                results.append(await replay_feed(feed, services, write=write))
                step()
        return Answer(
            {"items": results, "next": None}, lambda: _say_replays(results, is_written=write)
        )

    answer_with(action)


def _say_replays(results: Sequence[Replayed], *, is_written: bool) -> None:
    for one in results:
        _say_replayed(one)
    total = sum(len(one.differences) for one in results)
    same = sum(one.unchanged for one in results)
    read = sum(one.outcome == "read" for one in results)
    click.echo(f"{read} documents parsed again: {total} entries differ, {same} are unchanged")
    if read < len(results):
        click.echo(f"{len(results) - read} feeds have no readable document")
    if total and not is_written:
        click.echo("nothing was written; pass --write to commit")


def _say_replayed(one: Replayed) -> None:
    if one.differences:
        click.echo(f"{one.feed_id}  {len(one.differences)} differ")
    for difference in one.differences:
        what = ", ".join(difference.changed) or "new"
        click.echo(f"  {difference.kind:<9}{what:<30}{shorten(difference.title or '', 80)}")
