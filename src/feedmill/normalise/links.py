"""Links, files and pictures of an entry.

Addresses of an entry: absolute, http or https, and their canonical forms (D1, D3).

Canonical forms are for comparing; what is shown and fetched is what the publisher wrote. Only
characters that no address may hold raw are escaped, so that a link cannot leave its attribute.

Files and pictures of an entry: enclosures and media:content as one list, and one image.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from feedmill.canonicalise.policies import entry_spellings
from feedmill.canonicalise.urls import http_url, is_plain, resolve
from feedmill.config import NormaliseConfig
from feedmill.model.base import Value
from feedmill.model.entry import EntryEnclosure, Finding
from feedmill.model.parsed import Enclosure, MediaContent, ParsedEntry
from feedmill.normalise.fields import describe
from feedmill.normalise.html.unwrap import Embed
from feedmill.normalise.text import clean_text

MAX_URL_CHARS = 8_192

# Controls, white space, quotes, brackets, the backslash that browsers read as a slash, and
# lone surrogates.
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\"<>\\`\u2028\u2029\ud800-\udfff]")
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_MEDIA_TYPE = re.compile(r"\s*([\w.+-]{1,127}/[\w.+-]{1,127})\s*(?:;|$)", re.ASCII)
_PICTURE_NAME = re.compile(r"\.(?:avif|gif|jpe?g|png|webp)(?:[?#]|$)", re.IGNORECASE)
_MAX_TITLE_CHARS = 1_000


class EntryLinks(Value):
    """The link of an entry in its three spellings, and what was wrong with those not taken."""

    link: str | None = None
    canonical_link: str | None = None
    article_link: str | None = None
    findings: tuple[Finding, ...] = ()


def entry_links(entry: ParsedEntry, base: str | None, config: NormaliseConfig) -> EntryLinks:
    """The first usable of: the link, an alternate, a guid that is an address, the external link."""
    findings: tuple[Finding, ...] = ()
    for candidate in _candidates(entry):
        found = _located(candidate, base)
        if found is not None:
            link, serialised = found
            identity, article = entry_spellings(serialised, config.link_tracking_params)
            return EntryLinks(
                link=link, canonical_link=identity, article_link=article, findings=findings
            )
        findings = findings or bad_link("link", candidate)
    return EntryLinks(findings=findings)


def usable_http_url(reference: str | None, base: str | None) -> str | None:
    """The absolute http(s) URL as its publisher spelled it, made safe; None for anything else."""
    found = _located(reference, base) if reference else None
    return None if found is None else found[0]


def bad_link(field_name: str, reference: str | None) -> tuple[Finding, ...]:
    """The finding for a reference that `usable_http_url` refused; none when there was nothing."""
    if not reference or not reference.strip():
        return ()
    return (Finding(code="bad-link", field=field_name, detail=describe(reference)),)


def _located(reference: str, base: str | None) -> tuple[str, str] | None:
    """The safe address as its publisher spelled it, and what it is serialised to."""
    if len(reference) > MAX_URL_CHARS:
        return None
    if is_plain(reference):
        return reference, reference
    address = resolve(reference, base)
    serialised = http_url(address)
    if serialised is None or len(serialised) > MAX_URL_CHARS:
        return None
    return (serialised if _UNSAFE.search(address) else address), serialised


def _candidates(entry: ParsedEntry) -> Iterator[str]:
    if entry.link:
        yield entry.link
    alternates = [link for link in entry.links if link.rel == "alternate" and link.href]
    pages = [link for link in alternates if link.type in (None, *_HTML_TYPES)]
    yield from (link.href for link in (pages or alternates)[:1])
    # An id that only looks like an address (`isPermaLink="false"`) is better than no link at all.
    if entry.id and http_url(entry.id) is not None:
        yield entry.id
    if entry.external_url:
        yield entry.external_url
    yield from (content.src for content in entry.contents if content.src)


class EntryFiles(Value):
    """The enclosures of an entry, and the first address among them that was refused."""

    enclosures: tuple[EntryEnclosure, ...] = ()
    findings: tuple[Finding, ...] = ()


_NO_FILES = EntryFiles()


def entry_files(entry: ParsedEntry, base: str | None, max_enclosures: int) -> EntryFiles:
    """Each http(s) file once, in document order; what one mention lacks another fills in."""
    alternates = entry.podcast.alternates if entry.podcast else ()
    if not entry.enclosures and not entry.media and not alternates:
        return _NO_FILES
    files: dict[str, EntryEnclosure] = {}
    findings: tuple[Finding, ...] = ()
    for mention in _mentions(entry):
        url = usable_http_url(mention.url, base)
        if url is None:
            if not mention.alternate:  # whose sources may be torrents and the like
                findings = findings or bad_link("enclosures", mention.url)
            continue
        key = http_url(url) or url
        if key in files:
            files[key] = _filled(files[key], _cleaned(mention, url))
        elif len(files) < max_enclosures:
            files[key] = _cleaned(mention, url)
    return EntryFiles(enclosures=tuple(files.values()), findings=findings)


def with_embeds(
    files: EntryFiles, embeds: tuple[Embed, ...], base: str | None, max_enclosures: int
) -> EntryFiles:
    """The files with what the entry embeds, for an entry that has no text beside it."""
    known = {http_url(file.url) or file.url for file in files.enclosures}
    found: dict[str, EntryEnclosure] = {}
    for embed in embeds:
        url = usable_http_url(embed.url, base)
        if url is not None and (http_url(url) or url) not in known:
            found.setdefault(url, _cleaned(Enclosure(url=url, type=embed.type), url))
    enclosures = (*files.enclosures, *found.values())[:max_enclosures]
    return replace(files, enclosures=enclosures)


def entry_image(entry: ParsedEntry, base: str | None) -> str | None:
    """The first usable picture that the entry names for itself; none is looked for in its text."""
    for picture in _pictures(entry):
        if picture and (address := usable_http_url(picture, base)):
            return address
    return None


def _mentions(entry: ParsedEntry) -> Iterator[Enclosure]:
    yield from entry.enclosures
    for media in entry.media:
        if media.url:
            yield Enclosure(
                url=media.url,
                type=media.type,
                length=media.length,
                title=media.title,
                duration=media.duration,
            )
    if entry.podcast:
        yield from entry.podcast.alternates


def _pictures(entry: ParsedEntry) -> Iterator[str | None]:
    yield entry.image
    if entry.itunes:
        yield entry.itunes.image
    if entry.media:
        yield from (media.url for media in entry.media if _is_picture(media))
        for media in entry.media:
            yield from (thumbnail.url for thumbnail in media.thumbnails)
        # Newspapers name their pictures so, without a type.
        untyped = (media.url for media in entry.media if not (media.type or media.medium))
        yield from (url for url in untyped if url and _PICTURE_NAME.search(url))
    for file in entry.enclosures:
        if file.type and file.type.startswith("image/"):
            yield file.url


def _is_picture(media: MediaContent) -> bool:
    return media.medium == "image" or (media.type or "").startswith("image/")


def _cleaned(mention: Enclosure, url: str) -> EntryEnclosure:
    media_type = _MEDIA_TYPE.match(mention.type or "")
    return EntryEnclosure(
        url=url,
        type=media_type[1].lower() if media_type else None,
        length=_positive(mention.length),
        title=clean_text(mention.title or "", _MAX_TITLE_CHARS) or None,
        duration=_positive(mention.duration),
        alternate=mention.alternate,
        integrity=mention.integrity,
    )


def _positive(number: int | None) -> int | None:
    """The number unless it is the 0 or less that publishers write for "unknown"."""
    return number if number is not None and number > 0 else None


def _filled(known: EntryEnclosure, other: EntryEnclosure) -> EntryEnclosure:
    return replace(
        known,
        type=known.type or other.type,
        length=known.length or other.length,
        title=known.title or other.title,
        duration=known.duration or other.duration,
        integrity=known.integrity or other.integrity,
    )
