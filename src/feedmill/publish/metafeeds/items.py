"""A collection and its entries, ready for any feed format: checked again, never trusted.

What is stored was cleaned when it came in (D18). A meta-feed goes to readers that we know nothing
about, so every text loses what XML forbids and every address is parsed once more on the way out.

The periods of archive documents (RFC 5005 section 4): years, months, days, hours and minutes in UTC.

An archive document holds what came in during its period. Where that is more than a page, the next shorter
period is used instead. So the address of a document says what belongs to it: entries that come in later or
are removed never move another entry into another document.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.urls import http_url, join_url, split_url
from feedmill.model.base import Value
from feedmill.model.entry import Author, EntryEnclosure
from feedmill.model.event import StoredEntry

GENERATOR: Final = "feedmill"

# All but the characters of XML 1.0 (section 2.2); a lone surrogate cannot even be encoded.
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,8}")  # RFC 5646, its form
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}")
_MAIL: Final = re.compile(r"[^@\s<>()\"',;:?&#%]{1,128}@[^@\s<>()\"',;:?&#%]{1,255}")
_TAGLIKE: Final = re.compile(r"<[A-Za-z/!?]")
_FORMS: Final = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d", 13: "%Y-%m-%dT%H", 16: "%Y-%m-%dT%H:%M"}
_LENGTHS: Final = {10: timedelta(days=1), 13: timedelta(hours=1), 16: timedelta(minutes=1)}
_FIRST_YEAR: Final = 1970


class MetaFeed(Value):
    """A collection on its way out; `key` names it for ever, its addresses may change."""

    key: str
    title: str
    updated: datetime
    self_url: str
    home_url: str
    description: str = ""
    first_url: str | None = None  # RFC 5005 section 3
    next_url: str | None = None
    previous_url: str | None = None
    archive: bool = False  # an archive document (section 4)
    current_url: str | None = None  # of an archive document
    prev_archive_url: str | None = None
    next_archive_url: str | None = None
    hub_url: str | None = None
    language: str | None = None


def paging_links(feed: MetaFeed) -> tuple[tuple[str, str], ...]:
    """The links of RFC 5005 that the document has: relation and address."""
    links = (
        ("self", feed.self_url),
        ("first", feed.first_url),
        ("next", feed.next_url),
        ("previous", feed.previous_url),
        ("current", feed.current_url),
        ("prev-archive", feed.prev_archive_url),
        ("next-archive", feed.next_archive_url),
    )
    return tuple((rel, url) for rel, url in links if url)


class EntrySource(Value):
    """The feed that an entry came from."""

    feed_id: str
    url: str
    title: str | None = None
    site_url: str | None = None


class Item(Value):
    """One entry, ready for any format: texts are legal, addresses are http(s), dates are there."""

    id: str
    published: datetime
    updated: datetime
    title: str
    link: str | None
    summary: str
    content: str  # HTML
    authors: tuple[Author, ...]
    categories: tuple[str, ...]
    enclosures: tuple[EntryEnclosure, ...]
    image: str | None
    comments_url: str | None
    language: str | None
    source: EntrySource | None


def feed_urn(key: str) -> str:
    """The id of a collection: the same wherever it is served."""
    return (
        f"urn:feedmill:collection:{hashlib.sha256(xml_legal_text(key).encode()).hexdigest()[:32]}"
    )


def entry_urn(entry_uid: str) -> str:
    """The id of an entry: the same in every collection and format."""
    return f"urn:feedmill:entry:{xml_legal_text(entry_uid)}"


def source_urn(feed_id: str) -> str:
    """The id of a feed that entries come from."""
    return f"urn:feedmill:feed:{xml_legal_text(feed_id)}"


def title_of(feed: MetaFeed) -> str:
    """What the collection is called; every format wants a name."""
    return xml_legal_text(feed.title).strip() or GENERATOR


def items_of(
    entries: Iterable[StoredEntry], sources: Mapping[str, EntrySource]
) -> tuple[Item, ...]:
    """The entries in their order; an id that comes twice is shown once."""
    items = {entry.entry_uid: _item(entry, sources.get(entry.feed_id)) for entry in entries}
    return tuple(items.values())


def xml_legal_text(text: str | None) -> str:
    """The text without what no XML document may contain."""
    return _FORBIDDEN.sub("", text) if text else ""


def public_http_url(url: str | None) -> str | None:
    """The address if it is http or https, serialised and without user information."""
    href = http_url(xml_legal_text(url))
    if href is None:
        return None
    parts = split_url(href)
    return join_url(replace(parts, userinfo="")) if parts.userinfo else href


def language_tag(language: str | None) -> str | None:
    """The language if it has the form of a tag."""
    return language if language and _LANGUAGE.fullmatch(language) else None


def escape_markup(text: str) -> str:
    """Text that is no markup for a reader that takes it as HTML either.

    RSS never said which of the two a title is. What looks like a tag is escaped once more; a
    plain `AT&T` or `a < b` stays as it is.
    """
    if not _TAGLIKE.search(text):
        return text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def rfc3339(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second."""
    return f"{moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()}Z"


