"""itunes:, googleplay: and podcast: — what podcast directories read."""

import pytest

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import (
    Category,
    Enclosure,
    Image,
    Itunes,
    ParsedEntry,
    ParsedFeed,
    Person,
    Podcast,
    PodcastPerson,
    PodcastTranscript,
    Text,
)
from feedmill.parse.document import parse_document

URL = "https://example.com/feed.xml"
NAMESPACES = """
    xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"
    xmlns:googleplay="http://www.google.com/schemas/play-podcasts/1.0"
    xmlns:podcast="https://podcastindex.org/namespace/1.0"
"""


def channel(elements: str, limits: ParseLimits | None = None) -> ParsedFeed:
    body = f'<rss version="2.0" {NAMESPACES}><channel>{elements}</channel></rss>'
    parsed = parse_document(RawDocument(body=body.encode(), url=URL), limits or ParseLimits())
    assert isinstance(parsed, ParsedFeed)
    return parsed


def item(elements: str, limits: ParseLimits | None = None) -> ParsedEntry:
    return channel(f"<item>{elements}</item>", limits).entries[0]


def html(value: str) -> Text:
    return Text(value=value, kind="html", base=URL)


def test_a_channel_of_itunes_is_read_whole() -> None:
    feed = channel(
        "<itunes:title>T</itunes:title><itunes:subtitle>S</itunes:subtitle>"
        "<itunes:summary>L</itunes:summary><itunes:author>Jane</itunes:author>"
        '<itunes:image href="/p.jpg"/><itunes:explicit>Yes</itunes:explicit>'
        "<itunes:block>yes</itunes:block><itunes:complete>YES</itunes:complete>"
        "<itunes:type>serial</itunes:type><itunes:keywords>sea, ships\nwind,</itunes:keywords>"
        '<itunes:category text="Arts"><odd/><itunes:category text="Books"/></itunes:category>'
        "<itunes:owner><itunes:name>Joe</itunes:name><itunes:email>joe@x.example</itunes:email>"
        "</itunes:owner><itunes:new-feed-url>https://new.example/</itunes:new-feed-url>"
    )

    assert feed.itunes == Itunes(
        title="T",
        subtitle="S",
        summary="L",
        author="Jane",
        image="https://example.com/p.jpg",
        explicit=True,
        block=True,
        complete=True,
        type="serial",
        keywords=("sea", "ships", "wind"),
        categories=("Arts", "Books"),
        owner=Person(name="Joe", email="joe@x.example"),
    )
    assert feed.new_feed_url == "https://new.example/"


def test_itunes_stands_in_for_what_a_channel_lacks() -> None:
    feed = channel(
        "<itunes:title>T</itunes:title><itunes:summary>L</itunes:summary>"
        '<itunes:author>Jane</itunes:author><itunes:image href="/p.jpg"/>'
        '<itunes:owner>Joe</itunes:owner><itunes:category text="Arts"/>'
    )

    assert feed.title == html("T")
    assert feed.subtitle == html("L")
    assert feed.authors == (Person(name="Jane"),)
    assert feed.image == Image(url="https://example.com/p.jpg")
    assert feed.publisher == Person(name="Joe")
    assert feed.categories == (Category(term="Arts", scheme="http://www.itunes.com/"),)


def test_the_channel_itself_beats_itunes_whatever_the_order() -> None:
    feed = channel(
        "<itunes:title>other</itunes:title><itunes:author>other</itunes:author>"
        '<itunes:image href="/other.jpg"/><title>own</title><managingEditor>own</managingEditor>'
        "<image><url>/own.jpg</url></image>"
    )

    assert feed.title == html("own")
    assert feed.authors == (Person(name="own"),)
    assert feed.image == Image(url="https://example.com/own.jpg")


