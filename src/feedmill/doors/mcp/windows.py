"""Tools for a window: collect it, look through it, and say what one thinks of its candidates."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field

from feedmill.app import default_topics
from feedmill.doors.mcp.calls import tool
from feedmill.doors.mcp.doorway import Call, doorway_of, program_of
from feedmill.doors.mcp.looking import Cursor, Limit
from feedmill.doors.mcp.shapes import (
    CandidateDetail,
    CandidatePage,
    CollectedWindow,
    Judgement,
    Recorded,
)
from feedmill.doors.mcp.untrusted import candidate_shape, score_shape, source_shape
from feedmill.engine.candidates import chosen
from feedmill.engine.collect import Source, collect_window, source_of, source_of_feed
from feedmill.engine.questions import every_feed
from feedmill.engine.shelf import KeptWindow
from feedmill.engine.sidecars import read_screenings, write_screenings
from feedmill.engine.window import window_between, window_of_last
from feedmill.engine.world import World
from feedmill.errors import CursorError, UsageError
from feedmill.model.candidate import Window, WindowCandidate
from feedmill.model.screening import Score, Screening
from feedmill.publish.cursors import read_cursor, write_cursor
from feedmill.screen.suspicion import signs_of
from feedmill.screen.texts import scrub, text_of

WindowId = Annotated[str, Field(min_length=1, max_length=64, description="From collect_window.")]
Decision = Literal["keep", "unsure", "drop", "unscreened"]

_CURSOR: Final = "candidates"
_FAILED_SHOWN: Final = 50
_DETAIL_CHARS: Final = 4_000
_PROGRESS_SEC: Final = 1.0
_USUAL: Final = {"keep": 0.9, "unsure": 0.5, "drop": 0.1}  # when the agent gives no figure


@tool("Collect a window", "write", open_world=True)
async def collect_window_(
    call: Call,
    start: Annotated[
        str | None, Field(description="A day or an instant in UTC, as 2026-01-05.", max_length=40)
    ] = None,
    end: Annotated[
        str | None,
        Field(description="A day, which is included, or an instant, which is not.", max_length=40),
    ] = None,
    last_days: Annotated[
        int | None, Field(ge=1, le=3_660, description="Instead of start and end: up to now.")
    ] = None,
    feeds: Annotated[
        list[str] | None,
        Field(description="Addresses of feeds; without it the subscriptions are asked."),
    ] = None,
    tag: Annotated[str | None, Field(description="Only subscriptions with this tag.")] = None,
    topics: Annotated[
        list[str] | None, Field(description="Ids of topics that it is collected for.")
    ] = None,
    prompt: Annotated[str, Field(description="What is looked for, in words.")] = "",
) -> CollectedWindow:
    """Step 1: fetch everything that sources published in a span of time, as candidates.

    Nothing is stored as an entry. Sources are asked politely, so this may take minutes. A source
    that fails is reported, and the rest goes on.
    """
    doorway = doorway_of(call)
    window = _window(start, end, last_days, doorway.world)
    sources = await _sources(feeds, tag, doorway.world)
    async with _progress(call, len(sources)) as done:
        file = await collect_window(
            sources,
            window,
            doorway.world,
            topics=tuple(topics or ()),
            prompt=prompt,
            step=done.append,
        )
    return _collected(await doorway.shelf.put(file))


@tool("List candidates", "read", reads=True)
async def list_candidates(
    call: Call,
    window_id: WindowId,
    decision: Annotated[
        Decision | None, Field(description="Only these; `unscreened` has no suggestion yet.")
    ] = None,
    topic: str | None = None,
    min_score: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0,
    new_only: Annotated[bool, Field(description="Without those that are stored already.")] = False,
    order: Annotated[Literal["id", "score"], Field(description="score: the best first.")] = "id",
    cursor: Cursor = None,
    limit: Limit = None,
) -> CandidatePage:
    """Look through the candidates of a window, page by page, with what screening suggests."""
    doorway = doorway_of(call)
    kept = await doorway.shelf.window(window_id)
    said = _screenings(kept)
    rows = [
        one
        for one in kept.file.candidates
        if not (new_only and one.is_known)
        and _fits(said.get(one.candidate_id), decision, topic, min_score)
    ]
    if order == "score":
        rows.sort(key=lambda one: -_score(said.get(one.candidate_id)))
    most = doorway.world.config.mcp.page_items
    at, size = _position(cursor), most if limit is None else min(limit, most)
    shown, chars = rows[at : at + size], doorway.world.config.mcp.text_chars
    after = str(at + size) if at + size < len(rows) else None
    return CandidatePage(
        window_id=kept.id,
        total=len(rows),
        candidates=[
            candidate_shape(one, said.get(one.candidate_id), max_chars=chars) for one in shown
        ],
        next_cursor=write_cursor(_CURSOR, after),
    )


@tool("Explain a candidate", "read", reads=True)
async def explain_candidate(call: Call, window_id: WindowId, candidate_id: int) -> CandidateDetail:
    """Show one candidate whole: its text, its source, and what each method said and why."""
    kept = await doorway_of(call).shelf.window(window_id)
    (candidate,) = chosen(kept.file, (candidate_id,))
    screening = _screenings(kept).get(candidate_id)
    return CandidateDetail(
        window_id=kept.id,
        candidate=candidate_shape(candidate, screening, max_chars=_DETAIL_CHARS),
        source=source_shape(kept.file.sources[candidate.source]),
        scores=[] if screening is None else [score_shape(one) for one in screening.scores],
        untrusted={"dedupe_key": scrub(candidate.dedupe_key, _DETAIL_CHARS)},
    )


@tool("Record decisions", "write", repeats=True)
async def record_decisions(
    call: Call,
    window_id: WindowId,
    decisions: Annotated[list[Judgement], Field(min_length=1, max_length=500)],
) -> Recorded:
    """Step 3: record your own judgements with their reasons, under the method `agent`.

    They replace earlier suggestions for the same candidates. They insert nothing.
    """
    doorway = doorway_of(call)
    kept = await doorway.shelf.window(window_id)
    ids = [one.candidate_id for one in decisions]
    if len(set(ids)) < len(ids):
        message = "each candidate can be judged once in one call"
        raise UsageError(message)
    candidates = {one.candidate_id: one for one in chosen(kept.file, ids)}
    before, by = _screenings(kept), f"agent: {program_of(call)}"
    made = [
        _judged(candidates[one.candidate_id], one, before.get(one.candidate_id), by)
        for one in decisions
    ]
    write_screenings(kept.path, kept.file, made, at=doorway.world.clock.now())
    kinds = [one.suggestion for one in made]
    return Recorded(
        window_id=kept.id,
        recorded=len(made),
        keep=kinds.count("keep"),
        unsure=kinds.count("unsure"),
        drop=kinds.count("drop"),
    )


WINDOWS: Final = (collect_window_, list_candidates, explain_candidate, record_decisions)


def _window(start: str | None, end: str | None, last_days: int | None, world: World) -> Window:
    now = world.clock.now()
    if (start is None) == (last_days is None) or (end is not None and start is None):
        message = "a window has a start and perhaps an end, or it has last_days"
        raise UsageError(message)
    if last_days is not None:
        return window_of_last(timedelta(days=last_days), now=now)
    return window_between(start or "", end, now=now)


async def _sources(feeds: Sequence[str] | None, tag: str | None, world: World) -> list[Source]:
    if feeds:
        found = [
            await source_of(url, world) for url in feeds[: world.config.mcp.window_sources + 1]
        ]
    else:
        found = [source_of_feed(feed) async for feed in every_feed(world, tag)]
    if not found:
        message = "there is no source to collect from"
        raise UsageError(message)
    if len(found) > world.config.mcp.window_sources:
        message = f"more than {world.config.mcp.window_sources} sources for one window"
        raise UsageError(message)
    return found


@asynccontextmanager
async def _progress(call: Call, total: int) -> AsyncIterator[list[object]]:
    """Tell the caller now and then how many sources are done; it may want to wait longer."""
    done: list[object] = []

    async def tell() -> None:
        while True:
            await asyncio.sleep(_PROGRESS_SEC)
            await call.report_progress(len(done), total)

    telling = asyncio.create_task(tell())
    try:
        yield done
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling


def _collected(kept: KeptWindow) -> CollectedWindow:
    file = kept.file
    failed = [one for one in file.sources if one.outcome == "failed"]
    return CollectedWindow(
        window_id=kept.id,
        digest=file.digest,
        start=file.window.start,
        end=file.window.end,
        candidates=len(file.candidates),
        undated=sum(one.is_undated for one in file.candidates),
        known=sum(one.is_known for one in file.candidates),
        sources_ok=len(file.sources) - len(failed),
        sources_failed=len(failed),
        failed=[source_shape(one) for one in failed[:_FAILED_SHOWN]],
    )


def _screenings(kept: KeptWindow) -> dict[int, Screening]:
    return {one.candidate_id: one for one in read_screenings(kept.path, kept.file)}


def _fits(
    screening: Screening | None, decision: Decision | None, topic: str | None, min_score: float
) -> bool:
    if screening is None:
        return decision in (None, "unscreened") and topic is None and min_score <= 0
    return (
        (decision is None or screening.suggestion == decision)
        and (topic is None or screening.topic == topic)
        and screening.score >= min_score
    )


def _score(screening: Screening | None) -> float:
    return -1.0 if screening is None else screening.score


def _position(cursor: str | None) -> int:
    found = read_cursor(_CURSOR, cursor) or "0"
    if not found.isdecimal():
        raise CursorError(cursor or "")
    return int(found)


def _judged(
    candidate: WindowCandidate, judgement: Judgement, before: Screening | None, by: str
) -> Screening:
    """The agent's word, beside what others said; a text that steers is never better than unsure."""
    ref, topic = candidate.candidate_id, judgement.topic
    signs = signs_of(text_of(candidate), default_topics())
    is_suspicious = bool(signs) or (before is not None and before.is_suspicious)
    suggestion = judgement.decision
    score = _USUAL[suggestion] if judgement.score is None else judgement.score
    if suggestion == "keep" and is_suspicious:
        suggestion = "unsure"
    own = Score(
        ref=ref,
        topic=topic or "",
        method="agent",
        score=score,
        reason=judgement.reason,
        model_id=by,
    )
    others = () if before is None else tuple(s for s in before.scores if s.method != "agent")
    return Screening(
        candidate_id=ref,
        suggestion=suggestion,
        topic=topic,
        score=score,
        methods=(*dict.fromkeys(one.method for one in others), "agent"),
        reason=judgement.reason,
        evidence=() if before is None else before.evidence,
        scores=(*others, own),
        is_suspicious=is_suspicious,
        topic_set="" if before is None else before.topic_set,
        decided_by=by,
    )
