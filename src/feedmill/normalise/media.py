"""Files and pictures of an entry: enclosures and media:content as one list, and one image."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from feedmill.canonicalise.urls import http_url
from feedmill.model.base import Value
from feedmill.model.entry import EntryEnclosure, Finding
from feedmill.model.parsed import Enclosure, MediaContent, ParsedEntry
from feedmill.normalise.html.unwrap import Embed
from feedmill.normalise.links import bad_link, usable_http_url
from feedmill.normalise.text import clean_text

_MEDIA_TYPE = re.compile(r"\s*([\w.+-]{1,127}/[\w.+-]{1,127})\s*(?:;|$)", re.ASCII)
_MAX_TITLE_CHARS = 1_000


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
