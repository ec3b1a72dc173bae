"""A week of small feeds, and the steps that most stories share."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss

from feedmill.engine.two_phase.candidates import window_between
from feedmill.engine.two_phase.collect_window import collect_window, source_from_address
from feedmill.engine.two_phase.insert_selected import insert_selected
from feedmill.model.candidate import CandidateFile
from feedmill.model.screening import Confirmation, InsertResult
from feedmill_demo.render import http_date
from feedmill_demo.server.script import Answer, document

MONDAY = datetime(2025, 10, 6, tzinfo=UTC)
START, END = "2025-10-06", "2025-10-12"


def on(day: float, number: int, **facts: Any) -> str:
    """An item that was published so many days after Monday began."""
    return item(number, date=http_date(MONDAY + timedelta(days=day)), **facts)


def answer(*items: str, extra: str = "", etag: str | None = None) -> Answer:
    """A feed of these items."""
    return document(rss(*items, extra=extra), etag=etag)


async def collect(stage: Stage, *targets: str, **facts: Any) -> CandidateFile:
    """The week, from these paths of the publisher."""
    window = window_between(START, END, now=stage.clock.now())
    urls = [one if "://" in one else stage.publisher.url(one) for one in targets]
    sources = [await source_from_address(url, stage.services) for url in urls]
    return await collect_window(sources, window, stage.services, **facts)


def confirmation(file: CandidateFile, ids: Iterable[int]) -> Confirmation:
    """Somebody's yes to these."""
    return Confirmation(
        confirmed_by="Ada",
        confirmed_at=MONDAY,
        file_digest=file.digest,
        candidate_ids=tuple(ids),
        shown="command-line",
    )


async def insert(
    stage: Stage, file: CandidateFile, ids: Sequence[int] | None = None
) -> InsertResult:
    """Insert these, or all."""
    chosen = [one.candidate_id for one in file.candidates] if ids is None else ids
    return await insert_selected(file, chosen, confirmation(file, chosen), stage.services)


def shown(file: CandidateFile) -> list[str | None]:
    """The titles of the candidates, in alphabetical order."""
    return sorted((one.title for one in file.candidates), key=str)