def test_an_episode_of_itunes_is_read_whole() -> None:
    entry = item(
        "<itunes:title>T</itunes:title><itunes:subtitle>S</itunes:subtitle>"
        "<itunes:summary>L</itunes:summary><itunes:duration>1:02:03</itunes:duration>"
        "<itunes:episode>7</itunes:episode><itunes:season>2</itunes:season>"
        "<itunes:episodeType>full</itunes:episodeType><itunes:image href='/e.jpg'/>"
        "<itunes:explicit>false</itunes:explicit>"
    )

    assert entry.itunes == Itunes(
        title="T",
        subtitle="S",
        summary="L",
        duration=3723,
        episode=7,
        season=2,
        episode_type="full",
        image="https://example.com/e.jpg",
        explicit=False,
    )
    assert entry.title == html("T")
    assert entry.summary == html("L")
    assert entry.image == "https://example.com/e.jpg"


def test_the_first_value_stays() -> None:
    entry = item(
        "<itunes:author>A</itunes:author><itunes:author>B</itunes:author>"
        "<itunes:episode>1</itunes:episode><itunes:episode>2</itunes:episode>"
    )

    assert entry.itunes == Itunes(author="A", episode=1)
    assert entry.authors == (Person(name="A"),)


@pytest.mark.parametrize(
    ("written", "explicit"),
    [
        ("yes", True),
        ("true", True),
        (" Explicit ", True),
        ("no", False),
        ("clean", False),
        ("maybe", None),
        ("", None),
    ],
)
def test_explicit_is_yes_no_or_unknown(written: str, explicit: bool | None) -> None:
    entry = item(f"<itunes:explicit>{written}</itunes:explicit>")

    assert entry.itunes == Itunes(explicit=explicit)


def test_a_block_that_is_no_yes_is_no() -> None:
    entry = item("<itunes:block>perhaps</itunes:block>")

    assert entry.itunes == Itunes(block=False)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90", 90),
        ("1:30", 90),
        ("01:01:30", 3690),
        ("PT1H1M30S", 3690),
        ("long", None),
        ("", None),
    ],
)
def test_a_duration_is_in_seconds(written: str, seconds: int | None) -> None:
    entry = item(f"<itunes:duration>{written}</itunes:duration>")

    assert entry.itunes == Itunes(duration=seconds)


@pytest.mark.parametrize(
    "element",
    [
        pytest.param('<itunes:image href="/p.jpg"/>', id="href"),
        pytest.param('<itunes:image url="/p.jpg"/>', id="url"),
        pytest.param('<itunes:image HREF="/p.jpg"/>', id="capital letters"),
        pytest.param("<itunes:image>/p.jpg</itunes:image>", id="text"),
        pytest.param('<itunes:link rel="image" href="/p.jpg"/>', id="as a link"),
        pytest.param('<googleplay:image href="/p.jpg"/>', id="googleplay"),
    ],
)
def test_a_picture_is_found_however_it_is_written(element: str) -> None:
    feed = channel(f"{element}<item>{element}</item>")

    assert feed.image == Image(url="https://example.com/p.jpg")
    assert feed.entries[0].image == "https://example.com/p.jpg"


def test_a_picture_without_an_address_and_another_link_are_none() -> None:
    feed = channel('<itunes:image/><itunes:link rel="self" href="/f"/><itunes:link href="/f"/>')

    assert feed.image is None
    assert feed.itunes == Itunes()


def test_categories_and_keywords_without_words_are_none() -> None:
    feed = channel('<itunes:category text=" "/><itunes:keywords/><itunes:author/>')

    assert feed.categories == ()
    assert feed.authors == ()
    assert feed.itunes == Itunes()


def test_google_play_says_the_same_in_its_own_words() -> None:
    feed = channel(
        "<googleplay:author>Jane</googleplay:author><googleplay:description>D"
        "</googleplay:description><googleplay:explicit>yes</googleplay:explicit>"
        '<googleplay:category text="Arts"/><item><googleplay:description>E'
        "</googleplay:description><googleplay:block>yes</googleplay:block></item>"
    )

    assert feed.authors == (Person(name="Jane"),)
    assert feed.subtitle == html("D")
    assert feed.itunes == Itunes(author="Jane", summary="D", explicit=True, categories=("Arts",))
    assert feed.entries[0].summary == html("E")
    assert feed.entries[0].itunes == Itunes(summary="E", block=True)


