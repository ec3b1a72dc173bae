"""A registered relation has a short name and a long one; both mean the same (RFC 4287 4.2.7.2)."""

import pytest

from feedmill.fetch.headers import link_headers, links_with_rel

_LONG = "http://www.iana.org/assignments/relation/"


@pytest.mark.parametrize("rel", ["self", "SELF", f"{_LONG}self", f"{_LONG.upper()}Self"])
def test_the_feeds_own_address_is_found_under_every_name_of_its_relation(rel: str) -> None:
    headers = (("Link", f'</rss>; rel="{rel}"'),)

    links = link_headers(headers, "https://paper.example/feed")

    assert links_with_rel(links, "self") == ("https://paper.example/rss",)


def test_a_relation_of_somebody_elses_keeps_its_name() -> None:
    headers = (("Link", '</rss>; rel="https://paper.example/Rel self"'),)

    links = link_headers(headers, "https://paper.example/feed")

    assert [link.rel for link in links] == ["https://paper.example/Rel", "self"]
