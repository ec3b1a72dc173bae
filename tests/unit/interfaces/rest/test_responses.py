"""Pages that a server keeps until the next commit."""

import pytest

from feedmill.interfaces.rest.responses import KEPT_BYTES, KEPT_PAGES, KeptPage, KeptPages, etag_of

URL = ("/entries", b"limit=2")


def page(version: int | None, body: bytes = b"{}") -> KeptPage:
    return KeptPage(version, body, etag_of(body))


def test_a_page_is_kept_for_its_version_of_the_store() -> None:
    kept = KeptPages()
    kept.put(URL, page(7))

    assert kept.get(URL, 7) == page(7)
    assert kept.get(URL, 8) is None
    assert kept.get(URL, None) is None
    assert kept.get(("/entries", b""), 7) is None


@pytest.mark.parametrize("unkept", [page(None), page(8, b"x" * (KEPT_BYTES + 1))])
def test_a_page_that_cannot_be_kept_replaces_the_older_one(unkept: KeptPage) -> None:
    kept = KeptPages()
    kept.put(URL, page(7))

    kept.put(URL, unkept)

    assert kept.get(URL, 7) is None
    assert kept.get(URL, unkept.version) is None


def test_only_so_many_pages_are_kept_and_the_first_goes_first() -> None:
    kept = KeptPages()
    for number in range(KEPT_PAGES + 3):
        kept.put(("/entries", b"%d" % number), page(1))

    found = [n for n in range(KEPT_PAGES + 3) if kept.get(("/entries", b"%d" % n), 1)]

    assert found == list(range(3, KEPT_PAGES + 3))
