"""Enclosures and pictures of an entry: http only, each once, with what is known of it."""

import pytest

from feedmill.model.entry import EntryEnclosure
from feedmill.model.parsed import (
    Enclosure,
    Itunes,
    MediaContent,
    MediaThumbnail,
    ParsedEntry,
    Podcast,
)
from feedmill.normalise.media import entry_files, entry_image

BASE = "https://example.com/feed.xml"


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
