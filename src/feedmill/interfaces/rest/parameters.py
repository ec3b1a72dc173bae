"""Path and query parameters that several routes share."""
# Tested in tests/integration/interfaces/rest/

from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, NamedTuple

from litestar import Litestar, Response
from litestar.di import NamedDependency
from litestar.exceptions import ValidationException
from litestar.params import PathParameter, QueryParameter
from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.engine.service.simulate import candidate_config
from feedmill.errors import UsageError
from feedmill.interfaces.rest.problems import RequestError, on_problem
from feedmill.interfaces.server_state import AnyRequest
from feedmill.model.derived.search import SearchQuery
from feedmill.model.page import Duplicates, EntryFilter, EntryOrder, check_filter
from feedmill.model.running.figures import Granularity, TopBy
from feedmill.normalise.dates import parse_date
from feedmill.publish.mistakes import choices_of
from feedmill.publish.shapes import MAX_SEQ, Mistake
from feedmill.search.query import MAX_QUERY_CHARS, parse_query


def query(about: str, **limits: Any) -> Any:  # noqa: ANN401  # of Litestar
    """A query parameter with its description."""
    return QueryParameter(description=about, **limits)


def path(about: str, **limits: Any) -> Any:  # noqa: ANN401  # of Litestar
    """A path parameter with its description."""
    return PathParameter(description=about, **limits)


_MOMENT = "RFC 3339, or a date."
_MOST_FEEDS = 500
_MOST_UNKNOWN: Final = 20  # for each the nearest is looked for: some 50 µs
_PARAMETERS: Final = "parameters"  # in a route's `opt`
Limit = Annotated[int | None, query("Items per page, 1 to 1,000. Default: 100.")]
Cursor = Annotated[
    str | None, query("Cursor of the next page: `next` of the previous page.", max_length=200)
]
After = Annotated[int, query("Only events after this sequence number.", ge=0, le=MAX_SEQ)]
TagIs = Annotated[str | None, query("Only feeds with this tag.", max_length=100)]
FeedId = Annotated[str, path("The id of a feed.")]
EntryUid = Annotated[str, path("The uid of an entry.")]
FetchId = Annotated[str, path("The id of a fetch.")]
DiffFetch = Annotated[str | None, query("The id of a fetch of this feed.", max_length=100)]
SearchText = Annotated[
    str | None,
    query(
        "Full-text search in title, summary and content (with `full_text` in full texts, too): words that all"
        ' have to be there, "phrases", -excluded words, prefixes with *. Entries get a `highlight`.',
        max_length=MAX_QUERY_CHARS,
    ),
]
FullTextQuery = Annotated[bool, query("Add the full text of each entry as `full_text`.")]
WebhookId = Annotated[str, path("The id of a webhook.")]
ProblemCode = Annotated[str, path("The last path segment of a problem's type.")]
Since = Annotated[str | None, query(f"First seen at or after this time: {_MOMENT}")]
Until = Annotated[str | None, query(f"First seen before this time: {_MOMENT}")]
TextQuery = Annotated[
    str | None, query("Only entries with a title word that starts with this.", max_length=200)
]
CategoryQuery = Annotated[str | None, query("Only entries with this category.", max_length=200)]
AuthorQuery = Annotated[
    str | None, query("Only entries by this name or e-mail address.", max_length=200)
]
LanguageQuery = Annotated[
    str | None, query("Only entries in this language: en matches en-GB.", max_length=100)
]
EnclosureQuery = Annotated[bool | None, query("Only entries with, or only without an enclosure.")]
PublishedSince = Annotated[str | None, query(f"Published at or after this time: {_MOMENT}")]
PublishedUntil = Annotated[str | None, query(f"Published before this time: {_MOMENT}")]
RemovedQuery = Annotated[bool, query("Also entries that their feed has removed.")]
DuplicatesQuery = Annotated[
    Duplicates,
    query(
        "`hide`: an article that several entries of the list carry is shown once, by the"
        " entry that came first. `cluster`: so is a story that several feeds tell. `include`: every entry."
    ),
]
OrderQuery = Annotated[
    EntryOrder | None,
    query(
        "By publication, by arrival (of one poll: by publication), or by relevance, which is the order of a"
        " search. Default: first_seen, with `q` relevance."
    ),
]
DirectionQuery = Annotated[Literal["desc", "asc"], query("The newest or the oldest first.")]
FeedsQuery = Annotated[list[str] | None, query("Only entries of this feed; repeatable.")]
RangeSince = Annotated[str | None, query(f"From this time on: {_MOMENT}")]
RangeUntil = Annotated[str | None, query(f"Before this time: {_MOMENT}")]
GranularityQuery = Annotated[Granularity, query("Figures by the hour or by the day.")]
TroubledQuery = Annotated[bool, query("Only hosts that pause or fail.")]
HostName = Annotated[str, path("The host, with its port where it has one.")]
PolicyQuery = Annotated[Literal["budget", "seed"] | None, query("Default: the one in force.")]
SettingsQuery = Annotated[
    list[str] | None,
    query("Change a setting of the schedule, as price_sec=900; repeatable.", name="set"),
]
DaysQuery = Annotated[int, query("How far back the record is replayed.", ge=1, le=400)]
TopLimit = Annotated[int | None, query("Number of feeds, 1 to 500. Default: 20.")]
TopByQuery = Annotated[TopBy, query("What the feeds are ordered by.")]
DayQuery = Annotated[str | None, query("A day in UTC. Default: today.")]
QueryFilter = NamedDependency[EntryFilter]


