"""Discovers the feeds of a page: declared links, platform rules, and guesses that robots.txt allows.

The address was given by a person and has been fetched. Before anything in the page is used, its
robots.txt is checked, and again before every request that nothing in the page names. Feeds that
the page declares are invitations, and a platform's feed addresses are documented by the platform:
for those robots.txt is not checked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from feedmill.canonicalise.discovery.html_page import HtmlPage, read_page
from feedmill.canonicalise.discovery.search import (
    DISALLOWED,
    DiscoverySteps,
    FindOptions,
    check_feeds,
    find_feeds,
)
from feedmill.fetch.headers import header_value, link_headers
from feedmill.model.canonical import Ask, Found, FoundFeed, Seen
from feedmill.model.fetch import RawResponse

ProbeUrl = Callable[[str], Awaitable[Seen]]


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
    if not is_allowed and found.reason in ("nothing-found", "budget-spent", "catch-all"):
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
