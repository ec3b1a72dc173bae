"""Text, markup, numbers, durations and inheritance of single elements."""

import pytest
from lxml import etree

from feedmill.config import ParseLimits
from feedmill.model.parsed import RepairCode
from feedmill.parse.xml.elements import (
    Draft,
    ElementScope,
    decimal,
    flag,
    inner_markup,
    integer,
    markup_of,
    seconds,
    text_of,
)


def scope(*, inherits: bool = True, max_values: int = 1_000) -> ElementScope:
    notes: set[RepairCode] = set()
    limits = ParseLimits(max_values=max_values)
    return ElementScope(
        base="https://example.com/a/", lang="en", inherits=inherits, limits=limits, notes=notes
    )


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        ("<a> t </a>", "t"),
        ("<a/>", None),
        ("<a>  </a>", None),
        ("<a>x<b>y</b>z</a>", "xyz"),
        ("<a><b/></a>", None),
        ("<a> &lt;![CDATA[ http://a.example/?b&amp;c ]]&gt; </a>", "http://a.example/?b&c"),
        ("<a>&lt;![CDATA[]]&gt;</a>", None),
        ("<a>&lt;![CDATA[b</a>", "<![CDATA[b"),
    ],
)
def test_text_is_stripped_and_without_markup(xml: str, text: str | None) -> None:
    assert text_of(etree.fromstring(xml)) == text


@pytest.mark.parametrize(
    ("xml", "markup"),
    [
        ("<a> &lt;b&gt; </a>", "<b>"),
        ("<a> </a>", None),
        ("<a/>", None),
        ("<a>1 &lt; 2 &amp; 3 <b>y</b> z</a>", "1 &lt; 2 &amp; 3 <b>y</b> z"),
        ("<a><x:p xmlns:x='http://www.w3.org/1999/xhtml'>t<x:br/></x:p></a>", "<p>t<br></p>"),
        ("<a><x:日 xmlns:x='urn:x'>t</x:日></a>", "<span>t</span>"),
    ],
)
def test_markup_is_html_without_namespaces(xml: str, markup: str | None) -> None:
    assert markup_of(etree.fromstring(xml)) == markup


def test_names_that_are_no_names_do_not_break_markup() -> None:
    root = etree.fromstring("<a><x:1b>t</x:1b><:>u</:></a>", etree.XMLParser(recover=True))
    assert root is not None

    assert "t" in inner_markup(root)


@pytest.mark.parametrize(
    ("text", "number"),
    [(" 7 ", 7), ("0", 0), ("-1", None), ("1.5", None), ("", None), (None, None), ("٣", None)],
)
def test_whole_numbers_are_read(text: str | None, number: int | None) -> None:
    assert integer(text) == number


def test_a_number_too_long_to_be_one_is_nothing() -> None:
    assert integer("9" * 18) == int("9" * 18)
    assert integer("9" * 19) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.5", 1.5),
        (" -2 ", -2.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e400", None),
        ("1e15", None),
        ("nan", None),
        ("inf", None),
        ("1_000", None),
        ("x", None),
        ("", None),
        (None, None),
        ("9" * 100_000, None),
    ],
)
def test_decimal_numbers_are_finite_and_plain(text: str | None, number: float | None) -> None:
    assert decimal(text) == number


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90", 90),
        ("90.7", 90),
        ("1:30", 90),
        ("01:02:03", 3723),
        ("1:02:03.5", 3723),
        ("PT1H2M3S", 3723),
        ("pt90s", 90),
        ("P1DT1S", 86_401),
        ("P", None),
        ("PT", None),
        ("-5", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_durations_are_seconds(text: str | None, length: int | None) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" Yes ", True),
        ("true", True),
        ("explicit", True),
        ("no", False),
        ("False", False),
        ("clean", False),
        ("maybe", None),
        ("", None),
        (None, None),
    ],
)
def test_flags_are_yes_no_or_nothing(text: str | None, value: bool | None) -> None:
    assert flag(text) is value


def test_an_element_hands_its_base_and_language_down() -> None:
    root = etree.fromstring("<a xml:base='b/' xml:lang=' de '/>")

    inside = scope().enter(root)

    assert (inside.base, inside.lang) == ("https://example.com/a/b/", "de")
    assert inside.link(" c ") == "https://example.com/a/b/c"


@pytest.mark.parametrize(
    ("xml", "base", "lang"),
    [
        ("<a xml:base='/x'/>", "https://example.com/x", "en"),
        ("<a xml:lang=''/>", "https://example.com/a/", None),
        ("<a/>", "https://example.com/a/", "en"),
    ],
)
def test_what_an_element_does_not_say_is_inherited(xml: str, base: str, lang: str | None) -> None:
    inside = scope().enter(etree.fromstring(xml))

    assert (inside.base, inside.lang) == (base, lang)


def test_a_document_without_such_attributes_is_not_searched_for_them() -> None:
    outside = scope(inherits=False)

    assert outside.enter(etree.fromstring("<a xml:base='/x'/>")) is outside


@pytest.mark.parametrize("reference", [None, "", "  "])
def test_an_empty_reference_is_no_link(reference: str | None) -> None:
    assert scope().link(reference) is None


def test_the_first_value_of_a_field_stays_and_stand_ins_only_fill_gaps() -> None:
    draft = Draft()

    draft.put("id", None)
    draft.put("id", "first")
    draft.put("id", "second")
    draft.offer("id", "stand-in")
    draft.offer("link", None)
    draft.offer("link", "other")
    draft.offer("link", "later")

    assert draft.settled() == {"id": "first", "link": "other"}


def test_without_stand_ins_the_fields_are_what_was_put() -> None:
    draft = Draft()
    draft.put("id", "first")

    assert draft.settled() == {"id": "first"}


def test_many_values_are_kept_up_to_the_limit() -> None:
    draft, inside = Draft(), scope(max_values=2)

    for number in range(3):
        draft.add("tags", number, inside)
        draft.add_other("more", number, inside)

    assert draft.settled() == {"tags": (0, 1), "more": (0, 1)}
    assert inside.notes == {"values-capped"}
