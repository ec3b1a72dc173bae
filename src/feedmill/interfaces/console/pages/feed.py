"""One feed: its health and schedule in words and as a timeline, its entries and its fetches."""
# Tested in tests/integration/interfaces/console/test_feed.py

from typing import Any, Final

from litestar import Response, post

from feedmill.engine.moves.follow import MERGE_IS_FINAL, move_feed, undo_move
from feedmill.engine.service import queries
from feedmill.engine.service.feed_health import health_in_brief
from feedmill.engine.service.figures import feed_figures
from feedmill.engine.service.hosts import feed_push
from feedmill.errors import UsageError
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES
from feedmill.interfaces.console import charts
from feedmill.interfaces.console.pages.feeds import HERE, mark_of
from feedmill.interfaces.console.render import confirm_page, go_to, view
from feedmill.interfaces.console.session import (
    SCOPE,
    read_form,
    tags_of,
    text_field,
    unknown_action,
)
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.page import EntryFilter
from feedmill.publish.move_shapes import candidate_in_words, move_in_words, refusal_in_words
from feedmill.publish.shapes import DecisionShape, FeedChange
from feedmill.publish.to_json import read_cursor, write_cursor

_POLLS: Final = 60  # of the timeline
_PER_PAGE: Final = 50


@view("/console/feeds/{feed_id:str}", "feed.html", here=HERE)
async def feed_page(request: AnyRequest) -> dict[str, Any]:
    """The feed's state, and why it is polled when it is."""
    services, feed = services_of(request), await _feed(request)
    health = await queries.health(feed.id, services)
    decisions = (await queries.schedule(feed.id, services, limit=_POLLS)).items
    detail = await queries.get_feed(feed.id, services)
    moves = await services.store.moves(feed.id)
    config = services.config.moves
    return _shown(
        feed,
        "",
        health=health,
        detail=detail,
        decisions=decisions[:10],
        chart=_timeline(decisions),
        moves=[move_in_words(one) for one in moves],
        push=await feed_push(feed, services) if feed.hubs else None,
        candidate=() if feed.move is None else candidate_in_words(feed.move, config),
    )


@view("/console/feeds/{feed_id:str}/entries", "feed_entries.html", here=HERE)
async def feed_entries(request: AnyRequest) -> dict[str, Any]:
    """The feed's entries, the latest first."""
    services, feed = services_of(request), await _feed(request)
    found = await queries.entries(
        EntryFilter(feed_id=feed.id, include_removed=True, order="published"),
        services,
        cursor=request.query_params.get("cursor"),
        limit=_PER_PAGE,
    )
    return _shown(feed, "entries", entries=found)


@view("/console/feeds/{feed_id:str}/fetches", "feed_fetches.html", here=HERE)
async def feed_fetches(request: AnyRequest) -> dict[str, Any]:
    """The feed's polls, the newest first."""
    services, feed = services_of(request), await _feed(request)
    cursor = read_cursor("fetches", request.query_params.get("cursor"))
    found = await services.store.fetches(feed.id, after=cursor, limit=_PER_PAGE)
    return _shown(
        feed,
        "fetches",
        fetches=[(one, outcome_mark(one)) for one in found.items],
        next=write_cursor("fetches", found.next),
    )


@view("/console/feeds/{feed_id:str}/figures", "feed_figures.html", here=HERE)
async def feed_stats(request: AnyRequest) -> dict[str, Any]:
    """The feed's figures by day."""
    services, feed = services_of(request), await _feed(request)
    found = await feed_figures(feed.id, services)
    starts = [one.start for one in found.points]
    return _shown(
        feed,
        "figures",
        found=found,
        polls_chart=charts.polls_by_outcome(
            "Polls by day", starts, [one.figures for one in found.points]
        ),
        new_chart=charts.line(
            "New entries by day", starts, [one.figures.entries_new for one in found.points]
        ),
    )


@post("/console/feeds/{feed_id:str}/change", status_code=200, opt={SCOPE: "write"})
async def change(request: AnyRequest) -> Response[bytes]:
    """Do one of the actions of a feed's page."""
    form, services = await read_form(request), services_of(request)
    feed = await _feed(request)
    here, action = f"{HERE}/{feed.id}", text_field(form, "action")
    match action:
        case "pause" | "resume":
            wish = FeedChange(paused=action == "pause")
            await queries.change_feed(feed.id, wish, services)
            words = "Paused." if action == "pause" else "Resumed; it is polled now."
        case "refetch":
            await queries.refetch(feed.id, services)
            words = "It is polled as soon as its host's pace allows."
        case "tags":
            wish = FeedChange(tags=tags_of(text_field(form, "tags", 2_000)))
            await queries.change_feed(feed.id, wish, services)
            words = "Tags changed."
        case "move":
            words = await _move(feed, text_field(form, "url", 4_096), request)
        case "undo-move":
            done = await undo_move(feed, services)
            words = f"Back at {mask_address(done.url)}."
        case "remove" if form.get("confirmed") == "1":
            await queries.remove_feed(feed.id, services)
            return go_to(request, HERE, f"Removed {feed.title or mask_address(feed.url)}.")
        case "remove":
            return confirm_page(
                request,
                title=f"Remove {feed.title or mask_address(feed.url)}?",
                words="Remove this feed with all its entries? Its events stay in the log.",
                path=f"{here}/change",
                action="remove",
                here=HERE,
                back=here,
            )
        case _:
            raise unknown_action(action)
    return go_to(request, here, words)


def outcome_mark(fetch: FetchRecord) -> str:
    """The colour of a poll's outcome."""
    if fetch.outcome in SUCCESSFUL_OUTCOMES:
        return "ok" if fetch.entries_new or fetch.entries_updated else "same"
    return "theirs"


async def _move(feed: Feed, url: str, request: AnyRequest) -> str:
    """Move the feed when the new address proves to be the same feed."""
    if not url:
        message = "an address is needed"
        raise UsageError(message)
    done = await move_feed(feed, url, services_of(request))
    if done.outcome in ("held", "put-off"):
        return f"Not moved: {refusal_in_words(done.reason)}."
    if done.outcome == "merged":
        return f"Merged into {mask_address(done.url)}; {MERGE_IS_FINAL}."
    return f"Moved to {mask_address(done.url)}."


async def _feed(request: AnyRequest) -> Feed:
    return await queries.require_feed(str(request.path_params["feed_id"]), services_of(request))


def _timeline(decisions: tuple[DecisionShape, ...]) -> str:
    polls = [
        charts.PollMark(
            at=one.decided_at,
            interval_sec=one.interval_sec,
            kind="theirs"
            if one.outcome.kind == "failed"
            else "ok"
            if one.outcome.new_entries
            else "same",
            words=f"{one.outcome.reason or one.outcome.kind}, {one.reason}",
            new_entries=one.outcome.new_entries,
        )
        for one in decisions
    ]
    latest = decisions[0].hints if decisions else {}
    hints = [
        charts.HintMark(hint.source, float(hint.value))
        for hint in latest.values()
        if hint is not None and isinstance(hint.value, int | float) and hint.value > 0
    ]
    return charts.timeline("Polls and the interval after each", polls, hints)


def _shown(feed: Feed, tab: str, **context: Any) -> dict[str, Any]:  # noqa: ANN401  # what the template shows
    """What the pages of a feed have in common, and what one of them shows."""
    return {
        "title": feed.title or mask_address(feed.url),
        "feed": feed,
        "brief": health_in_brief(feed),
        "mark": mark_of(feed),
        "tab": tab,
        **context,
    }
