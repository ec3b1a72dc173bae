"""Our values in feedparser's shape, so that feedparser's own assertions can be put to them.

Every view notes which keys an assertion touched: an assertion is comparable when feedmill models
them all. Comparisons are by meaning where the two differ in form only: markup is compared as the
tree an HTML parser builds, encodings by what their label means to the web, durations in seconds.
"""

import re
import time
from collections.abc import Iterable
from typing import Any, Final

import html5lib

from feedmill.canonicalise.urls import http_url
from feedmill.model.parsed import (
    Category,
    Content,
    Enclosure,
    Geo,
    Image,
    Itunes,
    Link,
    ParsedEntry,
    ParsedFeed,
    Person,
    Source,
    Text,
    Unreadable,
)
from feedmill.normalise.allowlist import REMOVED
from feedmill.normalise.dates import parse_date
from feedmill.normalise.fields import clean_language
from feedmill.normalise.html import clean_html, from_text, from_xhtml
from feedmill.normalise.people import read_person
from feedmill.parse.elements import seconds
from feedmill.parse.labels import encoding_of_label

MODELLED: Final[dict[str, frozenset[str]]] = {
    "document": frozenset({"bozo", "encoding", "entries", "feed", "version"}),
    "feed": frozenset(
        """author author_detail authors cloud contributors docs generator icon id image itunes_block
        itunes_explicit itunes_keywords language license link links logo newlocation published
        published_parsed publisher publisher_detail rights rights_detail subtitle subtitle_detail
        tags title title_detail ttl updated updated_parsed where""".split()
    ),
    "entry": frozenset(
        """author author_detail authors comments content contributors created created_parsed
        enclosures expired expired_parsed guidislink id image itunes_block itunes_duration
        itunes_explicit language license link links media_content media_credit media_thumbnail
        published published_parsed publisher publisher_detail rights rights_detail source subtitle
        summary summary_detail tags thr_in-reply-to title title_detail updated updated_parsed where
        wfw_commentrss abcdefg""".split()
    ),
    "source": frozenset(
        """author author_detail authors href id link title title_detail updated
        updated_parsed""".split()
    ),
    "text": frozenset({"base", "language", "src", "type", "value"}),
    "link": frozenset({"href", "hreflang", "length", "rel", "title", "type"}),
    "person": frozenset({"email", "href", "name"}),
    "tag": frozenset({"label", "scheme", "term"}),
    "image": frozenset({"height", "href", "link", "title", "width"}),
    "cloud": frozenset({"domain", "path", "port", "protocol", "registerprocedure"}),
    "where": frozenset({"coordinates", "type"}),
    "media": frozenset({"content", "height", "href", "type", "url", "width"}),
    "reply": frozenset({"href", "ref", "source", "type"}),
}

UNMODELLED: Final[dict[str, str]] = {
    "document.bozo_exception": "repairs have codes, not exceptions",
    "document.feedparser": "the name of feedparser's own exceptions",
    "document.headers": "the parser is handed the content type only; headers belong to fetch/",
    "document.etag": "validators belong to fetch/",
    "document.locals": "asks for the headers again",
    "document.namespaces": "names are resolved to namespaces, prefixes are not kept",
    "feed.created": "dcterms:created of a feed; no reader of ours needs it",
    "feed.created_parsed": "dcterms:created of a feed; no reader of ours needs it",
    "feed.generator_detail": "the generator is one text",
    "feed.info": "atom:info (0.3) and feedburner's browserFriendly are texts for browsers",
    "feed.info_detail": "atom:info (0.3) is a text for browsers",
    "feed.textinput": "a form for people, obsolete since 2002",
    "feed.thr_in-reply-to": "RFC 4685 defines it for entries",
    "feed.validity_start": "dcterms:valid",
    "feed.validity_start_parsed": "dcterms:valid",
    "feed.validity_end": "dcterms:valid",
    "feed.validity_end_parsed": "dcterms:valid",
    "entry.madeup_element": "unknown elements are kept under their namespace, not their prefix",
    "entry.media_license": "Media RSS licences are not kept",
    "entry.media_player": "Media RSS players are not kept",
    "entry.media_rating": "Media RSS ratings are not kept",
    "entry.media_restriction": "Media RSS restrictions are not kept",
    "entry.psc_chapters": "Podlove chapters; podcast:chapters is what we keep",
    "entry.wfw_comment": "an address to post comments to, for people",
    "source.contributors": "a source is id, title, link, updated and authors (A09)",
    "source.generator": "a source is id, title, link, updated and authors (A09)",
    "source.generator_detail": "a source is id, title, link, updated and authors (A09)",
    "source.icon": "a source is id, title, link, updated and authors (A09)",
    "source.links": "a source is id, title, link, updated and authors (A09)",
    "source.logo": "a source is id, title, link, updated and authors (A09)",
    "source.rights": "a source is id, title, link, updated and authors (A09)",
    "source.rights_detail": "a source is id, title, link, updated and authors (A09)",
    "source.subtitle": "a source is id, title, link, updated and authors (A09)",
    "source.subtitle_detail": "a source is id, title, link, updated and authors (A09)",
    "source.tags": "a source is id, title, link, updated and authors (A09)",
    "image.description": "a picture has a title and a link",
    "media.role": "credits are names",
}