def test_words_beyond_the_limit_are_left_out_and_noted() -> None:
    limits = ParseLimits(max_values=2)

    words = channel("<itunes:keywords>a,b,c</itunes:keywords>", limits)
    categories = channel(
        '<itunes:category text="a"/><itunes:category text="b"/><itunes:category text="c"/>', limits
    )

    assert words.itunes == Itunes(keywords=("a", "b"))
    assert categories.itunes == Itunes(categories=("a", "b"))
    assert [repair.code for repair in words.repairs] == ["values-capped"]
    assert [repair.code for repair in categories.repairs] == ["values-capped"]


def test_a_channel_of_the_podcast_namespace_is_read() -> None:
    feed = channel(
        "<podcast:guid>917393e3</podcast:guid><podcast:medium>podcast</podcast:medium>"
        "<podcast:locked>yes</podcast:locked>"
        '<podcast:funding url="/give">Support us</podcast:funding>'
        '<podcast:funding url="/plain"/><podcast:funding>nowhere</podcast:funding>'
    )

    assert feed.podcast == Podcast(
        guid="917393e3",
        medium="podcast",
        locked=True,
        funding=(
            ("https://example.com/give", "Support us"),
            ("https://example.com/plain", ""),
        ),
    )


def test_an_episode_of_the_podcast_namespace_is_read() -> None:
    entry = item(
        "<podcast:season>2</podcast:season><podcast:episode>3.5</podcast:episode>"
        '<podcast:chapters url="/c.json" type="application/json+chapters"/>'
        '<podcast:transcript url="/t.vtt" type="text/vtt" language="en" rel="captions"/>'
        "<podcast:transcript/>"
        '<podcast:person role="guest" group="cast" img="/j.jpg" href="/jane">Jane</podcast:person>'
        "<podcast:person/>"
        '<podcast:soundbite startTime="1.5" duration="60">Best</podcast:soundbite>'
        '<podcast:soundbite startTime="9" duration="1"/>'
        '<podcast:soundbite startTime="soon" duration="60"/><podcast:soundbite startTime="1"/>'
    )

    assert entry.podcast == Podcast(
        season="2",
        episode="3.5",
        chapters_url="https://example.com/c.json",
        chapters_type="application/json+chapters",
        transcripts=(
            PodcastTranscript(
                url="https://example.com/t.vtt", type="text/vtt", language="en", rel="captions"
            ),
        ),
        persons=(
            PodcastPerson(
                name="Jane",
                role="guest",
                group="cast",
                img="https://example.com/j.jpg",
                href="https://example.com/jane",
            ),
        ),
        soundbites=((1.5, 60.0, "Best"), (9.0, 1.0, "")),
    )


def test_people_beyond_the_limit_are_left_out_and_noted() -> None:
    people = "".join(f"<podcast:person>{name}</podcast:person>" for name in "abc")

    feed = channel(f"<item>{people}</item>", ParseLimits(max_values=2))

    podcast = feed.entries[0].podcast
    assert podcast is not None
    assert [person.name for person in podcast.persons] == ["a", "b"]
    assert [repair.code for repair in feed.repairs] == ["values-capped"]


def test_other_versions_of_the_enclosure_are_read_source_by_source() -> None:
    entry = item(
        '<podcast:alternateEnclosure type="audio/opus" length="99" title="Small">'
        '<podcast:source uri="/a.opus"/><podcast:source uri="ipfs://x" contentType="audio/ogg"/>'
        '<podcast:source/><podcast:integrity type="pgp-signature" value="no"/>'
        '<podcast:integrity type="sri" value="sha256-abc"/></podcast:alternateEnclosure>'
        "<podcast:alternateEnclosure/>"
    )

    small = Enclosure(
        url="https://example.com/a.opus",
        type="audio/opus",
        length=99,
        title="Small",
        alternate=True,
        integrity="sha256-abc",
    )
    assert entry.podcast is not None
    assert entry.podcast.alternates[0] == small
    assert [one.type for one in entry.podcast.alternates] == ["audio/opus", "audio/ogg"]
