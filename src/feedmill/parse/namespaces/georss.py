"""georss:, geo: and gml: — where an entry or a feed is."""

from itertools import chain, islice
from typing import Final

from lxml import etree
from msgspec.structs import replace

from feedmill.model.parsed import Geo
from feedmill.parse.xml.elements import Draft, ElementScope, Handler, decimal, text_of
from feedmill.parse.xml.names import name_of


def _known(draft: Draft) -> Geo:
    known: Geo = draft.get("geo") or Geo()
    return known


def _shape(kind: str) -> Handler:
    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        _put_shape(draft, kind, _pairs(text_of(element), 2), scope)

    return handle


def _pairs(text: str | None, dimension: int) -> list[str]:
    """Latitudes and longitudes in turn, without elevations; nothing when one is no number."""
    parts = (text or "").replace(",", " ").split(None, _MAX_NUMBERS)
    if len(parts) % dimension or any(decimal(part) is None for part in parts):
        return []  # also where the last part is the rest of too many
    return [part for number, part in enumerate(parts) if number % dimension < 2]


def _put_shape(draft: Draft, kind: str, parts: list[str], scope: ElementScope) -> None:
    known = _known(draft)
    if len(parts) < _FEWEST[kind]:
        return
    if len(known.shapes) >= scope.limits.max_values:
        scope.notes.add("values-capped")
        return
    draft["geo"] = replace(known, shapes=(*known.shapes, (kind, " ".join(parts))))
    if kind == "point" and known.lat is None and known.lon is None:
        _put_point(draft, decimal(parts[0]), decimal(parts[1]))


def _put_point(draft: Draft, lat: float | None, lon: float | None) -> None:
    draft["geo"] = replace(_known(draft), lat=lat, lon=lon)


def _where(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """gml inside georss:where, or without it; latitude first, like georss's own.

    Coordinates of another reference system than WGS 84 are metres on some map: they are left out.
    """
    seen = None  # a shape within a shape has the same position
    for shape in islice(element.iter(), _MAX_ELEMENTS):
        kind = _GML.get(name_of(shape))
        if kind is None or not (shape.get("srsName") or "4326").endswith(_WGS84):
            continue
        first = _first_position(shape)
        if first is not None and first is not seen:
            seen = first
            dimension = first.get("srsDimension") or shape.get("srsDimension")
            parts = _pairs(_ring(first), 3 if dimension == "3" else 2)
            _put_shape(draft, kind, parts, scope)


def _first_position(shape: etree._Element) -> etree._Element | None:
    near = islice(shape.iter(), _NEAR)
    return next((one for one in near if name_of(one) in _POSITIONS), None)


def _ring(first: etree._Element) -> str:
    """The text of a position and of those beside it: corners, or the points of one line."""
    siblings = islice(first.itersiblings(), _MAX_NUMBERS)
    beside = (one for one in chain((first,), siblings) if name_of(one) in _POSITIONS)
    return " ".join(text_of(one) or "" for one in beside)


def _latitude(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft["geo"] = replace(_known(draft), lat=decimal(text_of(element)))


def _longitude(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft["geo"] = replace(_known(draft), lon=decimal(text_of(element)))


def _point(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    for child in element:
        handler = _COORDINATES.get(name_of(child))
        if handler is not None:
            handler(draft, child, scope)


_MAX_NUMBERS: Final = 60_000  # of one shape: the border of a country, drawn finely
_MAX_ELEMENTS: Final = 10_000  # of one georss:where
_NEAR: Final = 20  # elements between a shape and its first position; gml has three
_FEWEST: Final = {"point": 2, "line": 4, "polygon": 8, "box": 4}  # numbers; a polygon is closed
_WGS84: Final = ("4326", "4979")  # EPSG codes, without and with elevation
_POSITIONS: Final = frozenset({"gml:pos", "gml:poslist", "gml:lowercorner", "gml:uppercorner"})
_GML: Final = {
    "gml:point": "point",
    "gml:linestring": "line",
    "gml:polygon": "polygon",
    "gml:envelope": "box",
}
_COORDINATES: Final[dict[str, Handler]] = {
    "geo:lat": _latitude,
    "geo:long": _longitude,
    "geo:lon": _longitude,
}
BOTH: Final[dict[str, Handler]] = {
    "georss:point": _shape("point"),
    "georss:line": _shape("line"),
    "georss:polygon": _shape("polygon"),
    "georss:box": _shape("box"),
    "georss:where": _where,
    **dict.fromkeys(_GML, _where),
    **_COORDINATES,
    "geo:point": _point,
}
