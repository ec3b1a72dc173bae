"""Pages that a server keeps until the next commit."""

from sys import getrefcount
from typing import Any

import msgspec
import pytest

from feedmill.interfaces.rest.responses import (
    KEPT_BYTES,
    KEPT_PAGE_BYTES,
    KeptPage,
    KeptPages,
    etag_of,
    page_json,
)
from feedmill.model.page import LinePage

URL = ("/entries", b"limit=2")


@pytest.mark.parametrize("items", [(), ("a\nb",), ("a", {"b": ["\u2028", None]}, 3)])
@pytest.mark.parametrize("following", [None, "c.1"])
def test_a_page_of_lines_is_the_json_of_the_page(
    items: tuple[Any, ...], following: str | None
) -> None:
    lines = b"\n".join(map(msgspec.json.encode, items))

    body = page_json(LinePage(lines=lines, next=following))

    assert body == msgspec.json.encode({"items": items, "next": following})


def page(version: int | None, body: bytes = b"{}") -> KeptPage:
    return KeptPage(version, body, etag_of(body))


def test_a_page_is_kept_for_its_version_of_the_store() -> None:
    kept = KeptPages()
    kept.put(URL, page(7))

    assert kept.get(URL, 7) == page(7)
    assert kept.get(URL, 8) is None
    assert kept.get(URL, None) is None
    assert kept.get(("/entries", b""), 7) is None


@pytest.mark.parametrize("unkept", [page(None), page(8, b"x" * (KEPT_PAGE_BYTES + 1))])
def test_a_page_that_cannot_be_kept_replaces_the_older_one(unkept: KeptPage) -> None:
    kept = KeptPages()
    kept.put(URL, page(7))

    kept.put(URL, unkept)

    assert kept.get(URL, 7) is None
    assert kept.get(URL, unkept.version) is None


def test_only_so_many_octets_are_kept_and_the_first_page_goes_first() -> None:
    kept, body = KeptPages(), b"x" * (KEPT_PAGE_BYTES // 2)
    most = KEPT_BYTES // len(body) - 1  # each takes a little more than its body
    for number in range(most + 3):
        kept.put(("/entries", b"%d" % number), page(1, body))

    found = [n for n in range(most + 3) if kept.get(("/entries", b"%d" % n), 1)]

    assert found == list(range(3, most + 3))


def test_a_page_that_is_put_again_takes_its_room_once() -> None:
    kept, other = KeptPages(), ("/feeds", b"")
    kept.put(other, page(1))
    for _ in range(2 * KEPT_BYTES // KEPT_PAGE_BYTES):
        kept.put(URL, page(1, b"x" * KEPT_PAGE_BYTES))

    assert kept.get(other, 1) == page(1)


def test_pages_of_many_short_addresses_are_bounded() -> None:
    kept = KeptPages()
    for number in range(20_000):
        kept.put(("/entries", b"%d" % number), page(1))

    found = [n for n in range(20_000) if kept.get(("/entries", b"%d" % n), 1)]

    assert len(found) < 12_000
    assert found[-1] == 19_999


def test_the_next_version_drops_the_pages_of_the_one_before() -> None:
    kept, old = KeptPages(), page(1)
    unkept = getrefcount(old)
    kept.put(("/entries", b"old"), old)
    assert getrefcount(old) == unkept + 1

    kept.put(URL, page(2))

    assert getrefcount(old) == unkept
