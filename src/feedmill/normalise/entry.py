"""Normalises a parsed document: the feed, and each entry by the rules of 003 §3 as D10, D11 and D18 read them.

`feedmill.normalise` at the top level is the function `normalise`; it hides the attribute of the same name
that the package would have; `from feedmill.normalise.text import clean_text` works all the same.
"""

from datetime import datetime, timedelta
from functools import lru_cache

from msgspec.structs import replace

from feedmill.config import NormaliseConfig
from feedmill.model.base import Value
from feedmill.model.entry import Author, Entry, Finding, NormalisedFeed, PublishedSource
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Person, Text
from feedmill.normalise.dates import parse_date
from feedmill.normalise.fields import (
    clean_categories,
    clean_language,
    describe,
    field_findings,
    field_text,
    find_suspicious,
    published_text,
    title_text,
)
from feedmill.normalise.html.sanitise import EntryBody, content_body, summary_body
from feedmill.normalise.links import (
    bad_link,
    entry_files,
    entry_image,
    entry_links,
    usable_http_url,
    with_embeds,
)
from feedmill.normalise.people import clean_authors, redact_emails
from feedmill.normalise.text import remove_surrogates

_SHORT_CHARS = 400  # what is longer is not worth remembering
# Clocks and time zones are wrong by hours; what lies further ahead is an error or a trick to
# stay on top.
_TOLERANCE = timedelta(hours=24)
_DEFAULTS = NormaliseConfig()


class FeedContext(Value):
    """What an entry takes from its feed when it does not say it itself."""

    base: str | None = None
    language: str | None = None
    updated: datetime | None = None


def normalise_entry(
    parsed: ParsedEntry,
    feed: FeedContext,
    config: NormaliseConfig,
    seen_at: datetime | None = None,
) -> Entry:
    """The entry with clean text, sanitised HTML, aware times and canonical links.

    Nothing is invented: an author, a date or a link that the publisher did not give stays empty.
    """
    base = parsed.base or feed.base
    links = entry_links(parsed, base, config)
    files = entry_files(parsed, base, config.max_enclosures)
    moments = read_publication_dates(
        parsed.published or parsed.created, parsed.updated, feed.updated, seen_at
    )
    comments_url = usable_http_url(parsed.comments, base)
    content, fallback = _bodies(parsed, links.link or base, config)
    body = fallback or content
    if body and body.embeds:
        files = with_embeds(files, body.embeds, body.base, config.max_enclosures)
    html = body.html or None if body else None
    entry = Entry(
        guid=remove_surrogates(parsed.id).strip() or None if parsed.id else None,
        guid_is_permalink=parsed.id_is_permalink,
        link=links.link,
        canonical_link=links.canonical_link,
        article_link=links.article_link,
        title=(title_text if config.enabled else published_text)(
            parsed.title, config.title_max_chars
        ),
        summary=_summary(parsed, content, config),
        content=html,
        content_from=None if html is None else "summary" if fallback else "content",
        authors=redact_emails(_authors(parsed.authors, config.max_authors), config.author_emails),
        categories=clean_categories(parsed.categories, config.max_categories),
        enclosures=files.enclosures,
        published=moments.published,
        updated=moments.updated,
        published_effective=moments.published_effective,
        published_source=moments.published_source,
        image=entry_image(parsed, base),
        comments_url=comments_url,
        language=clean_language(parsed.lang) or feed.language,
        slice=parsed.slice,
        findings=(
            *field_findings("title", parsed.title, config.title_max_chars),
            *field_findings("summary", parsed.summary, config.summary_max_chars),
            *_content_findings(content, config),
            *(fallback.findings if fallback else ()),
            *links.findings,
            *files.findings,
            *moments.findings,
            *(bad_link("comments_url", parsed.comments) if comments_url is None else ()),
        ),
    )
    return replace(entry, modified=_modified(parsed, entry, body))


def _authors(persons: tuple[Person, ...], max_authors: int) -> tuple[Author, ...]:
    if len(persons) == 1 and _is_short(persons[0]):
        return _lone_author(persons[0], max_authors)
    return clean_authors(persons, max_authors)


@lru_cache(maxsize=256)
def _lone_author(person: Person, max_authors: int) -> tuple[Author, ...]:
    """Remembered, because the author of one entry is mostly that of the next."""
    return clean_authors((person,), max_authors)


def _is_short(person: Person) -> bool:
    chars = len(person.name or "") + len(person.email or "") + len(person.uri or "")
    return chars <= _SHORT_CHARS


def _bodies(
    parsed: ParsedEntry, base: str | None, config: NormaliseConfig
) -> tuple[EntryBody | None, EntryBody | None]:
    """The content, and the summary in its place when nothing of the content may be shown."""
    content = content_body(parsed, base, config)
    if content and content.html:
        return content, None
    return content, summary_body(parsed.summary, base, config)


