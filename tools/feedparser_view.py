"""Our values in feedparser's shape, so that feedparser's own assertions can be put to them."""

import time
from typing import Any, Final, Literal

from tools.feedparser_values import Duration, EncodingName, Markup, Notes, Version, View

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
from feedmill.normalise.dates import parse_date
from feedmill.normalise.fields import clean_language
from feedmill.normalise.html.sanitise import clean_html, from_xhtml
from feedmill.normalise.people import parse_person


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
        **_dates(published=feed.published, updated=feed.updated),
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
    return Text(value=first.value, kind=_kind(first.type), base=first.base, lang=first.lang)


def _kind(mime: str) -> Literal["text", "html", "xhtml"]:
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
        read = parse_person(person.name)
        name, email, uri = read.name, read.email, person.uri or read.uri
    return View(notes, "person", name=name, email=email, href=uri)


def _dates(**dates: str | None) -> dict[str, Any]:
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
        **_dates(updated=source.updated),
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