_ALIASES: Final = {
    "guid": "id",
    "date": "updated",
    "date_parsed": "updated_parsed",
    "modified": "updated",
    "modified_parsed": "updated_parsed",
    "issued": "published",
    "issued_parsed": "published_parsed",
    "copyright": "rights",
    "copyright_detail": "rights_detail",
    "tagline": "subtitle",
    "tagline_detail": "subtitle_detail",
    "url": "href",
    "uri": "href",
}
_REMOVED: Final = re.compile(rf"<(?:{'|'.join(sorted(REMOVED))})\b", re.IGNORECASE)
_TEXTS: Final = frozenset({"title", "summary", "subtitle", "rights", "value"})


class Notes:
    """What an assertion touched, and whether a difference was one of policy."""

    def __init__(self) -> None:
        self.touched: list[str] = []
        self.policy: str | None = None
        self.reason: str | None = None


class View(dict[str, Any]):
    """A dictionary with feedparser's aliases that notes what it is asked for."""

    def __init__(self, notes: Notes, kind: str, **values: Any) -> None:
        kept = kind == "text"  # feedparser has a language of None, and no author of None
        super().__init__((key, one) for key, one in values.items() if kept or one is not None)
        self._notes = notes
        self._kind = kind

    def __getitem__(self, key: str) -> Any:
        if key == "category":
            return self["tags"][0]["term"]
        name = self._name(key)
        self._notes.touched.append(f"{self._kind}.{name}")
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        if name in ("updated", "updated_parsed"):  # feedparser falls back the same way
            return dict.__getitem__(self, name.replace("updated", "published"))
        if name in _TEXTS:  # feedmill does not tell an empty element from none
            return Markup("", self._notes)
        return dict.__getitem__(self, name)

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError as missing:
            raise AttributeError(key) from missing

    def __contains__(self, key: object) -> bool:
        name = self._name(str(key))
        self._notes.touched.append(f"{self._kind}.{name}")
        return dict.__contains__(self, name)

    def has_key(self, key: str) -> bool:
        """feedparser's spelling of `in`."""
        return key in self

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or the default where there is none."""
        return self[key] if key in self else default

    def _name(self, key: str) -> str:
        if key in ("description", "description_detail"):
            own = "subtitle" if self._kind == "feed" else "summary"
            return key.replace("description", own) if self._kind in ("feed", "entry") else key
        return _ALIASES.get(key, key)


class Markup(str):
    """Sanitised markup; equal to what an HTML parser reads as the same tree."""

    __slots__ = ("_notes", "_raw")
    _notes: Notes
    _raw: str

    def __new__(cls, html: str, notes: Notes, raw: str = "") -> "Markup":
        """A text that remembers what it was made from, and where to note a difference."""
        made = super().__new__(cls, html)
        made._notes, made._raw = notes, raw  # noqa: SLF001
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return False
        ours, theirs = _tree(str(self)), _tree(other)
        if ours == theirs:
            return True
        if ours == _tree(clean_html(other)):
            self._notes.policy = "our allow-list is shorter: what feedparser keeps, we remove"
        elif _text(ours) == _text(theirs) and _tags(ours) >= _tags(theirs):
            self._notes.policy = "our allow-list keeps an element that feedparser removes"
        elif _REMOVED.search(self._raw) and _is_part(_text(ours), _text(theirs)):
            self._notes.policy = "what stands inside a removed element goes with it"
        else:
            self._notes.reason = "markup is read as HTML 5, as a browser reads it"
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class EncodingName(str):
    """An encoding; equal to every label that means it on the web (latin-1 is windows-1252)."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and (
            str(self) == other.lower() or encoding_of_label(other) == str(self)
        )

    __hash__ = str.__hash__


