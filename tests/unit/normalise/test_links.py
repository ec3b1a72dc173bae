"""The link of an entry: which one is taken, how it is spelled, and what is refused."""

import json
from pathlib import Path

import pytest

from feedmill.config import NormaliseConfig
from feedmill.model.parsed import Link, ParsedEntry
from feedmill.normalise.links import bad_link, entry_links, usable_http_url

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
