"""The link of an entry: which one is taken, how it is spelled, and what is refused.

Enclosures and pictures of an entry: http only, each once, with what is known of it.
"""

import json
from pathlib import Path

import pytest

from feedmill.config import NormaliseConfig
from feedmill.model.entry import EntryEnclosure
from feedmill.model.parsed import (
    Content,
    Enclosure,
    Itunes,
    Link,
    MediaContent,
    MediaThumbnail,
    ParsedEntry,
    Podcast,
)
from feedmill.normalise.links import (
    bad_link,
    entry_files,
    entry_image,
    entry_links,
    usable_http_url,
)

BASE = "https://example.com/feed.xml"
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "xss.json").read_text("utf-8"))
LINK_CASES = [case for case in VECTORS["cases"] if case["context"] in ("link_url", "enclosure_url")]


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        pytest.param("https://Example.com/A?b=%7e", "https://Example.com/A?b=%7e", id="as written"),
        pytest.param(" https://e.com/a ", "https://e.com/a", id="without blanks around it"),
        pytest.param("/a", "https://example.com/a", id="resolved"),
        pytest.param("//e.com/a", "https://e.com/a", id="with the scheme of the base"),
        pytest.param('https://e.com/"x', "https://e.com/%22x", id="a quote is escaped"),
        pytest.param("https://e.com/<b>", "https://e.com/%3Cb%3E", id="so are brackets"),
        pytest.param("https://e.com/a b", "https://e.com/a%20b", id="and blanks"),
        pytest.param("https://e.com/\n/b", "https://e.com//b", id="line ends go"),
        pytest.param("https://e.com/é", "https://e.com/é", id="letters stay"),
        pytest.param("javascript:x", None, id="a script"),
        pytest.param(" \x01javascript:x", None, id="a script behind a control character"),
        pytest.param("java\nscript:x", None, id="a script in two lines"),
        pytest.param("data:text/html,x", None, id="data"),
        pytest.param("mailto:a@b.c", None, id="an address of another kind"),
        pytest.param("feed:javascript:x", None, id="a wrapped scheme"),
        pytest.param("http://", None, id="no host"),
        pytest.param("https://e.com/\ud800", None, id="half a character"),
        pytest.param("https://e.com/" + "x" * 9000, None, id="too long"),
        pytest.param("https://e.com/" + "é" * 3000 + '"', None, id="too long once escaped"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="missing"),
    ],
)  # fmt: skip
def test_an_address_is_http_and_absolute_or_nothing(
    reference: str | None, address: str | None
) -> None:
    assert usable_http_url(reference, BASE) == address


@pytest.mark.parametrize("case", LINK_CASES, ids=lambda case: f"{case['id']} {case['why']}")
def test_no_address_leaves_its_attribute_or_runs(case: dict[str, str]) -> None:
    address = usable_http_url(case["payload"], None)

    assert address is None or (address.startswith("https://") and '"' not in address)


def test_a_link_has_a_form_for_showing_and_two_for_comparing() -> None:
    entry = ParsedEntry(link="https://E.com/a/?utm_source=x&ref=y&b=1#top")

    links = entry_links(entry, BASE, NormaliseConfig())

    assert links.link == "https://E.com/a/?utm_source=x&ref=y&b=1#top"
    assert links.canonical_link == "https://e.com/a/?b=1"
    assert links.article_link == "https://e.com/a?b=1&ref=y"
    assert links.findings == ()


def test_the_configured_tracking_parameters_shape_the_article_link() -> None:
    entry = ParsedEntry(link="https://e.com/a?utm_source=x&mine=1")

    links = entry_links(entry, BASE, NormaliseConfig(link_tracking_params=("mine",)))

    assert links.article_link == "https://e.com/a?utm_source=x"


