"""Names of elements: by namespace first, by prefix as a last resort, the same way every time."""

import pytest
from lxml import etree

from feedmill.parse.xml import names
from feedmill.parse.xml.names import is_guess, name_of


def element(xml: str) -> etree._Element:
    root = etree.fromstring(xml, etree.XMLParser(recover=True))
    assert root is not None
    return root[0]


@pytest.mark.parametrize(
    ("xml", "name"),
    [
        pytest.param("<r><item/></r>", "rss:item", id="no namespace at all"),
        pytest.param("<r><pubDate/></r>", "rss:pubdate", id="lower case"),
        pytest.param('<r xmlns="http://purl.org/rss/1.0/"><item/></r>', "rss:item", id="RSS 1.0"),
        pytest.param('<r xmlns="HTTP://purl.org/RSS/1.0"><item/></r>', "rss:item", id="sloppily"),
        pytest.param(
            '<r xmlns:x="http://purl.org/dc/elements/1.1/"><x:creator/></r>',
            "dc:creator",
            id="any prefix",
        ),
        pytest.param(
            '<r xmlns:x="https://purl.org/dc/elements/1.1/"><x:creator/></r>',
            "dc:creator",
            id="https for http",
        ),
        pytest.param(
            "<r xmlns:x='http://podcastindex.org/namespace/1.0'><x:guid/></r>",
            "podcast:guid",
            id="http for https",
        ),
        pytest.param(
            "<r xmlns:x='http://purl.org/atom/ns'><x:entry/></r>", "atom:entry", id="no final #"
        ),
        pytest.param("<r><dc:creator/></r>", "dc:creator", id="an undeclared prefix"),
        pytest.param("<r xmlns:dc='urn:x'><dc:creator/></r>", "dc:creator", id="a wrong URI"),
        pytest.param("<r xmlns:x='urn:x'><x:y/></r>", "?{urn:x}y", id="unknown"),
        pytest.param("<r xmlns='urn:x'><y/></r>", "?{urn:x}y", id="unknown without a prefix"),
        pytest.param("<r><foo:bar/></r>", "?foo:bar", id="unknown and undeclared"),
        pytest.param("<r xmlns:atom='urn:x'><atom:link/></r>", "?{urn:x}link", id="never atom"),
    ],
)
def test_a_name_is_found_by_namespace_and_then_by_prefix(xml: str, name: str) -> None:
    assert name_of(element(xml)) == name


def test_a_guess_by_prefix_does_not_stick_to_the_namespace() -> None:
    guessed = name_of(element("<r xmlns:dc='urn:one'><dc:date/></r>"))
    unknown = name_of(element("<r xmlns:x='urn:one'><x:date/></r>"))

    assert (guessed, unknown) == ("dc:date", "?{urn:one}date")


def test_invented_names_do_not_fill_the_memory() -> None:
    children = "".join(f"<a{number}/>" for number in range(5_000))
    root = etree.fromstring(f"<r>{children}<{'b' * 300}/></r>")

    found = [name_of(child) for child in root]

    assert found[:2] == ["rss:a0", "rss:a1"]
    assert found[-1] == "rss:" + "b" * 300
    assert len(names._cache) <= 4_096
    assert all(len(tag) < 200 for tag in names._cache)


@pytest.mark.parametrize(
    ("xml", "guess"),
    [
        ("<r><dc:creator/></r>", True),
        ("<r xmlns:dc='urn:x'><dc:creator/></r>", True),
        ("<r xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:creator/></r>", False),
        ("<r><item/></r>", False),
        ("<r xmlns:x='urn:x'><x:y/></r>", False),
    ],
)
def test_a_name_known_by_prefix_only_is_a_guess(xml: str, guess: bool) -> None:
    assert is_guess(element(xml)) is guess
