"""Header fields keep their order, their duplicates and their octets."""

import pytest

from feedmill.fetch.headers import (
    header_list,
    header_text,
    header_value,
    header_values,
    is_sendable,
    link_headers,
    links_with_rel,
    redact_headers,
)
from feedmill.model.parsed import Link

_HEADERS = (("Vary", "Accept"), ("ETag", ""), ("etag", ' "a" '), ("VARY", "Origin"))
_URL = "https://example.com/blog/feed"


def test_a_field_is_found_in_any_case_with_all_its_values_in_order() -> None:
    assert header_values(_HEADERS, "vary") == ("Accept", "Origin")
    assert header_list(_HEADERS, "Vary") == "Accept, Origin"


def test_an_empty_value_does_not_hide_the_next_one() -> None:
    assert header_value(_HEADERS, "ETag") == '"a"'
    assert header_value(_HEADERS, "Age") is None


def test_octets_are_sendable_and_line_ends_are_not() -> None:
    assert is_sendable('"caf\xe9"\t')
    assert not is_sendable('"a"\r\nX: y')
    assert not is_sendable("\x00")
    assert not is_sendable("\x7f")
    assert not is_sendable("€")


def test_octets_are_read_as_utf_8_where_they_are() -> None:
    assert header_text("caf\xc3\xa9") == "café"
    assert header_text("caf\xe9") == "café"
    assert header_text("€") == "€"


def test_credentials_are_not_recorded() -> None:
    headers = (("Accept", "*/*"), ("Authorization", "Basic c2VjcmV0"), ("Set-Cookie", "id=1"))

    assert redact_headers(headers) == (
        ("Accept", "*/*"),
        ("Authorization", "[redacted]"),
        ("Set-Cookie", "[redacted]"),
    )


def _pairs(*values: str) -> list[tuple[str, str]]:
    links = link_headers(tuple(("Link", value) for value in values), _URL)
    return [(link.rel, link.href) for link in links]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("</h>; rel=hub", [("hub", "https://example.com/h")], id="token"),
        pytest.param('<h>;rel="HUB"', [("hub", "https://example.com/blog/h")], id="quoted, case"),
        pytest.param(
            "<https://a.example/>; rel=hub, <https://b.example/>; rel=self",
            [("hub", "https://a.example/"), ("self", "https://b.example/")],
            id="several in one field",
        ),
        pytest.param(
            '</a,b>; title="x, <y>; rel=no"; rel=hub,</c>; rel=self',
            [("hub", "https://example.com/a,b"), ("self", "https://example.com/c")],
            id="commas inside",
        ),
        pytest.param(
            '</a>; rel="hub  self hub"',
            [("hub", "https://example.com/a"), ("self", "https://example.com/a")],
            id="several relations",
        ),
        pytest.param("</a>; rel=hub; rel=self", [("hub", "https://example.com/a")], id="first rel"),
        pytest.param(
            "</a>; rel=https://Example.com/Rel", [("https://Example.com/Rel", "https://example.com/a")],
            id="a relation that is a URI",
        ),
        pytest.param("</a> ; rel = hub ;", [("hub", "https://example.com/a")], id="loose spaces"),
        pytest.param('</a>; rel="hub', [("hub", "https://example.com/a")], id="open quote"),
        pytest.param('</a>; rel=hub; anchor=""', [("hub", "https://example.com/a")], id="own anchor"),
        pytest.param('</a>; rel=hub; anchor="/other"', [], id="about another page"),
        pytest.param('</a>; rel=hub; anchor="#part"', [], id="about a part"),
        pytest.param("</a>", [], id="no relation"),
        pytest.param("</a>; rev=hub", [], id="reversed"),
        pytest.param("<javascript:alert(1)>; rel=hub", [], id="not http"),
        pytest.param("<http://[bad>; rel=hub", [], id="unreadable target"),
        pytest.param("rel=hub", [], id="no target"),
        pytest.param("</a; rel=hub", [], id="open target"),
    ],
)  # fmt: skip
def test_links_are_read_by_the_grammar(value: str, expected: list[tuple[str, str]]) -> None:
    assert _pairs(value) == expected


def test_several_fields_are_one_list() -> None:
    assert _pairs("</a>; rel=hub", "</b>; rel=self") == [
        ("hub", "https://example.com/a"),
        ("self", "https://example.com/b"),
    ]


def test_a_link_keeps_its_attributes() -> None:
    value = r'</a>; rel=alternate; type="application/rss+xml"; hreflang=de; title="a \"b\" \\c"'

    assert link_headers((("link", value),), _URL) == (
        Link(
            href="https://example.com/a",
            rel="alternate",
            type="application/rss+xml",
            hreflang="de",
            title=r'a "b" \c',
        ),
    )


def test_the_targets_of_one_relation_come_each_once() -> None:
    links = link_headers((("Link", "</a>; rel=hub, </b>; rel=self, </a>; rel=hub"),), _URL)

    assert links_with_rel(links, "hub") == ("https://example.com/a",)


def test_a_flood_of_links_is_cut() -> None:
    assert len(_pairs("</a>; rel=hub, " * 100_000)) == 100
    assert len(_pairs(f'</a>; rel="{" ".join(f"r{n}" for n in range(5_000))}"')) == 100
