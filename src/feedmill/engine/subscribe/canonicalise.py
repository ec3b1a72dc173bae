"""Drives the search for a feed's canonical address: fetches and looks up what the search asks for.

The search (canonicalise/search.py) decides everything. The functions that a caller may bring in
place of ours are those of seed 004: `fetch_fn`, `verify_fn`, `exists_fn`, `hash_fn`.
"""

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import TypeVar

from msgspec.structs import replace

from feedmill.canonicalise.search import CanonicalOptions, canonicalise
from feedmill.canonicalise.signature import body_digest, feed_signature
from feedmill.canonicalise.urls import http_url
from feedmill.config import Config
from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.fetch.headers import header_value, link_headers, links_with_rel
from feedmill.model.base import Value
from feedmill.model.canonical import Ask, Canonical, Existing, Lookup, NotCanonical, Seen
from feedmill.model.fetch import Headers, RawDocument
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.parse.document import parse_document

T = TypeVar("T")
ProbeUrl = Callable[[str], Awaitable[Seen]]
VerifyFunction = Callable[[str], bool | Awaitable[bool]]
ExistsFunction = Callable[
    [Sequence[str]], "Existing | str | Awaitable[Existing | str | None] | None"
]
HashFunction = Callable[[bytes], str | Awaitable[str]]


class Reply(Value):
    """What a caller's own `fetch_fn` brings back: the last answer after redirects."""

    url: str  # where it ended
    status: int
    body: bytes | str = b""
    headers: Headers = ()


class Face(Value):
    """What a caller's own `parse_fn` says of a body; None in its place: no feed."""

    self_url: str | None = None
    signature: str = ""


FetchFunction = Callable[[str], Reply | Awaitable[Reply]]
ParseFunction = Callable[[bytes, str], Face | None]


class Hooks(Value):
    """A caller's own checks and listeners during a search."""

    exists_fn: ExistsFunction | None = None
    verify_fn: VerifyFunction | None = None
    on_fetch: Callable[[str, Seen], object] | None = None  # every answer
    on_match: Callable[[str, Seen], object] | None = None  # every address that proved to be it
    on_exists: Callable[[Existing], object] | None = None


_NO_HOOKS = Hooks()


async def canonicalise_with(
    probe: ProbeUrl, address: str, options: CanonicalOptions, hooks: Hooks = _NO_HOOKS
) -> Canonical | NotCanonical:
    """The one right address of the feed at an address, by any prober."""
    search = canonicalise(address, options)
    seen_by_url: dict[str, Seen] = {}
    answer: Seen | Existing | None = None
    while True:
        try:
            question = search.send(answer)
        except StopIteration as end:
            return _with_matches(end.value, seen_by_url, hooks)
        if isinstance(question, Ask):
            answer = seen_by_url[question.url] = await _asked(question.url, probe, hooks)
        else:
            answer = await _looked_up(question, hooks)


def prober_from_functions(
    fetch_fn: FetchFunction,
    config: Config,
    *,
    hash_fn: HashFunction | None = None,
    parse_fn: ParseFunction | None = None,
) -> ProbeUrl:
    """A prober made of a caller's own functions."""

    async def probe(url: str) -> Seen:
        try:
            reply = await await_if_awaitable(fetch_fn(url))
        except Exception as problem:  # noqa: BLE001  # foreign code: whatever it raises is "no answer"
            words = f"{type(problem).__name__}: {problem}"
            return Seen(url=url, final_url=url, reason="connection-failed", detail=words)
        return await _read(url, reply, config, hash_fn or body_digest, parse_fn)

    return probe


def _with_matches(
    found: Canonical | NotCanonical, seen_by_url: dict[str, Seen], hooks: Hooks
) -> Canonical | NotCanonical:
    if isinstance(found, Canonical) and hooks.on_match is not None:
        for url in found.proven:
            if url in seen_by_url:
                hooks.on_match(url, seen_by_url[url])
    return found


async def _asked(url: str, probe: ProbeUrl, hooks: Hooks) -> Seen:
    """The answer, unless the caller objects to the address or to where it leads."""
    if not await _is_verified(url, hooks):
        return Seen(url=url, final_url=url, spent=False, reason="refused", detail="by the caller")
    seen = await probe(url)
    if hooks.on_fetch is not None and seen.status is not None:
        hooks.on_fetch(url, seen)
    if seen.final_url == url:
        return seen
    if http_url(seen.final_url) is None or not await _is_verified(seen.final_url, hooks):
        return replace(
            seen,
            is_feed=False,
            reason="refused",
            detail="it redirects to an address that is refused",
        )
    return seen


async def _is_verified(url: str, hooks: Hooks) -> bool:
    return hooks.verify_fn is None or await await_if_awaitable(hooks.verify_fn(url))


async def _looked_up(question: Lookup, hooks: Hooks) -> Existing | None:
    if hooks.exists_fn is None:
        return None
    found = await await_if_awaitable(hooks.exists_fn(question.urls))
    if not found:
        return None
    known = Existing(url=found) if isinstance(found, str) else found
    if hooks.on_exists is not None:
        hooks.on_exists(known)
    return known


async def _read(
    url: str, reply: Reply, config: Config, hash_fn: HashFunction, parse_fn: ParseFunction | None
) -> Seen:
    """The caller's answer as the search sees it."""
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    seen = Seen(url=url, final_url=reply.url, status=reply.status)
    if not 200 <= reply.status < 300:
        return replace(seen, reason="http-status", detail=f"it answered {reply.status}")
    links = link_headers(reply.headers, reply.url)
    face: Face | Unreadable | None
    if parse_fn:
        face = parse_fn(body, reply.url)
    else:
        face = await PARSE_THREADS.run(lambda: _face(body, reply, config))
    if isinstance(face, Unreadable):
        return replace(seen, reason=face.reason, detail=face.detail)
    if face is None or not body:
        return replace(seen, reason="not-a-feed")
    own = () if face.self_url is None else (face.self_url,)
    return replace(
        seen,
        is_feed=True,
        digest=await await_if_awaitable(hash_fn(body)),
        signature=face.signature,
        self_urls=(*links_with_rel(links, "self"), *own),
    )


def _face(body: bytes, reply: Reply, config: Config) -> Face | Unreadable:
    content_type = header_value(reply.headers, "content-type")
    document = RawDocument(body=body, url=reply.url, content_type=content_type)
    parsed = parse_document(document, config.parse)
    if isinstance(parsed, Unreadable):
        return parsed
    return face_of(parsed)


def face_of(parsed: ParsedFeed) -> Face:
    """What the search compares of a parsed feed."""
    return Face(self_url=parsed.self_url, signature=feed_signature(parsed))


async def await_if_awaitable(value: T | Awaitable[T]) -> T:
    return await value if isawaitable(value) else value
