"""podcast: — the podcastindex namespace 1.0."""
# Tested in tests/unit/parse/namespaces/test_namespaces.py

from itertools import islice
from typing import Final

from lxml import etree

from feedmill.model.parsed import Enclosure, PodcastPerson, PodcastTranscript
from feedmill.parse.xml.elements import (
    Draft,
    ElementScope,
    Handler,
    decimal,
    flag,
    inner_field,
    integer,
    text_of,
)
from feedmill.parse.xml.names import name_of

_MAX_CHILDREN: Final = 100  # of one alternateEnclosure


def _append(draft: Draft, field: str, value: object, scope: ElementScope) -> None:
    facts = draft.part("podcast")
    values = facts.get(field, ())
    if len(values) < scope.limits.max_values:
        facts[field] = (*values, value)
    else:
        scope.notes.add("values-capped")


def _chapters(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    draft.put_in("podcast", "chapters_url", scope.link(element.get("url")))
    draft.put_in("podcast", "chapters_type", element.get("type"))


def _transcript(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    url = scope.link(element.get("url"))
    if url is not None:
        transcript = PodcastTranscript(
            url=url,
            type=element.get("type"),
            language=element.get("language"),
            rel=element.get("rel"),
        )
        _append(draft, "transcripts", transcript, scope)


def _person(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    name = text_of(element)
    if name is not None:
        person = PodcastPerson(
            name=name,
            role=element.get("role"),
            group=element.get("group"),
            img=scope.link(element.get("img")),
            href=scope.link(element.get("href")),
        )
        _append(draft, "persons", person, scope)


def _soundbite(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    start, length = decimal(element.get("startTime")), decimal(element.get("duration"))
    if start is not None and length is not None:
        _append(draft, "soundbites", (start, length, text_of(element) or ""), scope)


def _funding(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    url = scope.link(element.get("url"))
    if url is not None:
        _append(draft, "funding", (url, text_of(element) or ""), scope)


def _alternate_enclosure(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """Each source of another version; sources that are no web addresses are left out later."""
    children = list(islice(element, _MAX_CHILDREN))
    integrity = next(
        (
            child.get("value")
            for child in children
            if name_of(child) == "podcast:integrity" and child.get("type") == "sri"
        ),
        None,
    )
    for child in children:
        url = scope.link(child.get("uri")) if name_of(child) == "podcast:source" else None
        if url is not None:
            version = Enclosure(
                url=url,
                type=child.get("contentType") or element.get("type"),
                length=integer(element.get("length")),
                title=element.get("title"),
                alternate=True,
                integrity=integrity,
            )
            _append(draft, "alternates", version, scope)


_SHARED: Final[dict[str, Handler]] = {
    "podcast:person": _person,
    "podcast:transcript": _transcript,
    "podcast:funding": _funding,
}
ENTRY: Final[dict[str, Handler]] = _SHARED | {
    "podcast:season": inner_field("podcast", "season"),
    "podcast:episode": inner_field("podcast", "episode"),
    "podcast:chapters": _chapters,
    "podcast:soundbite": _soundbite,
    "podcast:alternateenclosure": _alternate_enclosure,
}
FEED: Final[dict[str, Handler]] = _SHARED | {
    "podcast:guid": inner_field("podcast", "guid"),
    "podcast:medium": inner_field("podcast", "medium"),
    "podcast:locked": inner_field("podcast", "locked", flag),
}
