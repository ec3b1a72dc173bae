"""Describes the health of a feed: what is wrong, since when, what was tried, what comes next."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from feedmill.engine.documents.raw_documents import load_document
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.run.services import Services
from feedmill.engine.service.hosts import PAUSED, effects_in_words, hold_in_words
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES
from feedmill.identify.hashes import volatile_levels
from feedmill.model.addresses import mask_address
from feedmill.model.feed import Feed, FetchRecord
from feedmill.publish.shapes import HealthKind, HealthShape
from feedmill.publish.to_shapes import attempt_shape, to_utc
from feedmill.schedule.explain import duration_in_words, instant_in_words

if TYPE_CHECKING:
    from feedmill.parse.xml.tree import XmlFault

_HISTORY: Final = 100  # fetches that are looked at to find the beginning of a row of failures
_SHOWN: Final = 10
_WAIT: Final = "Wait: it is polled again, at longer intervals"
_BROKEN: Final = frozenset({"markup-recovered", "items-salvaged", "truncated", "namespace-guessed"})

# Each kind in words, and what to do about it.
_WORDS: Final[dict[HealthKind, tuple[str, str]]] = {
    "bot-wall": (
        "Something in front of the feed keeps programs out",
        "Ask the publisher to let the feed's address pass, or look for another address of the feed",
    ),
    "dns": ("The host's name has no address", "Check the spelling of the host; it may be gone"),
    "tls": (
        "The server's TLS certificate or handshake is invalid",
        "The publisher has to repair it; feedmill never skips the check by itself",
    ),
    "network": ("No complete answer came over the network", _WAIT),
    "http": ("The server answers, but not with the feed", "See the status and the detail"),
    "too-large": (
        "The document is larger than the limits allow",
        "Raise the limits in the settings if you trust the publisher",
    ),
    "content": (
        "What the server sends cannot be read as a feed",
        "Look at the raw document; the publisher has to repair it, or the address belongs to another page",
    ),
    "refused": (
        "The address is one that feedmill does not fetch",
        "To allow it, add its network to FEEDMILL_EGRESS_ALLOW_CIDRS",
    ),
    "gone": ("The publisher says that the feed is gone", "Remove it, or look for a new address"),
}
# What to do about one reason, where that is more than what its kind asks for.
_ADVICE: Final = {
    "auth-required": "The feed wants a login: give its user name and password, with `feedmill add --username` or PATCH",
    "not-found": "Check the address, or look for a new one: `feedmill discover` of its site",
    "rate-limited": "Wait: the server asked for fewer requests, and says when",
    "server-error": _WAIT,
    "unavailable": _WAIT,
}
_KINDS: Final[dict[str, HealthKind]] = {
    "bot-wall": "bot-wall",
    "dns-failure": "dns",
    "unresolved": "dns",
    "tls-failure": "tls",
    "too-large": "too-large",
    "headers-too-large": "too-large",
    "gone": "gone",
}
_GROUPS: Final[tuple[tuple[HealthKind, frozenset[str]], ...]] = (
    (
        "network",
        frozenset(
            {"timeout-connect", "timeout", "too-slow", "connection-failed", "protocol-error",
             "truncated", "decode-failed", "unsupported-encoding"}
        ),
    ),
    (
        "content",
        frozenset(
            {"empty", "empty-body", "html-page", "login-page", "error-document", "opml", "binary",
             "not-a-feed", "malformed", "content-type"}
        ),
    ),
    (
        "refused",
        frozenset(
            {"malformed-url", "unsafe-character", "too-long", "scheme", "empty-host", "bad-host",
             "non-canonical-ipv4", "dotless-name", "local-name", "bad-port", "bad-address",
             "private-address", "host-not-listed"}
        ),
    ),
)  # fmt: skip


async def describe_health(feed: Feed, services: Services) -> HealthShape:
    """The feed's state with its history, in words and in words that can be counted."""
    page = await services.store.fetches(feed.id, limit=_HISTORY)
    flaw = await _flaw(page.items[0], services) if page.items else None
    kind, since, errors = _kind(feed), _since(page.items), feed.schedule.errors
    budget = services.config.schedule.error_budget
    return HealthShape(
        feed_id=feed.id,
        url=mask_address(feed.url),
        health=feed.schedule.health,
        kind=kind,
        paused=feed.paused,
        reason=feed.last_result,
        detail=feed.last_detail or None,
        since=None if since is None else to_utc(since),
        consecutive_failures=feed.schedule.consecutive_failures,
        last_success_at=None if feed.last_success_at is None else to_utc(feed.last_success_at),
        next_poll_at=to_utc(feed.next_poll_at),
        line=flaw.line if flaw else None,
        column=flaw.column if flaw else None,
        circuit=feed.schedule.circuit,
        circuit_since=None
        if errors is None or errors.opened_at is None
        else to_utc(errors.opened_at),
        error_budget_used=0.0 if errors is None else round(errors.spent / budget, 3),
        volatile_fields=tuple(volatile_levels(feed.volatile_fields)),
        attempts=tuple(attempt_shape(fetch) for fetch in page.items[:_SHOWN]),
        words=(
            *_words(
                feed, kind, since, flaw, services.clock.now(), await hold_in_words(feed, services)
            ),
            *await effects_in_words(feed, services),
        ),
    )