class Version(str):
    """A format; feedparser tells two kinds of RSS 0.91 apart by their DOCTYPE."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(self) == other.rstrip("un")

    __hash__ = str.__hash__


class Duration(int):
    """Seconds; equal to any spelling of the same duration."""

    def __eq__(self, other: object) -> bool:
        return int(self) == (seconds(other) if isinstance(other, str) else other)

    __hash__ = int.__hash__


def document_view(parsed: ParsedFeed | Unreadable, notes: Notes) -> View:
    """The names an assertion may use: feed, entries, bozo, encoding, version."""
    if isinstance(parsed, Unreadable):
        feed = View(notes, "feed")
        return View(notes, "document", bozo=1, feed=feed, entries=[], version="", encoding="")
    return View(
        notes,
        "document",
        bozo=int(any(repair.code not in _HARMLESS for repair in parsed.repairs)),
        encoding=EncodingName(parsed.encoding),
        version=Version(parsed.format),
        feed=_feed_view(parsed, notes),
        entries=[_entry_view(entry, notes) for entry in parsed.entries],
    )


# feedparser calls a document bozo when its XML is broken or its encoding was a guess; these of
# our repairs are neither.
_HARMLESS: Final = frozenset(
    {"doctype-ignored", "entities-decoded", "leading-junk", "values-capped", "items-capped"}
)


def _feed_view(feed: ParsedFeed, notes: Notes) -> View:
    view = View(
        notes,
        "feed",
        id=feed.id,
        link=feed.link,
        links=[_link_view(link, notes) for link in feed.links],
        language=clean_language(feed.language),
        generator=feed.generator,
        docs=feed.docs,
        icon=feed.icon,
        logo=feed.image.url if feed.image else None,
        image=_image_view(feed.image, notes),
        newlocation=feed.new_feed_url,
        tags=_tags_view(feed.categories, feed.itunes, notes),
        ttl=_written(feed.hints.ttl_minutes),
        **_people(feed.authors, feed.contributors, feed.publisher, notes),
        **_dates(notes, published=feed.published, updated=feed.updated),
        **_texts(notes, title=feed.title, subtitle=feed.subtitle, rights=feed.rights),
        **_itunes(feed.itunes),
    )
    if feed.cloud is not None:
        view["cloud"] = View(
            notes,
            "cloud",
            domain=feed.cloud.domain,
            port=feed.cloud.port,
            path=feed.cloud.path,
            protocol=feed.cloud.protocol,
            registerprocedure=feed.cloud.register_procedure,
        )
    return view


def _entry_view(entry: ParsedEntry, notes: Notes) -> View:
    links = [_link_view(link, notes) for link in entry.links]
    known = {link["href"] for link in links}
    files = [_file_view(one, notes) for one in entry.enclosures]
    view = View(
        notes,
        "entry",
        id=entry.id,
        guidislink=entry.id_is_permalink and entry.link == entry.id,
        link=entry.link,
        links=links + [file for file in files if file["href"] not in known],
        enclosures=[View(notes, "link", **_without_rel(file)) for file in files],
        content=[_content_view(content, notes) for content in entry.contents],
        comments=entry.comments,
        image=View(notes, "image", href=entry.image) if entry.image else None,
        language=clean_language(entry.lang),
        source=_source_view(entry.source, notes),
        tags=_tags_view(entry.categories, entry.itunes, notes),
        where=_where_view(entry.geo, notes),
        subtitle=entry.itunes.subtitle if entry.itunes else None,
        wfw_commentrss=entry.comments_feed,
        **_people(entry.authors, entry.contributors, entry.publisher, notes),
        **_dates(
            notes,
            published=entry.published,
            updated=entry.updated,
            created=entry.created,
            expired=entry.expired,
        ),
        **_texts(notes, title=entry.title, summary=_summary(entry), rights=entry.rights),
        **_itunes(entry.itunes),
        **_media(entry, notes),
    )
    for name, text in entry.ext:
        view.setdefault(name.rpartition("}")[2], text)
    view["license"] = next((link["href"] for link in links if link["rel"] == "license"), None)
    if entry.in_reply_to:
        first = entry.in_reply_to[0]
        reply = View(
            notes, "reply", ref=first.ref, href=first.href, source=first.source, type=first.type
        )
        view["thr_in-reply-to"] = reply
    return view


def _summary(entry: ParsedEntry) -> Text | None:
    """feedparser shows the content as the summary where there is no other."""
    if entry.summary is not None or not entry.contents:
        return entry.summary
    first = entry.contents[0]
    if first.type == "text/plain":
        return Text(value=first.value, base=first.base, lang=first.lang)
    return Text(value=first.value, kind=_kind(first.type), base=first.base, lang=first.lang)


def _kind(mime: str) -> Any:
    if mime == "application/xhtml+xml":
        return "xhtml"
    return "html" if mime == "text/html" else "text"


def _texts(notes: Notes, **texts: Text | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in texts.items():
        if text is not None:
            value = _shown(text.value, text.kind, text.base, notes)
            found[name] = value
            found[f"{name}_detail"] = View(
                notes,
                "text",
                value=value,
                type=_MIMES[text.kind],
                base=text.base,
                language=clean_language(text.lang),
            )
    return found


_MIMES: Final = {"text": "text/plain", "html": "text/html", "xhtml": "application/xhtml+xml"}


def _shown(value: str, kind: str, base: str | None, notes: Notes) -> str:
    if kind == "text":
        return value
    markup = from_xhtml(value) if kind == "xhtml" else value
    return Markup(clean_html(markup, base=base), notes, value)


def _content_view(content: Content, notes: Notes) -> View:
    return View(
        notes,
        "text",
        value=_shown(content.value, _kind(content.type), content.base, notes),
        type=content.type,
        src=content.src,
        base=content.base,
        language=clean_language(content.lang),
    )


def _people(
    authors: tuple[Person, ...],
    contributors: tuple[Person, ...],
    publisher: Person | None,
    notes: Notes,
) -> dict[str, Any]:
    found: dict[str, Any] = {"contributors": [_person_view(one, notes) for one in contributors]}
    if authors:
        found["author"] = _spelled(authors[0])
        found["authors"] = [_person_view(one, notes) for one in authors]
        found["author_detail"] = found["authors"][0]
    if publisher is not None:
        found["publisher"] = _spelled(publisher)
        found["publisher_detail"] = _person_view(publisher, notes)
    return found


def _spelled(person: Person) -> str | None:
    if person.name and person.email:
        return f"{person.name} ({person.email})"
    return person.name or person.email


def _person_view(person: Person, notes: Notes) -> View:
    """The three parts, taken out of the one field that RSS has for them."""
    if person.name is None or person.email is not None:
        name, email, uri = person.name, person.email, person.uri
    else:
        read = read_person(person.name)
        name, email, uri = read.name, read.email, person.uri or read.uri
    return View(notes, "person", name=name, email=email, href=uri)


def _dates(notes: Notes, **dates: str | None) -> dict[str, Any]:  # noqa: ARG001
    found: dict[str, Any] = {}
    for name, text in dates.items():
        moment = parse_date(text)
        found[name] = text
        if moment is not None:
            found[f"{name}_parsed"] = tuple(time.struct_time(moment.utctimetuple()))
    return found


def _itunes(itunes: Itunes | None) -> dict[str, Any]:
    if itunes is None:
        return {}
    return {
        "itunes_block": itunes.block,
        "itunes_duration": None if itunes.duration is None else Duration(itunes.duration),
        "itunes_explicit": itunes.explicit,
    }


def _media(entry: ParsedEntry, notes: Notes) -> dict[str, Any]:
    thumbnails = [one for media in entry.media for one in media.thumbnails]
    names = dict.fromkeys(name for media in entry.media for name in media.credits)
    return {
        "media_credit": [View(notes, "media", content=name) for name in names],
        "media_thumbnail": [View(notes, "media", href=one.url) for one in thumbnails],
        "media_content": [View(notes, "media", href=one.url) for one in entry.media if one.url],
    }


def _link_view(link: Link, notes: Notes) -> View:
    return View(
        notes,
        "link",
        href=link.href,
        rel=link.rel,
        type=link.type,
        hreflang=link.hreflang,
        title=link.title,
        length=_written(link.length),
    )


def _file_view(file: Enclosure, notes: Notes) -> View:
    return View(
        notes,
        "link",
        rel="enclosure",
        href=file.url,
        type=file.type,
        length=_written(file.length),
        title=file.title,
    )


def _without_rel(file: View) -> dict[str, Any]:
    return {name: value for name, value in file.items() if name != "rel"}


def _tags_view(categories: tuple[Category, ...], itunes: Itunes | None, notes: Notes) -> list[View]:
    """Categories, then the keywords that feedparser counts among them, each once."""
    tags = [
        View(notes, "tag", term=one.term, scheme=one.scheme, label=one.label) for one in categories
    ]
    words = itunes.keywords if itunes is not None else ()
    scheme = "http://www.itunes.com/"
    tags += [View(notes, "tag", term=one, scheme=scheme) for one in words]
    return list({(dict.get(one, "term"), dict.get(one, "scheme")): one for one in tags}.values())


def _image_view(image: Image | None, notes: Notes) -> View | None:
    if image is None:
        return None
    return View(
        notes,
        "image",
        href=image.url,
        title=image.title,
        link=image.link,
        width=image.width,
        height=image.height,
    )


def _source_view(source: Source | None, notes: Notes) -> View | None:
    if source is None:
        return None
    return View(
        notes,
        "source",
        id=source.id,
        link=source.link,
        href=source.link,
        **_people(source.authors, (), None, notes),
        **_dates(notes, updated=source.updated),
        **_texts(notes, title=source.title),
    )


def _where_view(geo: Geo | None, notes: Notes) -> View:
    """The first shape as GeoJSON spells it: longitude first."""
    if geo is None or not geo.shapes:
        return View(notes, "where")
    kind, text = geo.shapes[0]
    numbers = [float(part) for part in text.replace(",", " ").split()]
    pairs = [(lon, lat) for lat, lon in zip(numbers[::2], numbers[1::2], strict=False)]
    shapes: dict[str, tuple[str, object]] = {
        "point": ("Point", (numbers[1], numbers[0], *numbers[2:])),
        "line": ("LineString", pairs),
        "polygon": ("Polygon", (pairs,)),
        "box": ("Box", tuple(pairs)),
    }
    name, coordinates = shapes[kind]
    return View(notes, "where", type=name, coordinates=coordinates)


def _written(number: int | None) -> str | None:
    return None if number is None else str(number)


def _tree(markup: str) -> list[tuple[str, ...]]:
    """What an HTML parser reads, as tokens: attributes sorted, `rel` left out, text joined."""
    walker = html5lib.getTreeWalker("etree")
    tokens: list[tuple[str, ...]] = []
    for token in walker(html5lib.parseFragment(markup)):
        kind = token["type"]
        if kind in ("Characters", "SpaceCharacters"):
            _add_text(tokens, token["data"])
        elif kind in ("StartTag", "EmptyTag"):
            given = ((name[1], value) for name, value in token["data"].items())
            known = sorted(
                (name, http_url(value) or value) for name, value in given if name != "rel"
            )
            tokens.append(("<", token["name"], *(f"{name}={value}" for name, value in known)))
        elif kind == "EndTag":
            tokens.append((">", token["name"]))
    return [token for token in _trimmed(tokens) if token != ("",)]


def _add_text(tokens: list[tuple[str, ...]], text: str) -> None:
    if tokens and len(tokens[-1]) == 1:
        tokens[-1] = (tokens[-1][0] + text,)
    else:
        tokens.append((text,))


def _trimmed(tokens: list[tuple[str, ...]]) -> Iterable[tuple[str, ...]]:
    for number, token in enumerate(tokens):
        if len(token) == 1 and number in (0, len(tokens) - 1):
            yield (token[0].strip(),)
        else:
            yield token


def _text(tree: list[tuple[str, ...]]) -> str:
    return "".join(token[0] for token in tree if len(token) == 1)


def _is_part(text: str, whole: str) -> bool:
    """Whether all words of a text stand in the whole, in the same order."""
    rest = iter(whole.split())
    return all(word in rest for word in text.split())


def _tags(tree: list[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
    return frozenset(token for token in tree if len(token) > 1)
