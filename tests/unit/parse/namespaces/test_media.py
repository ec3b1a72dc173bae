"""media: — the files of an entry, alone and in groups, and what is said about them."""

import pytest

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import (
    Category,
    MediaContent,
    MediaThumbnail,
    ParsedEntry,
    ParsedFeed,
    Text,
)
from feedmill.parse.document import parse_document

URL = "https://example.com/feed.xml"


def item(elements: str, limits: ParseLimits | None = None) -> ParsedEntry:
    body = (
        '<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel>'
        f"<item>{elements}</item></channel></rss>"
    )
    parsed = parse_document(RawDocument(body=body.encode(), url=URL), limits or ParseLimits())
    assert isinstance(parsed, ParsedFeed)
    return parsed.entries[0]


def test_a_content_keeps_its_attributes_and_what_is_said_inside_it() -> None:
    entry = item(
        '<media:content url="/v.mp4" type="video/mp4" medium="video" fileSize="9" duration="1:30" '
        'width="640" height="480" lang="en"><media:title>T</media:title>'
        "<media:description>D</media:description><media:credit>Jane</media:credit>"
        '<media:thumbnail url="/t.jpg" width="10" height="20"/><media:rating>x</media:rating>'
        "</media:content>"
    )

    assert entry.media == (
        MediaContent(
            url="https://example.com/v.mp4",
            type="video/mp4",
            medium="video",
            length=9,
            duration=90,
            width=640,
            height=480,
            lang="en",
            title="T",
            description="D",
            credits=("Jane",),
            thumbnails=(MediaThumbnail(url="https://example.com/t.jpg", width=10, height=20),),
        ),
    )
    assert (entry.title, entry.summary) == (None, None)


def test_names_of_attributes_have_no_case() -> None:
    entry = item(
        '<media:content URL="/v.mp4" Type="video/mp4" filesize="9"/><media:thumbnail URL="/t.jpg"/>'
    )

    assert entry.media[0] == MediaContent(
        url="https://example.com/v.mp4", type="video/mp4", length=9
    )
    assert entry.image == "https://example.com/t.jpg"


def test_the_contents_of_a_group_inherit_what_the_group_says() -> None:
    entry = item(
        "<media:group><media:title>G</media:title><media:description>H</media:description>"
        "<media:credit>Jane</media:credit><media:thumbnail url='/g.jpg'/>"
        "<media:content url='/1'/><media:content url='/2'><media:title>own</media:title>"
        "<media:description>mine</media:description><media:credit>Joe</media:credit>"
        "<media:thumbnail url='/own.jpg'/></media:content></media:group>"
    )

    first, second = entry.media
    assert (first.url, first.title, first.description) == ("https://example.com/1", "G", "H")
    assert first.credits == ("Jane",)
    assert first.thumbnails == (MediaThumbnail(url="https://example.com/g.jpg"),)
    assert (second.title, second.description, second.credits) == ("own", "mine", ("Joe",))
    assert second.thumbnails == (MediaThumbnail(url="https://example.com/own.jpg"),)


def test_a_group_stands_in_for_what_the_entry_lacks() -> None:
    entry = item(
        "<media:group xml:lang='en'><media:title>G</media:title><media:description>H"
        "</media:description><media:thumbnail url='/g.jpg'/><media:category>sea</media:category>"
        "<media:content url='/1'/></media:group>"
    )

    assert entry.title == Text(value="G", kind="html", base=URL, lang="en")
    assert entry.summary == Text(value="H", kind="html", base=URL, lang="en")
    assert entry.image == "https://example.com/g.jpg"
    assert [category.term for category in entry.categories] == ["sea"]


def test_a_group_without_contents_is_kept_for_what_it_says() -> None:
    entry = item("<media:group><media:title>G</media:title></media:group>")

    assert entry.media == (MediaContent(title="G"),)
    assert entry.image is None


def test_the_entry_itself_beats_its_media() -> None:
    entry = item(
        "<media:title>other</media:title><media:description>other</media:description>"
        "<title>own</title><description>own</description>"
    )

    assert entry.title == Text(value="own", kind="html", base=URL)
    assert entry.summary == Text(value="own", kind="html", base=URL)


@pytest.mark.parametrize(
    ("attribute", "kind"),
    [
        pytest.param("", "html", id="nothing said"),
        pytest.param(" type='html'", "html", id="html"),
        pytest.param(" type=' Plain '", "text", id="plain"),
    ],
)
def test_a_title_is_plain_where_it_says_so(attribute: str, kind: str) -> None:
    entry = item(f"<media:title{attribute}>1 &lt; 2</media:title>")

    assert entry.title is not None
    assert (entry.title.value, entry.title.kind) == ("1 < 2", kind)


@pytest.mark.parametrize(
    "element",
    [
        pytest.param("<media:thumbnail url='/t.jpg'/>", id="attribute"),
        pytest.param("<media:thumbnail>/t.jpg</media:thumbnail>", id="text"),
    ],
)
def test_a_thumbnail_is_a_picture_of_the_entry(element: str) -> None:
    entry = item(element)

    thumbnail = MediaThumbnail(url="https://example.com/t.jpg")
    assert entry.media == (MediaContent(thumbnails=(thumbnail,)),)
    assert entry.image == "https://example.com/t.jpg"


def test_a_category_without_a_scheme_has_the_one_of_media_rss() -> None:
    entry = item(
        "<media:category label='L'>a</media:category>"
        "<media:category scheme='https://s.example/'>b</media:category><media:category/>"
    )

    assert entry.categories == (
        Category(term="a", scheme="http://search.yahoo.com/mrss/category_schema", label="L"),
        Category(term="b", scheme="https://s.example/"),
    )


def test_elements_that_say_nothing_set_nothing() -> None:
    entry = item(
        "<media:title/><media:description/><media:thumbnail/><media:content url='/1'>"
        "<media:credit/><media:thumbnail/></media:content>"
    )

    assert entry.media == (MediaContent(url="https://example.com/1"),)
    assert (entry.title, entry.summary, entry.image) == (None, None, None)


def test_credits_and_thumbnails_stay_within_the_limit() -> None:
    entry = item(
        "<media:content><media:credit>a</media:credit><media:credit>b</media:credit>"
        "<media:thumbnail url='/1'/><media:thumbnail url='/2'/></media:content>",
        ParseLimits(max_values=1),
    )

    assert entry.media[0].credits == ("a",)
    assert [one.url for one in entry.media[0].thumbnails] == ["https://example.com/1"]