class _Declared(NamedTuple):
    """A query parameter that a route declares."""

    name: str
    choices: tuple[str, ...]  # empty: any value of its type


def note_parameters(app: Litestar) -> Litestar:
    """The application, after each of its routes was told which query parameters it declares."""
    for route in app.routes:
        for handler, model in getattr(route, "route_handler_map", {}).values():
            fields = dict(handler.parsed_fn_signature.parameters)
            for provided in handler.resolve_dependencies().values():
                fields |= provided.parsed_fn_signature.parameters
            handler.opt[_PARAMETERS] = {
                one.field_name: _Declared(
                    one.field_alias, choices_of(fields[one.field_name].annotation)
                )
                for one in model.expected_query_params
            }
    return app


def refuse_unknown_parameters(request: AnyRequest) -> None:
    """Problem 400 for a parameter that the route does not declare, with the nearest that it does."""
    if request.scope["query_string"]:
        known = sorted(one.name for one in _declared(request).values())
        unknown = [name for name in request.query_params if name not in known]
        if unknown:
            mistakes = tuple(
                Mistake(where=name[:100], message=_advice(name, known))
                for name in unknown[:_MOST_UNKNOWN]
            )
            raise RequestError(code="bad-parameter", errors=mistakes)


def on_invalid_parameter(request: AnyRequest, error: ValidationException) -> Response[bytes]:
    """Problem 400 that names each parameter as the caller does, and the values that it can have."""
    declared = _declared(request)
    found = error.extra if isinstance(error.extra, list) else []
    mistakes = tuple(
        _mistake(str(one.get("key", "")), str(one.get("message", "")), declared)
        for one in found
        if isinstance(one, dict)
    )
    return on_problem(request, RequestError(code="bad-parameter", errors=mistakes))


def _declared(request: AnyRequest) -> dict[str, _Declared]:
    declared: dict[str, _Declared] = request.route_handler.opt[_PARAMETERS]
    return declared


def _mistake(field: str, message: str, declared: Mapping[str, _Declared]) -> Mistake:
    one = declared.get(field, _Declared(field, ()))
    choices = f"; use one of: {', '.join(one.choices)}" if one.choices else ""
    return Mistake(where=one.name, message=message[:200] + choices)


def _advice(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:100], known, n=1)
    if near:
        return f"unknown parameter; did you mean {near[0]}?"
    return f"unknown parameter; this route has{': ' if known else ' '}{', '.join(known) or 'none'}"


def entry_filter_of_query(
    feed: FeedsQuery = None,
    tag: TagIs = None,
    category: CategoryQuery = None,
    author: AuthorQuery = None,
    language: LanguageQuery = None,
    has_enclosure: EnclosureQuery = None,
    since: Since = None,
    until: Until = None,
    published_since: PublishedSince = None,
    published_until: PublishedUntil = None,
    text: TextQuery = None,
    removed: RemovedQuery = False,
    duplicates: DuplicatesQuery = "hide",
    order: OrderQuery = None,
    direction: DirectionQuery = "desc",
    q: SearchText = None,
    full_text: FullTextQuery = False,
) -> EntryFilter:
    """Litestar dependency: the query parameters of lists of entries as a filter."""
    where = entry_filter(
        feeds=feed, tag=tag, category=category, since=since, until=until, text=text
    )
    query = search_query(q, full_texts=full_text)
    return replace(
        where,
        query=query,
        author=author,
        language=language,
        has_enclosure=has_enclosure,
        published_since=moment(published_since, "published_since"),
        published_until=moment(published_until, "published_until"),
        include_removed=removed,
        duplicates=duplicates,
        order=order or ("first_seen" if query is None else "relevance"),
        ascending=direction == "asc",
    )


def search_query(text: str | None, *, full_texts: bool = False) -> SearchQuery | None:
    """The search of a query parameter; problem 400 for one that has no meaning."""
    try:
        return None if text is None else parse_query(text, full_texts=full_texts)
    except UsageError as problem:
        raise RequestError(code="bad-parameter", detail=f"q: {problem}") from problem


def entry_filter(
    *,
    feeds: Sequence[str] | None = None,
    tag: str | None = None,
    category: str | None = None,
    since: str | None = None,
    until: str | None = None,
    text: str | None = None,
) -> EntryFilter:
    """The entry filter of a query; problem 400 for an invalid time, and for what nothing could pass."""
    if feeds is not None and len(feeds) > _MOST_FEEDS:
        raise RequestError(code="bad-parameter", detail=f"feed: at most {_MOST_FEEDS} values")
    where = EntryFilter(
        feed_ids=None if feeds is None else tuple(feeds),
        tag=tag,
        category=category,
        since=moment(since, "since"),
        until=moment(until, "until"),
        text=text,
    )
    check_filter(where)
    return where


def candidate_policy(
    base: ScheduleConfig, policy: str | None, settings: list[str] | None
) -> ScheduleConfig:
    """The settings of a simulation; a bad one is a bad parameter."""
    try:
        return candidate_config(base, policy, settings or ())
    except UsageError as problem:
        raise RequestError(code="bad-parameter", detail=str(problem)) from problem


def moment(text: str | None, name: str) -> datetime | None:
    """The time of a parameter; problem 400 when it is none."""
    if text is None:
        return None
    found = parse_date(text[:100])
    if found is None:
        detail = f"{name}: {text[:100]!r} is not a time; use a format like 2025-10-14T09:30:00Z"
        if " " in text:  # as a form reads it
            detail += "; a + in an address is written %2B"
        raise RequestError(code="bad-parameter", detail=detail)
    return found