@pytest.mark.parametrize(
    ("entry", "link"),
    [
        pytest.param(
            ParsedEntry(link="/a", id="https://e.com/id"),
            "https://example.com/a",
            id="its own link",
        ),
        pytest.param(
            ParsedEntry(
                links=(
                    Link(href="/self", rel="self"),
                    Link(href="/pdf", type="application/pdf"),
                    Link(href="/page", type="text/html"),
                )
            ),
            "https://example.com/page",
            id="a page among the alternates",
        ),
        pytest.param(
            ParsedEntry(links=(Link(href="/pdf", type="application/pdf"),)),
            "https://example.com/pdf",
            id="any alternate when there is no page",
        ),
        pytest.param(
            ParsedEntry(id="https://e.com/id", id_is_permalink=True),
            "https://e.com/id",
            id="a permalink as last resort",
        ),
        pytest.param(ParsedEntry(id="tag:e.com,2025:1"), None, id="not an id that is no address"),
        pytest.param(ParsedEntry(id="post-1"), None, id="nor one that could be resolved"),
        pytest.param(
            ParsedEntry(id="1", external_url="https://e.com/x"),
            "https://e.com/x",
            id="the page it is about",
        ),
        pytest.param(
            ParsedEntry(id="1", contents=(Content(value="x"), Content(value="", src="/full"))),
            "https://example.com/full",
            id="where its content is",
        ),
        pytest.param(ParsedEntry(), None, id="none"),
    ],
)
def test_the_first_usable_address_is_the_link(entry: ParsedEntry, link: str | None) -> None:
    assert entry_links(entry, BASE, NormaliseConfig()).link == link


def test_a_refused_link_is_reported_once_and_the_next_one_taken() -> None:
    entry = ParsedEntry(link="javascript:x", links=(Link(href="data:y"),), id="https://e.com/id")

    links = entry_links(entry, BASE, NormaliseConfig())

    assert links.link == "https://e.com/id"
    assert [(f.code, f.field, f.detail) for f in links.findings] == [
        ("bad-link", "link", "javascript:x")
    ]


@pytest.mark.parametrize("reference", [None, "", "  "])
def test_nothing_is_no_bad_link(reference: str | None) -> None:
    assert bad_link("link", reference) == ()


def test_enclosures_and_media_become_one_list() -> None:
    entry = ParsedEntry(
        enclosures=(Enclosure(url="/a.mp3", type=" Audio/MPEG; x=y", length=10),),
        media=(
            MediaContent(url="https://example.com/b.mp4", medium="video", duration=60),
            MediaContent(thumbnails=(MediaThumbnail(url="/t.png"),)),
        ),
    )

    files = entry_files(entry, BASE, 256)

    assert files.enclosures == (
        EntryEnclosure(url="https://example.com/a.mp3", type="audio/mpeg", length=10),
        EntryEnclosure(url="https://example.com/b.mp4", duration=60),
    )
    assert files.findings == ()


def test_a_file_mentioned_twice_is_listed_once_with_all_that_is_known() -> None:
    entry = ParsedEntry(
        enclosures=(Enclosure(url="https://E.com/a.mp3", length=10),),
        media=(
            MediaContent(
                url="https://e.com/a.mp3",
                type="audio/mpeg",
                length=99,
                duration=5,
                title="<b>A</b>",
            ),
        ),
    )

    files = entry_files(entry, BASE, 256)

    assert files.enclosures == (
        EntryEnclosure(
            url="https://E.com/a.mp3", type="audio/mpeg", length=10, duration=5, title="A"
        ),
    )


def test_files_that_are_not_on_the_web_are_reported_once_and_left_out() -> None:
    entry = ParsedEntry(
        enclosures=(
            Enclosure(url="javascript:x"),
            Enclosure(url="data:y"),
            Enclosure(url="https://e.com/a"),
        )
    )

    files = entry_files(entry, BASE, 256)

    assert [file.url for file in files.enclosures] == ["https://e.com/a"]
    assert [(f.code, f.field, f.detail) for f in files.findings] == [
        ("bad-link", "enclosures", "javascript:x")
    ]