def _item(entry: StoredEntry, source: EntrySource | None) -> Item:
    published = entry.published_effective or entry.first_seen
    return Item(
        id=entry_urn(entry.entry_uid),
        published=published,
        updated=entry.updated or published,
        title=xml_legal_text(entry.title),
        link=public_http_url(entry.canonical_link) or public_http_url(entry.link),
        summary=xml_legal_text(entry.summary),
        content=xml_legal_text(entry.content),
        authors=tuple(person for one in entry.authors if (person := _author(one))),
        categories=tuple(
            dict.fromkeys(text for one in entry.categories if (text := xml_legal_text(one)))
        ),
        enclosures=tuple(file for one in entry.enclosures if (file := _enclosure(one))),
        image=public_http_url(entry.image),
        comments_url=public_http_url(entry.comments_url),
        language=language_tag(entry.language),
        source=None if source is None else _source(source),
    )


def _author(author: Author) -> Author | None:
    """The author with what can be shown; None when nothing of it can."""
    email = mail if _MAIL.fullmatch(mail := xml_legal_text(author.email)) else None
    name = xml_legal_text(author.name).strip() or email
    if not name:
        return None
    return Author(name=name, email=email, uri=public_http_url(author.uri))


def _enclosure(enclosure: EntryEnclosure) -> EntryEnclosure | None:
    url = public_http_url(enclosure.url)
    if url is None or enclosure.alternate:  # a reader would show it as a second file
        return None
    media_type = (
        enclosure.type if enclosure.type and _MEDIA_TYPE.fullmatch(enclosure.type) else None
    )
    return EntryEnclosure(
        url=url,
        type=media_type,
        length=_count(enclosure.length),
        title=xml_legal_text(enclosure.title) or None,
        duration=_count(enclosure.duration),
    )


def _source(source: EntrySource) -> EntrySource:
    return EntrySource(
        feed_id=source.feed_id,
        url=public_http_url(source.url) or "",
        title=xml_legal_text(source.title).strip() or None,
        site_url=public_http_url(source.site_url),
    )


def _count(number: int | None) -> int | None:
    return number if number is not None and number >= 0 else None


class Period(Value):
    """From `start` until before `end`."""

    name: str  # "2026", "2026-11", "2026-11-16", "2026-11-16T09", "2026-11-16T09:30"
    start: datetime
    end: datetime

    @property
    def is_shortest(self) -> bool:
        """A minute is not split, however much came in."""
        return len(self.name) == max(_FORMS)


def read_period(name: str) -> Period | None:
    """The period of that name; None when it is no name of one."""
    form = _FORMS.get(len(name))
    try:
        start = datetime.strptime(name, form or "").replace(tzinfo=UTC)
        if start.year < _FIRST_YEAR or start.strftime(form or "") != name:
            return None
        return Period(name=name, start=start, end=_end(start, len(name)))
    except (ValueError, OverflowError):
        return None


def periods_around(at: datetime) -> tuple[Period, ...]:
    """The periods that hold an instant, the longest first."""
    found = (read_period(at.astimezone(UTC).strftime(form)) for form in _FORMS.values())
    return tuple(period for period in found if period is not None)


def _end(start: datetime, chars: int) -> datetime:
    if chars in _LENGTHS:
        return start + _LENGTHS[chars]
    is_year = chars == min(_FORMS)
    months = start.year * 12 + (12 if is_year else start.month)
    return start.replace(year=months // 12, month=months % 12 + 1)
