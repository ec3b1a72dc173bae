"""Discovers the feeds of a page: declared links, platform rules, and guesses that robots.txt allows.

The address was given by a person and has been fetched. Before anything in the page is used, its
robots.txt is checked, and again before every request that nothing in the page names. Feeds that
the page declares are invitations, and a platform's feed addresses are documented by the platform:
for those robots.txt is not checked.

Why no feed was found at an address, in words: what the server did, and what helps.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

# Tested in tests/unit/engine/subscribe/test_discover.py and tests/integration/engine/subscribe/
from typing import Final, Protocol

from msgspec.structs import replace

from feedmill.canonicalise.discovery.html_page import HtmlPage, read_page
from feedmill.canonicalise.discovery.search import (
    DISALLOWED,
    DiscoverySteps,
    FindOptions,
    check_feeds,
    find_feeds,
)
from feedmill.engine.documents.read_document import NotAFeed
from feedmill.errors import NoFeedError
from feedmill.fetch.guard import printable_url
from feedmill.fetch.headers import header_value, link_headers
from feedmill.model.canonical import Ask, Found, FoundFeed, NotCanonical, Seen
from feedmill.model.fetch import HOST_FAILURES, RawResponse

ProbeUrl = Callable[[str], Awaitable[Seen]]
AS_IS: Final = "to add it unchecked, and let polling try again: --as-is (over the API: as_is)"

# The server's failure rather than the address's: tomorrow it may be a feed again.
_TRANSIENT: Final = HOST_FAILURES | {"bot-wall", "rate-limited", "forbidden", "truncated"}
_LATER: Final = f"try again later, or {AS_IS.removeprefix('to ')}"
_LOGIN: Final = "give --username, and the password when asked (over the API: username, password)"
_AGENT: Final = "try another --user-agent (over the API: user_agent), or try again later"

# What the server did, and what helps.
_WORDS: Final = {
    "auth-required": ("wants a login", _LOGIN),
    "login-page": ("answers with a page that asks for a login", _LOGIN),
    "forbidden": ("refuses the request", f"{_AGENT}; if it is for members only: --username"),
    "bot-wall": ("answers programs with a challenge page", _AGENT),
    "rate-limited": ("receives too many requests", _LATER),
    "unavailable": ("is not available at the moment", _LATER),
    "server-error": ("fails to answer", _LATER),
    "timeout": ("did not answer in time", _LATER),
    "timeout-connect": ("could not be reached in time", _LATER),
    "too-slow": ("answers too slowly", _LATER),
    "connection-failed": ("could not be reached", _LATER),
    "dns-failure": ("has a host name that could not be looked up", f"check the spelling; {_LATER}"),
    "tls-failure": (
        "has a TLS certificate or connection that cannot be trusted",
        "ask its operator, or accept the risk: --insecure",
    ),
    "truncated": ("broke off in the middle of its answer", _LATER),
    "legally-unavailable": ("may not be served here, for legal reasons", AS_IS),
    **dict.fromkeys(
        ("private-address", "local-name", "dotless-name"),
        (
            "leads to a private address, which is not fetched",
            "to allow its network: the setting fetch.allow_cidrs",
        ),
    ),
    "redirect-loop": ("redirects in a circle", _LATER),
    "downgrade": (
        "redirects from https to http, which is not followed",
        "give the address with http:// if you trust it",
    ),
    "empty-body": ("answers with nothing", _LATER),
    "not-found": ("does not exist", f"check the spelling, or give the site's address; {AS_IS}"),
    "gone": ("was removed for good", "give the site's address: it may have another feed"),
}


_FRUITLESS: Final = frozenset({"nothing-found", "budget-spent", "catch-all"})
_ITSELF: Final = "give the address of the feed itself"


class Gate(Protocol):
    """Says what robots.txt lets us request; RobotsGate is one."""

    async def allows(self, url: str) -> bool: ...


async def discover(
    response: RawResponse,
    *,
    gate: Gate,
    ask: ProbeUrl,
    thread_bytes: int,
    options: FindOptions | None = None,
) -> Found:
    """The feeds that the answer of a page leads to; `ask` probes an address politely.

    An answer that is no page (an error, a page that robots.txt forbids) is not read; what its
    address alone brings to mind is tried all the same. After a 429 nothing is.
    """
    if response.status == 429:
        return Found(feeds=(), reason="rate-limited")
    is_allowed = await gate.allows(response.final_url)
    is_page = response.status is not None and 200 <= response.status < 300
    begin = partial(_begin, response, options, is_read=is_allowed and is_page)
    if len(response.body) > thread_bytes:
        search, step = await asyncio.to_thread(begin)
    else:
        search, step = begin()
    found = await _run(search, step, gate, ask)
    if not is_allowed and found.reason in _FRUITLESS:
        return replace(found, reason="disallowed")  # the reason a person can act on
    return found


async def check_known(
    feeds: Sequence[FoundFeed], *, gate: Gate, ask: ProbeUrl, options: FindOptions
) -> Found:
    """Which of the feeds that a rule or a list names are alive, best first."""
    search = check_feeds(feeds, options)
    return await _run(search, _next(search, None), gate, ask)


async def _run(search: DiscoverySteps, step: Ask | Found, gate: Gate, ask: ProbeUrl) -> Found:
    while isinstance(step, Ask):
        step = _next(search, await _answer(step, gate, ask))
    return step


def _begin(
    response: RawResponse, options: FindOptions | None, *, is_read: bool
) -> tuple[DiscoverySteps, Ask | Found]:
    """The search and its first step, which is where all the reading is done."""
    page = HtmlPage(url=response.final_url, base=response.final_url)
    if is_read:
        page = read_page(
            response.body,
            response.final_url,
            link_headers(response.headers, response.final_url),
            content_type=header_value(response.headers, "content-type"),
        )
    search = find_feeds(page, options)
    return search, _next(search, None)


def _next(search: DiscoverySteps, answer: Seen | None) -> Ask | Found:
    try:
        return next(search) if answer is None else search.send(answer)
    except StopIteration as end:
        found: Found = end.value
        return found


async def _answer(question: Ask, gate: Gate, ask: ProbeUrl) -> Seen:
    url = question.url
    if question.role == "guess" and not await gate.allows(url):
        return Seen(url=url, final_url=url, spent=False, reason=DISALLOWED, detail="by robots.txt")
    return await ask(url)


def nothing_found_error(
    page: Seen, found: Found, budget: int, *, instead: NotAFeed | None
) -> NoFeedError:
    """The error for a page on which no feed was found: what was tried, and what helps.

    `instead` is what kind of page it is; a login or a challenge says more than where no feed was.
    """
    where, reason, hint = f"{printable_url(page.url)} is a page", "no-feed-found", _ITSELF
    failed = found.failed
    if failed is None and found.reason in _FRUITLESS and instead and instead.reason in _WORDS:
        lost = NotCanonical(reason=instead.reason, detail=instead.detail, status=page.status)
        return no_feed_error(page.url, lost)
    if failed is not None and found.reason != "rate-limited":
        error = no_feed_error(failed.url, failed)
        message = f"{where} that declares a feed, but {error}; {words_of_end(found, budget)}"
        return NoFeedError(
            message, reason=error.reason, is_passing=error.is_passing, hint=error.hint
        )
    match found.reason:
        case "rate-limited":
            reason, hint = found.reason, "try again later"
        case "disallowed":
            reason = "robots-disallowed"
        case "budget-spent":
            all_of_it = len(found.asked) + len(found.untried)
            reason, hint = (
                found.reason,
                f"try them all: --budget {all_of_it} (over the API: budget)",
            )
            hint = f"{hint}; or {_ITSELF}"
        case "catch-all":
            reason = found.reason
    message = f"{where}, and {words_of_end(found, budget)}"
    return NoFeedError(message, reason=reason, is_passing=reason == "rate-limited", hint=hint)


def words_of_end(found: Found, budget: int) -> str:
    """Why a search for feeds ended, in words."""
    tried, left = len(found.asked), len(found.untried)
    match found.reason:
        case "proven":
            return (
                f"{_counted(len(found.feeds), 'feed')} found, {_counted(tried, 'request')} for them"
            )
        case "declared":
            return f"{_counted(len(found.feeds), 'feed')} listed there, and not requested"
        case "rate-limited":
            return f"its host answered 429 before a feed was found ({_counted(tried, 'request')})"
        case "disallowed":
            return "its robots.txt does not let programs read it, or cannot be read"
        case "budget-spent":
            rest = "1 more address was" if left == 1 else f"{left} more addresses were"
            return f"no feed was found within {_counted(budget, 'request')}; {rest} not tried"
        case "catch-all":
            return (
                "its site answers every address with a page, so that a feed cannot be guessed"
                f" ({_counted(tried, 'request')})"
            )
        case "nothing-found":
            return f"no feed was found on it or at the usual addresses ({tried} tried)"


def no_feed_error(url: str, found: NotCanonical | Seen) -> NoFeedError:
    """The error for an address at which no feed was found."""
    is_transient, where = found.reason in _TRANSIENT, printable_url(url)
    facts = [found.reason, *([f"HTTP {found.status}"] if found.status else []), found.detail]
    why = ": ".join(dict.fromkeys(one for one in facts if one))
    if found.reason in _WORDS:
        said, hint = _WORDS[found.reason]
        message = f"{where} {said} ({why})"
        if is_transient:
            message += "; it is unknown whether there is a feed"
    elif is_transient:
        message, hint = f"could not check {where} ({why})", _LATER
    else:
        message, hint = f"{where} is not a feed ({why})", AS_IS
    return NoFeedError(message, reason=found.reason, is_passing=is_transient, hint=hint)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
