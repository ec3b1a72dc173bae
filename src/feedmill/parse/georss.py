"""georss:, geo: and gml: — where an entry or a feed is."""

from typing import Final

from lxml import etree
from msgspec.structs import replace

from feedmill.model.parsed import Geo
from feedmill.parse.atom import Handler
from feedmill.parse.elements import Draft, Scope, decimal, text_of
from feedmill.parse.names import name_of


def _known(draft: Draft) -> Geo:
    known: Geo = draft.main.get("geo") or Geo()
    return known


def _shape(kind: str) -> Handler:
    def handle(draft: Draft, element: etree._Element, scope: Scope) -> None:
        _put_shape(draft, kind, text_of(element), scope)

    return handle


def _put_shape(draft: Draft, kind: str, text: str | None, scope: Scope) -> None:
    numbers = [decimal(part) for part in (text or "").replace(",", " ").split()]
    if not numbers or None in numbers or len(numbers) % 2:
        return
    known = _known(draft)
    shapes = (*known.shapes, (kind, " ".join((text or "").split())))[: scope.limits.max_values]
    changed = replace(known, shapes=shapes)
    if known.lat is None and known.lon is None and kind == "point":
        changed = replace(changed, lat=numbers[0], lon=numbers[1])
    draft.main["geo"] = changed


def _where(draft: Draft, element: etree._Element, scope: Scope) -> None:
    """gml inside georss:where; its coordinates are latitude first, like georss's own."""
    for shape in element.iter():
        kind = _GML.get(name_of(shape))
        if kind is not None:
            positions = [one for one in shape.iter() if name_of(one) in ("gml:pos", "gml:poslist")]
            _put_shape(draft, kind, text_of(positions[0]) if positions else None, scope)


def _latitude(draft: Draft, element: etree._Element, scope: Scope) -> None:  # noqa: ARG001
    draft.main["geo"] = replace(_known(draft), lat=decimal(text_of(element)))


def _longitude(draft: Draft, element: etree._Element, scope: Scope) -> None:  # noqa: ARG001
    draft.main["geo"] = replace(_known(draft), lon=decimal(text_of(element)))


def _point(draft: Draft, element: etree._Element, scope: Scope) -> None:
    for child in element:
        handler = BOTH.get(name_of(child))
        if handler in (_latitude, _longitude):
            handler(draft, child, scope)


_GML: Final = {
    "gml:point": "point",
    "gml:linestring": "line",
    "gml:polygon": "polygon",
    "gml:envelope": "box",
}
BOTH: Final[dict[str, Handler]] = {
    "georss:point": _shape("point"),
    "georss:line": _shape("line"),
    "georss:polygon": _shape("polygon"),
    "georss:box": _shape("box"),
    "georss:where": _where,
    "geo:lat": _latitude,
    "geo:long": _longitude,
    "geo:lon": _longitude,
    "geo:point": _point,
}
