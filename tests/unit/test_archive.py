"""The walk through an archive: links in their order, and every reason to stop."""

import pytest

from feedmill.archive import (
    ArchivePage,
    ArchiveWalk,
    Stop,
    first_page,
    from_cursor,
    next_page,
    to_cursor,
)

FEED = "https://paper.example/feed"
ARCHIVE = "https://paper.example/archive/7"


def page(url: str = FEED, *, prev: str | None = None, after: str | None = None) -> ArchivePage:
    return ArchivePage(
        url=url,
        prev_archive_urls=(prev,) if prev else (),
        next_urls=(after,) if after else (),
    )


def wordpress(url: str, *, entries: str = "newest") -> ArchivePage:
    return ArchivePage(url=url, generator="https://wordpress.org/?v=6.4", entries_mark=entries)


def begun(document: ArchivePage, *, guess: bool = True) -> ArchiveWalk:
    walk = first_page(document, wordpress=guess)
    assert isinstance(walk, ArchiveWalk)
    return walk


def went_on(walk: ArchiveWalk, found: ArchivePage, body: str, new: int = 1) -> ArchiveWalk | Stop:
    return next_page(walk, found, body_sha256=body * 64, new_entries=new, max_pages=20)


@pytest.mark.parametrize(
    ("document", "kind", "url"),
    [
        pytest.param(page(prev="/archive/7"), "prev-archive", ARCHIVE, id="an archive document"),
        pytest.param(page(after="?page=2"), "next", f"{FEED}?page=2", id="a paged feed"),
        pytest.param(page(prev=ARCHIVE, after="/2"), "prev-archive", ARCHIVE, id="archives first"),
        pytest.param(wordpress(FEED), "paged", f"{FEED}?paged=2", id="WordPress"),
        pytest.param(wordpress(f"{FEED}?cat=1&paged=1"), "paged", f"{FEED}?cat=1&paged=2", id="with a query"),
    ],
)  # fmt: skip
def test_the_current_document_leads_to_the_first_page(
    document: ArchivePage, kind: str, url: str
) -> None:
    walk = begun(document)

    assert (walk.kind, walk.url, walk.number) == (kind, url, 1)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param(page(), "no-link", id="nothing is named"),
        pytest.param(page(prev="javascript:x"), "no-link", id="no web address is named"),
        pytest.param(page(prev="https://other.example/1"), "other-host", id="another host"),
        pytest.param(page(after=FEED), "loop", id="it names itself"),
    ],
)
def test_a_walk_does_not_begin_without_a_way(document: ArchivePage, reason: str) -> None:
    assert first_page(document, wordpress=True) == Stop(reason=reason)  # type: ignore[arg-type]


def test_wordpress_is_not_guessed_when_that_is_switched_off_or_when_it_names_a_page() -> None:
    assert first_page(wordpress(FEED), wordpress=False) == Stop(reason="no-link")
    assert first_page(page(), wordpress=True) == Stop(reason="no-link")


def test_pages_are_walked_to_the_one_without_a_link() -> None:
    walk = begun(page(prev=ARCHIVE))
    second = went_on(walk, page(ARCHIVE, prev="6"), "a", new=3)
    assert isinstance(second, ArchiveWalk)
    assert (second.url, second.number, second.entries) == (
        "https://paper.example/archive/6",
        2,
        3,
    )

    assert went_on(second, page(second.url), "b") == Stop(reason="no-link")


def test_pages_of_wordpress_are_counted_up() -> None:
    second = went_on(begun(wordpress(FEED)), wordpress(f"{FEED}?paged=2"), "a")

    assert isinstance(second, ArchiveWalk)
    assert second.url == f"{FEED}?paged=3"


def test_a_page_that_was_read_before_ends_the_walk() -> None:
    second = went_on(begun(page(prev=ARCHIVE)), page(ARCHIVE, prev="/archive/6"), "a")
    assert isinstance(second, ArchiveWalk)

    assert went_on(second, page(second.url, prev=ARCHIVE), "b") == Stop(reason="loop")
    assert went_on(second, page(second.url, prev="/archive/5"), "a") == Stop(reason="loop")


@pytest.mark.parametrize("named", ["prev", "after"])
def test_twelve_pages_without_anything_new_are_passed_and_one_more_ends_the_walk(
    named: str,
) -> None:
    walk = begun(page(**{named: "/archive/99"}))

    for number in range(12):
        onward = went_on(
            walk, page(walk.url, **{named: f"/archive/{number}"}), "bcdefghijklm"[number], new=0
        )
        assert isinstance(onward, ArchiveWalk)
        walk = onward

    assert went_on(walk, page(walk.url, **{named: "/x"}), "x", new=0) == Stop(reason="nothing-new")
    assert isinstance(went_on(walk, page(walk.url, **{named: "/x"}), "x", new=1), ArchiveWalk)


def test_a_guessed_page_with_the_entries_of_one_before_ends_the_walk_and_another_one_does_not() -> (
    None
):
    repeated, other = wordpress(f"{FEED}?paged=2"), wordpress(f"{FEED}?paged=2", entries="older")

    ended = went_on(begun(wordpress(FEED)), repeated, "a", new=0)
    passed = went_on(begun(wordpress(FEED)), other, "a", new=0)

    assert ended == Stop(reason="nothing-new")
    assert isinstance(passed, ArchiveWalk)
    for one in (other, repeated):
        assert went_on(passed, one, "b", new=0) == Stop(reason="nothing-new")


def test_the_page_limit_ends_the_walk() -> None:
    walk = begun(page(prev=ARCHIVE))

    ended = next_page(
        walk, page(ARCHIVE, prev="6"), body_sha256="a" * 64, new_entries=1, max_pages=1
    )

    assert ended == Stop(reason="page-limit")


def test_a_walk_is_stored_as_a_cursor() -> None:
    walk = begun(page(prev=ARCHIVE))

    assert from_cursor(to_cursor(walk)) == walk