def health_in_brief(feed: Feed) -> str:
    """The feed's state in a few words, for a list."""
    kind = _kind(feed)
    if kind == "well" and feed.schedule.circuit == "open":
        return "circuit open: works and fails by turns"
    if kind in ("well", "paused"):
        return kind
    if kind == "not-polled":
        return "not polled yet"
    count, health = feed.schedule.consecutive_failures, feed.schedule.health.replace("-", " ")
    status = f"HTTP {feed.last_status}, " if feed.last_status is not None else ""
    failures = "1 failure" if count == 1 else f"{count:,} failures"
    return f"{health}: {_WORDS[kind][0].lower()} ({status}{feed.last_result}), {failures}"


def health_kind_of(reason: str) -> HealthKind:
    """The family that a reason belongs to; other statuses count as the server's answer."""
    if reason in _KINDS:
        return _KINDS[reason]
    return next((kind for kind, reasons in _GROUPS if reason in reasons), "http")


def _kind(feed: Feed) -> HealthKind:
    if feed.paused:
        return "paused"
    if feed.last_result is None:
        return "not-polled"
    if feed.schedule.health == "gone":
        return "gone"
    return "well" if feed.last_result in SUCCESSFUL_OUTCOMES else health_kind_of(feed.last_result)


def _since(fetches: tuple[FetchRecord, ...]) -> datetime | None:
    """When the present row of failures began, as far back as is remembered."""
    began: datetime | None = None
    for fetch in fetches:
        if fetch.outcome in SUCCESSFUL_OUTCOMES:
            break
        began = fetch.fetched_at
    return began


async def _flaw(fetch: FetchRecord, services: Services) -> "XmlFault | None":
    """Where the document of the last poll is broken, when it is and when it is still kept."""
    if fetch.outcome != "malformed" and not _BROKEN & set(fetch.repairs):
        return None
    document = await load_document(fetch, services.store, services.blobs)
    if document is None:
        return None
    from feedmill.parse.xml.tree import first_xml_fault  # noqa: PLC0415  # with it lxml

    return await PARSE_THREADS.run(lambda: first_xml_fault(document, services.config.parse))


def _words(
    feed: Feed,
    kind: HealthKind,
    since: datetime | None,
    flaw: "XmlFault | None",
    now: datetime,
    hold: str | None,
) -> tuple[str, ...]:
    said = [_state(feed, kind, now)]
    if flaw is not None:
        said.append(f"The XML is broken at line {flaw.line}, column {flaw.column}: {flaw.message}.")
    if since is not None and kind in _WORDS:
        said += [_tried(feed, since), f"{_ADVICE.get(feed.last_result or '', _WORDS[kind][1])}."]
    if kind != "paused":
        said.append(hold or _next(feed, now))
    return tuple(said)


def _state(feed: Feed, kind: HealthKind, now: datetime) -> str:
    if kind == "paused":
        return PAUSED
    if kind == "not-polled":
        return "The feed has not been polled yet."
    if kind == "well":
        passed = (now - (feed.last_success_at or now)) / timedelta(seconds=1)
        ago = duration_in_words(max(passed, 0.0))
        how = "is well" if feed.schedule.circuit == "closed" else "answers, but not always"
        return f"The feed {how}; it last answered {ago} ago ({feed.last_result})."
    status = f"HTTP {feed.last_status}, " if feed.last_status is not None else ""
    detail = f": {feed.last_detail}" if feed.last_detail and kind != "gone" else ""
    return f"{_WORDS[kind][0]} ({status}{feed.last_result}){detail}."


def _tried(feed: Feed, since: datetime) -> str:
    count = feed.schedule.consecutive_failures
    times = "once" if count == 1 else f"{count} times in a row"
    before = feed.last_success_at
    last = f"it last worked at {instant_in_words(before)}" if before else "it has never worked"
    return f"It has failed {times} since {instant_in_words(since)}; {last}."


def _next(feed: Feed, now: datetime) -> str:
    if feed.next_poll_at <= now:
        return "The next poll is due now."
    wait = (feed.next_poll_at - now) / timedelta(seconds=1)
    when = instant_in_words(feed.next_poll_at)
    return f"The next poll is due at {when}, in {duration_in_words(wait)}."
