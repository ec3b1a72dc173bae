"""Feeds: the searchable, sortable list, adding and importing, and one action on many."""
# Tested in tests/integration/interfaces/console/test_feeds.py

from typing import Any, Final, cast, get_args
from urllib.parse import urlencode

from litestar import Response, post
from litestar.datastructures import UploadFile

from feedmill.engine.service import subscriptions
from feedmill.engine.service.feed_health import health_in_brief
from feedmill.errors import SeveralFeedsError, UsageError
from feedmill.interfaces.console.render import go_to, page, view
from feedmill.interfaces.console.session import SCOPE, digest_of, read_form, tags_of, text_field
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed
from feedmill.model.page import FeedFilter, FeedListState, FeedOrder
from feedmill.publish.shapes import FeedWish
from feedmill.publish.to_json import read_cursor, write_cursor

HERE: Final = "/console/feeds"
_PER_PAGE: Final = 50
_COUNTED: Final = 1_000  # matches of a search; that there are more is enough to know
_WORDS: Final = {
    "pause": "Pause",
    "resume": "Resume",
    "refetch": "Poll now",
    "add-tag": "Add a tag to",
    "remove-tag": "Remove a tag from",
    "remove": "Remove, with all their entries,",
}


@view("/console/feeds", "feeds.html", "Feeds")
async def feeds(request: AnyRequest) -> dict[str, Any]:
    """A page of the list."""
    services, given = services_of(request), dict(request.query_params)
    where = feed_filter(given)
    kind = f"console-feeds-{where.order}"
    found = await services.store.find_feeds(
        where, after=read_cursor(kind, given.get("cursor") or None), limit=_PER_PAGE
    )
    chosen = query_of(where)
    total = len(found.items)
    if found.next is not None or "cursor" in given:  # else all of them are shown
        total = await services.store.count_feeds(where, at_most=_COUNTED if where.text else None)
    return {
        "where": where,
        "chosen": chosen,
        "feeds": [(feed, health_in_brief(feed), mark_of(feed)) for feed in found.items],
        "has_feeds": bool(found.items or given),
        "total": total,
        "is_more": where.text is not None and total == _COUNTED,
        "states": get_args(FeedListState),
        "most": subscriptions.MAX_BULK_FEEDS,
        "actions": _WORDS,
        "is_first": "cursor" not in given,
        "next": _link(chosen, cursor=write_cursor(kind, found.next)) if found.next else None,
        "sort": lambda order: _link(
            chosen,
            order=order,
            down="" if where.order != order or where.descending else "1",
        ),
    }


@post("/console/feeds", status_code=200, opt={SCOPE: "write"})
async def add(request: AnyRequest) -> Response[bytes]:
    """Subscribe to an address; a page with several feeds asks which."""
    form, services = await read_form(request), services_of(request)
    url, choose = text_field(form, "url", 4_096), text_field(form, "choose")
    if not url:
        message = "an address is needed"
        raise UsageError(message)
    wish = FeedWish(
        url=url,
        tags=tags_of(text_field(form, "tags")),
        as_is=form.get("as_is") == "1",
        choose=int(choose) if choose.isdigit() else None,
    )
    try:
        done = await subscriptions.add_feed(wish, services, app_state_of(request).subscriber)
    except SeveralFeedsError as several:
        return page(
            request,
            "choose_feed.html",
            title="Choose a feed",
            here=HERE,
            url=url,
            tags=text_field(form, "tags"),
            words=str(several),
            choices=several.choices,
        )
    words = "Added" if done.created else "This feed was here already"
    return go_to(request, f"{HERE}/{done.id}", f"{words}: {done.title or mask_address(done.url)}")


@post("/console/feeds/import", status_code=200, opt={SCOPE: "write"})
async def import_feeds(request: AnyRequest) -> Response[bytes]:
    """Subscribe to every feed of an uploaded or pasted list."""
    form, services = await read_form(request), services_of(request)
    upload = form.get("file")
    data = await upload.read() if isinstance(upload, UploadFile) else b""
    data = data or text_field(form, "list", app_state_of(request).config.import_bytes).encode()
    if not data:
        message = "choose a file, or paste a list of addresses"
        raise UsageError(message)
    done = await subscriptions.import_list(data, services, tags=tags_of(text_field(form, "tags")))
    return page(request, "imported.html", title="Imported", here=HERE, done=done)


@post("/console/feeds/bulk", status_code=200, opt={SCOPE: "write"})
async def bulk(request: AnyRequest) -> Response[bytes]:
    """Ask before something is done to many feeds; do it when the answer was yes."""
    form, services = await read_form(request), services_of(request)
    tag = text_field(form, "tag")
    action = subscriptions.bulk_action(text_field(form, "action"), tag)
    where = feed_filter({key: str(value) for key, value in form.multi_items()})
    is_all = form.get("all") == "1"
    if is_all:
        ids = await subscriptions.matching_feed_ids(where, services)
    else:
        ids = tuple(str(one) for one in form.getall("feed", []))[: subscriptions.MAX_BULK_FEEDS]
    if not ids:
        message = "no feed was selected"
        raise UsageError(message)
    digest, is_confirmed = digest_of(ids), form.get("confirmed") == "1"
    # Feeds come into a list and leave it: the answer holds for those that the question was about.
    is_changed = is_confirmed and is_all and form.get("digest") != digest
    if is_confirmed and not is_changed:
        count = await subscriptions.apply_to_feeds(action, ids, services, tag=tag)
        words = f"{_WORDS[action]} {count:,} {'feed' if count == 1 else 'feeds'}: done."
        return go_to(request, _link(query_of(where)), words)
    shown = [await services.store.feed(one) for one in ids[:20]]
    return page(
        request,
        "bulk.html",
        title="Confirm",
        here=HERE,
        action=action,
        words=_WORDS[action],
        tag=tag,
        ids=ids,
        is_all=is_all,
        is_changed=is_changed,
        digest=digest,
        shown=[feed for feed in shown if feed is not None],
        chosen=query_of(where),
        back=_link(query_of(where)),
    )


def feed_filter(given: dict[str, Any]) -> FeedFilter:
    """The filter that a query or a form asks for; what has no meaning is left out."""
    order = given.get("order", "name")
    state = given.get("state")
    return FeedFilter(
        text=text_field(given, "text") or None,
        tag=text_field(given, "with_tag") or None,
        host=text_field(given, "host") or None,
        state=cast("FeedListState", state) if state in get_args(FeedListState) else None,
        order=cast("FeedOrder", order) if order in get_args(FeedOrder) else "name",
        descending=bool(given.get("down")),
    )


def query_of(where: FeedFilter) -> dict[str, str]:
    """The filter as the fields of a query."""
    pairs = {
        "text": where.text or "",
        "with_tag": where.tag or "",
        "host": where.host or "",
        "state": where.state or "",
        "order": where.order,
        "down": "1" if where.descending else "",
    }
    return {name: value for name, value in pairs.items() if value}


def mark_of(feed: Feed) -> str:
    """The colour of a feed's state."""
    if feed.paused or feed.last_result is None:
        return "same"
    is_well = feed.schedule.health == "active" and feed.schedule.circuit == "closed"
    return "ok" if is_well else "theirs"


def _link(chosen: dict[str, str], **more: str | None) -> str:
    fields = {name: value for name, value in {**chosen, **more}.items() if value}
    return f"{HERE}?{urlencode(fields)}" if fields else HERE