def test_numbers_and_types_that_mean_nothing_are_left_out() -> None:
    entry = ParsedEntry(
        enclosures=(Enclosure(url="https://e.com/a", type="mp3", length=0, duration=-1, title=" "),)
    )

    assert entry_files(entry, BASE, 256).enclosures == (EntryEnclosure(url="https://e.com/a"),)


def test_the_first_files_are_kept_when_there_are_too_many() -> None:
    entry = ParsedEntry(enclosures=tuple(Enclosure(url=f"https://e.com/{n}") for n in (1, 2, 3, 1)))

    files = entry_files(entry, BASE, 2)

    assert [file.url for file in files.enclosures] == ["https://e.com/1", "https://e.com/2"]


@pytest.mark.parametrize(
    ("entry", "image"),
    [
        pytest.param(ParsedEntry(image="/i.png"), "https://example.com/i.png", id="its image"),
        pytest.param(
            ParsedEntry(image="data:x", itunes=Itunes(image="https://e.com/i")),
            "https://e.com/i",
            id="the itunes image when the other is unusable",
        ),
        pytest.param(
            ParsedEntry(
                itunes=Itunes(),
                media=(
                    MediaContent(url="/v.mp4", type="video/mp4"),
                    MediaContent(url="/a.png", thumbnails=(MediaThumbnail(url="/t.png"),)),
                    MediaContent(url="/p.png", medium="image"),
                ),
            ),
            "https://example.com/p.png",
            id="a picture among the media",
        ),
        pytest.param(
            ParsedEntry(media=(MediaContent(url="/p", type="image/png"),)),
            "https://example.com/p",
            id="known by its type",
        ),
        pytest.param(
            ParsedEntry(media=(MediaContent(thumbnails=(MediaThumbnail(url="/t.png"),)),)),
            "https://example.com/t.png",
            id="a thumbnail",
        ),
        pytest.param(
            ParsedEntry(
                enclosures=(Enclosure(url="/a.mp3"), Enclosure(url="/e.png", type="image/png"))
            ),
            "https://example.com/e.png",
            id="an enclosure",
        ),
        pytest.param(
            ParsedEntry(
                media=(MediaContent(url="/v.mp4", type="video/mp4"),),
                enclosures=(Enclosure(url="/e.png", type="image/png"),),
            ),
            "https://example.com/e.png",
            id="an enclosure when no medium is a picture",
        ),
        pytest.param(
            ParsedEntry(
                media=(
                    MediaContent(url="/v.jpg", medium="video"),
                    MediaContent(url="/w.png", type="text/html"),
                    MediaContent(url="/watch"),
                    MediaContent(url="/p.JPG?width=140"),
                )
            ),
            "https://example.com/p.JPG?width=140",
            id="known by its name when nothing else says what it is",
        ),
        pytest.param(ParsedEntry(), None, id="none"),
    ],
)
def test_the_first_picture_stands_for_the_entry(entry: ParsedEntry, image: str | None) -> None:
    assert entry_image(entry, BASE) == image


def test_other_versions_are_marked_and_take_nothing_from_the_main_file() -> None:
    versions = (
        Enclosure(url="/a.mp3", alternate=True, integrity="sha256-x"),
        Enclosure(url="/a.opus", type="audio/opus", alternate=True),
        Enclosure(url="ipfs://abc", alternate=True),
    )
    main = Enclosure(url="/a.mp3")
    entry = ParsedEntry(enclosures=(main,), podcast=Podcast(alternates=versions))

    files = entry_files(entry, BASE, 256)

    assert files.enclosures == (
        EntryEnclosure(url="https://example.com/a.mp3", integrity="sha256-x"),
        EntryEnclosure(url="https://example.com/a.opus", type="audio/opus", alternate=True),
    )
    assert files.findings == ()
    alone = ParsedEntry(podcast=Podcast(alternates=versions[1:2]))
    assert len(entry_files(alone, BASE, 256).enclosures) == 1
