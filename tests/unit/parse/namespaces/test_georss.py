"""georss:, geo: and gml: — where an entry or a feed is."""

import pytest

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import Geo, ParsedFeed
from feedmill.parse.document import parse_document

NAMESPACES = """
    xmlns:georss="http://www.georss.org/georss"
    xmlns:gml="http://www.opengis.net/gml"
    xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#"
"""


def read(elements: str, limits: ParseLimits | None = None) -> ParsedFeed:
    body = f"<rss version='2.0' {NAMESPACES}><channel><item>{elements}</item></channel></rss>"
    parsed = parse_document(RawDocument(body=body.encode()), limits or ParseLimits())
    assert isinstance(parsed, ParsedFeed)
    return parsed


def place(elements: str) -> Geo | None:
    return read(elements).entries[0].geo


LINE = "45.25 -110.45 46.46 -109.48"
RING = "45 -110 46 -109 43 -109 45 -110"
POINT = Geo(lat=45.25, lon=-71.92, shapes=(("point", "45.25 -71.92"),))


@pytest.mark.parametrize(
    ("written", "geo"),
    [
        pytest.param("<georss:point>45.25 -71.92</georss:point>", POINT, id="point"),
        pytest.param("<georss:point>45.25,\n-71.92</georss:point>", POINT, id="comma"),
        pytest.param(
            f"<georss:line>{LINE}</georss:line>", Geo(shapes=(("line", LINE),)), id="line"
        ),
        pytest.param(
            f"<georss:polygon>{RING}</georss:polygon>", Geo(shapes=(("polygon", RING),)), id="ring"
        ),
        pytest.param(f"<georss:box>{LINE}</georss:box>", Geo(shapes=(("box", LINE),)), id="box"),
        pytest.param("<geo:lat>1.5</geo:lat><geo:long>2.5</geo:long>", Geo(lat=1.5, lon=2.5), id="geo"),
        pytest.param("<geo:lat>1.5</geo:lat><geo:lon>2.5</geo:lon>", Geo(lat=1.5, lon=2.5), id="lon"),
        pytest.param(
            "<geo:Point><geo:lat>1.5</geo:lat><geo:long>2.5</geo:long><geo:alt>9</geo:alt></geo:Point>",
            Geo(lat=1.5, lon=2.5),
            id="geo point",
        ),
    ],
)  # fmt: skip
def test_a_place_is_read_as_it_was_written(written: str, geo: Geo) -> None:
    assert place(written) == geo


@pytest.mark.parametrize(
    ("written", "geo"),
    [
        pytest.param("<gml:Point><gml:pos>45.25 -71.92</gml:pos></gml:Point>", POINT, id="point"),
        pytest.param(
            '<gml:Point srsName="urn:ogc:def:crs:EPSG:6.6:4326"><gml:pos>45.25 -71.92</gml:pos>'
            "</gml:Point>",
            POINT,
            id="its system named",
        ),
        pytest.param(
            '<gml:Point srsName="EPSG:4979" srsDimension="3"><gml:pos>45.25 -71.92 9</gml:pos>'
            "</gml:Point>",
            POINT,
            id="without its elevation",
        ),
        pytest.param(
            f"<gml:LineString><gml:posList>{LINE}</gml:posList></gml:LineString>",
            Geo(shapes=(("line", LINE),)),
            id="line",
        ),
        pytest.param(
            "<gml:LineString><gml:pos>1 2</gml:pos><gml:name>n</gml:name><gml:pos>3 4</gml:pos>"
            "</gml:LineString>",
            Geo(shapes=(("line", "1 2 3 4"),)),
            id="line of points",
        ),
        pytest.param(
            "<gml:LineString><gml:posList srsDimension='3'>1 2 9 3 4 9</gml:posList>"
            "</gml:LineString>",
            Geo(shapes=(("line", "1 2 3 4"),)),
            id="line with elevations",
        ),
        pytest.param(
            f"<gml:Polygon><gml:exterior><gml:LinearRing><gml:posList>{RING}</gml:posList>"
            "</gml:LinearRing></gml:exterior></gml:Polygon>",
            Geo(shapes=(("polygon", RING),)),
            id="polygon",
        ),
        pytest.param(
            "<gml:Envelope><gml:lowerCorner>1 2</gml:lowerCorner><gml:upperCorner>3 4"
            "</gml:upperCorner></gml:Envelope>",
            Geo(shapes=(("box", "1 2 3 4"),)),
            id="corners",
        ),
    ],
)
def test_gml_is_read_with_and_without_its_wrapper(written: str, geo: Geo) -> None:
    assert place(written) == geo
    assert place(f"<georss:where>{written}</georss:where>") == geo


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("<georss:point> </georss:point>", id="nothing"),
        pytest.param("<georss:point>45.25</georss:point>", id="half a point"),
        pytest.param("<georss:point>north south</georss:point>", id="words"),
        pytest.param("<georss:line>45.25 -110.45</georss:line>", id="a line of one point"),
        pytest.param("<georss:polygon>45 -110 46 -109 43 -109</georss:polygon>", id="open polygon"),
        pytest.param("<georss:where><gml:Point/></georss:where>", id="no position"),
        pytest.param("<gml:Point><gml:pos/></gml:Point>", id="empty position"),
        pytest.param(
            '<gml:Point srsName="EPSG:26913"><gml:pos>500000 4649776</gml:pos></gml:Point>',
            id="metres on a map",
        ),
    ],
)
def test_what_is_no_place_is_none(written: str) -> None:
    assert place(written) is None


def test_every_shape_is_kept_and_the_first_point_is_the_place() -> None:
    geo = place(
        f"<georss:line>{LINE}</georss:line><georss:point>1 2</georss:point>"
        "<georss:point>3 4</georss:point>"
    )

    assert geo == Geo(lat=1.0, lon=2.0, shapes=(("line", LINE), ("point", "1 2"), ("point", "3 4")))


def test_a_feed_has_a_place_too() -> None:
    body = (
        f"<rss version='2.0' {NAMESPACES}><channel><georss:point>1 2</georss:point></channel></rss>"
    )

    feed = parse_document(RawDocument(body=body.encode()))

    assert isinstance(feed, ParsedFeed)
    assert feed.geo == Geo(lat=1.0, lon=2.0, shapes=(("point", "1 2"),))


def test_shapes_beyond_the_limit_are_left_out_and_noted() -> None:
    feed = read(
        "<georss:point>1 2</georss:point><georss:point>3 4</georss:point>",
        ParseLimits(max_values=1),
    )

    geo = feed.entries[0].geo
    assert geo is not None
    assert geo.shapes == (("point", "1 2"),)
    assert [repair.code for repair in feed.repairs] == ["values-capped"]
