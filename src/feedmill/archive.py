"""The walk through a feed's archive: which page comes next, and when it ends (RFC 5005).

Pure. A page names the one before it (`prev-archive`), or the next one of a paged feed (`next`, and
`next_url` of JSON Feed). WordPress answers `?paged=N` on every feed without saying so; that is tried
only where the generator is WordPress. Only addresses of the feed's own host are followed.
"""

from hashlib import sha256
from typing import Any, Literal

from msgspec.structs import replace

from feedmill.canonicalise.urls import drop_params, http_url, join_url, split_url
from feedmill.model.base import Value

LinkKind = Literal["prev-archive", "next", "paged"]
StopReason = Literal[
    "no-link",  # the page names no older one
    "nothing-new",  # every entry of the last pages is stored already
    "loop",  # the address or the very bytes were read before
    "page-limit",
    "other-host",
    "not-found",  # the page is not there (any more)
    "not-a-feed",
    "robots",  # robots.txt forbids the addresses that were only guessed
]
_MARK_CHARS = 16
# The current document may hold the months of several archive documents, a month may be empty, and a walk
# that begins anew passes the pages of the one before. A page that was only guessed has to differ from those
# before it: a server that ignores `paged` answers with the current document.
_MOST_BARREN = 12  # pages in a row without anything new


class ArchivePage(Value):
    """What a document says about older pages."""

    url: str  # where it was found
    prev_archive_urls: tuple[str, ...] = ()
    next_urls: tuple[str, ...] = ()
    generator: str | None = None
    entries_mark: str = ""  # of the entries that it holds, see `mark_of`


class ArchiveWalk(Value):
    """How far a walk has come; stored as the cursor of its job."""

    url: str  # the page to read next
    kind: LinkKind
    number: int = 1  # of that page, the current document is 0
    entries: int = 0  # new ones, so far
    barren: int = 0  # pages without new ones, the last ones in a row
    seen: tuple[str, ...] = ()  # marks of the addresses, bodies and entries that were read


class Stop(Value):
    """The walk has ended."""

    reason: StopReason


def first_page(feed: ArchivePage, *, wordpress: bool) -> ArchiveWalk | Stop:
    """The first page of the archive, from the feed's current document."""
    start = ArchiveWalk(
        url=feed.url, kind="next", number=0, seen=(mark_of(feed.url), feed.entries_mark)
    )
    return _onward(start, feed, wordpress=wordpress)


def next_page(
    walk: ArchiveWalk,
    page: ArchivePage,
    *,
    body_sha256: str,
    new_entries: int,
    max_pages: int,
) -> ArchiveWalk | Stop:
    """Where to go after a page was read; `new_entries` is how many of its entries were new."""
    body = body_sha256[:_MARK_CHARS]
    if body in walk.seen:
        return Stop(reason="loop")
    read = replace(
        walk,
        entries=walk.entries + new_entries,
        barren=0 if new_entries else walk.barren + 1,
        seen=(*walk.seen, mark_of(walk.url), body, page.entries_mark),
    )
    is_repeat = walk.kind == "paged" and page.entries_mark in walk.seen
    if read.barren > (0 if is_repeat else _MOST_BARREN):
        return Stop(reason="nothing-new")
    if walk.number >= max_pages:
        return Stop(reason="page-limit")
    return _onward(read, page, wordpress=walk.kind == "paged")


def to_cursor(walk: ArchiveWalk) -> dict[str, Any]:
    """The walk as JSON."""
    return {name: getattr(walk, name) for name in ArchiveWalk.__struct_fields__}


def from_cursor(cursor: dict[str, Any]) -> ArchiveWalk:
    """The walk of a cursor that `to_cursor` wrote."""
    return ArchiveWalk(**{**cursor, "seen": tuple(cursor["seen"])})


def is_wordpress(generator: str | None) -> bool:
    """Whether the feed says that WordPress made it."""
    return generator is not None and "wordpress" in generator.lower()


def mark_of(text: str) -> str:
    """A short digest, to recognise an address or the entries of a page."""
    return sha256(text.encode()).hexdigest()[:_MARK_CHARS]


def _onward(walk: ArchiveWalk, page: ArchivePage, *, wordpress: bool) -> ArchiveWalk | Stop:
    named: list[tuple[LinkKind, str]] = [("prev-archive", url) for url in page.prev_archive_urls]
    named += [("next", url) for url in page.next_urls]
    if not named and wordpress and is_wordpress(page.generator):
        named = [("paged", _paged(walk.url if walk.number else page.url, walk.number + 2))]
    stop = Stop(reason="no-link")
    for kind, reference in named:
        url = http_url(reference, page.url)
        if url is None:
            continue
        if split_url(url).host != split_url(page.url).host:
            stop = Stop(reason="other-host")
        elif mark_of(url) in walk.seen:
            stop = Stop(reason="loop")
        else:
            return replace(walk, url=url, kind=kind, number=walk.number + 1)
    return stop


def _paged(url: str, number: int) -> str:
    """The address with `paged=N` in its query; the current document is page 1."""
    parts = split_url(http_url(url) or url)
    query = drop_params(parts.query or "", lambda name: name == "paged")
    query = f"{query}&paged={number}" if query else f"paged={number}"
    return join_url(replace(parts, query=query, fragment=None))