def _summary(parsed: ParsedEntry, content: EntryBody | None, config: NormaliseConfig) -> str | None:
    """The publisher's summary, else the beginning of the content as text."""
    max_chars = config.summary_max_chars
    if not config.enabled:
        return published_text(parsed.summary, max_chars)
    summary = field_text(parsed.summary, max_chars)
    if summary is not None or content is None:
        return summary
    return field_text(Text(value=content.html, kind="html"), max_chars)


def _content_findings(content: EntryBody | None, config: NormaliseConfig) -> tuple[Finding, ...]:
    if content is None:
        return ()
    written = content.written[: config.content_max_chars]
    findings = find_suspicious("content", written)
    return (*findings, *content.findings)


def _modified(parsed: ParsedEntry, entry: Entry, body: EntryBody | None) -> tuple[str, ...]:
    """The fields that came out other than they were written, of those that were written."""
    pairs = (
        ("title", parsed.title and parsed.title.value, entry.title),
        ("summary", parsed.summary and parsed.summary.value, entry.summary),
        ("content", body and body.written, entry.content),
        ("link", parsed.link, entry.link),
        ("categories", tuple([c.term for c in parsed.categories]), entry.categories),
        (
            "authors",
            tuple([Author(name=p.name, email=p.email, uri=p.uri) for p in parsed.authors]),
            entry.authors,
        ),
    )
    return tuple([name for name, written, clean in pairs if written and written != clean])


class PublicationDates(Value):
    """The dates of an entry; `published` is None when the publisher gave none that can be read."""

    published: datetime | None = None
    updated: datetime | None = None
    published_effective: datetime | None = None
    published_source: PublishedSource | None = None
    findings: tuple[Finding, ...] = ()


def read_publication_dates(
    published_text: str | None,
    updated_text: str | None,
    feed_updated: datetime | None,
    seen_at: datetime | None,
) -> PublicationDates:
    """The dates, and as effective one the first of: published, updated, the feed's, first seen."""
    published, updated = parse_date(published_text), parse_date(updated_text)
    effective, source = _effective(published, updated, feed_updated, seen_at)
    findings = (
        *_unread("published", published_text, published),
        *_unread("updated", updated_text, updated),
    )
    if effective is not None and _lies_ahead(effective, seen_at):
        findings += (Finding(code="future-date", field="published", detail=effective.isoformat()),)
        effective, source = seen_at, "first_seen"
    return PublicationDates(
        published=published,
        updated=updated,
        published_effective=effective,
        published_source=source,
        findings=findings,
    )


def _effective(
    published: datetime | None,
    updated: datetime | None,
    feed_updated: datetime | None,
    seen_at: datetime | None,
) -> tuple[datetime | None, PublishedSource | None]:
    if published is not None:
        return published, "published"
    if updated is not None:
        return updated, "updated"
    if feed_updated is not None:
        return feed_updated, "feed"
    return seen_at, None if seen_at is None else "first_seen"


def _lies_ahead(moment: datetime, seen_at: datetime | None) -> bool:
    # Compared by difference: seen_at + 24 h may lie beyond the last year there is.
    return seen_at is not None and moment - seen_at > _TOLERANCE


def _unread(field_name: str, text: str | None, moment: datetime | None) -> tuple[Finding, ...]:
    if moment is not None or not text or not text.strip():
        return ()
    return (Finding(code="bad-date", field=field_name, detail=describe(text)),)


def normalise(
    parsed: ParsedFeed,
    *,
    url: str | None = None,
    config: NormaliseConfig = _DEFAULTS,
    seen_at: datetime | None = None,
) -> NormalisedFeed:
    """Clean a parsed document; never raises, whatever its publisher wrote.

    `url` is where the document was found, for relative addresses; `seen_at` is the moment of the
    fetch, which stands in for dates that are missing or lie in the future (D11).
    """
    base = parsed.base or url
    context = FeedContext(
        base=base or usable_http_url(parsed.link, None),
        language=clean_language(parsed.language),
        updated=parse_date(parsed.updated) or parse_date(parsed.published),
    )
    link = usable_http_url(parsed.link, base)
    return NormalisedFeed(
        title=title_text(parsed.title, config.title_max_chars),
        subtitle=field_text(parsed.subtitle, config.summary_max_chars),
        link=link,
        self_url=usable_http_url(parsed.self_url, base),
        authors=redact_emails(
            clean_authors(parsed.authors, config.max_authors), config.author_emails
        ),
        categories=clean_categories(parsed.categories, config.max_categories),
        language=context.language,
        image=_image(parsed, base),
        updated=context.updated,
        entries=tuple(normalise_entry(entry, context, config, seen_at) for entry in parsed.entries),
        findings=(
            *field_findings("title", parsed.title, config.title_max_chars),
            *field_findings("subtitle", parsed.subtitle, config.summary_max_chars),
            *(bad_link("link", parsed.link) if link is None else ()),
        ),
    )


def _image(parsed: ParsedFeed, base: str | None) -> str | None:
    pictures = (
        parsed.image.url if parsed.image else None,
        parsed.itunes.image if parsed.itunes else None,
        parsed.icon,
    )
    return next((url for url in (usable_http_url(p, base) for p in pictures) if url), None)
