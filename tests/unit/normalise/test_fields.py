"""Tags are clean, unique whatever their case, and in a stable order.

Suspicious content is reported, and nothing is deleted for it.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.model.parsed import Category
from feedmill.normalise.fields import (
    DETAIL_MAX_CHARS,
    MAX_CATEGORY_CHARS,
    clean_categories,
    describe,
    find_suspicious,
)

UNTIMED = settings(deadline=None)  # the machine may be busy; laws are not timed


def tags(*terms: str, max_tags: int = 256) -> tuple[str, ...]:
    return clean_categories([Category(term=term) for term in terms], max_tags)


def test_the_first_spelling_of_a_tag_stays() -> None:
    assert tags("News", "NEWS", "news", "Straße", "STRASSE") == ("News", "Straße")


def test_tags_are_sorted_without_regard_to_case() -> None:
    assert tags("b", "A", "C") == ("A", "b", "C")


def test_tags_are_clean_text() -> None:
    assert tags(" R&amp;D ", "<b>x</b>", "", "<br>") == ("R&D", "x")


def test_a_label_stands_in_for_a_missing_term() -> None:
    found = clean_categories(
        [Category(term=" ", label="Label"), Category(term="t", label="other")], 256
    )

    assert found == ("Label", "t")


def test_the_first_tags_are_kept_when_there_are_too_many() -> None:
    assert tags("z", "Z", "y", "x", max_tags=2) == ("y", "z")


def test_a_tag_is_never_long() -> None:
    (tag,) = tags("x" * 1000)

    assert len(tag) == MAX_CATEGORY_CHARS


@given(st.lists(st.text(max_size=5)))
def test_cleaning_tags_twice_changes_nothing(terms: list[str]) -> None:
    once = tags(*terms)

    assert tags(*once) == once
    assert len({tag.casefold() for tag in once}) == len(once)


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        pytest.param("Update on the Jet Set", (), id="words are words"),
        pytest.param("javascript: a history", (), id="text without markup cannot run"),
        pytest.param("<p>description: on a roll = fun</p>", (), id="ordinary markup"),
        pytest.param("<p>naïve “quotes”</p>", (), id="ordinary characters"),
        pytest.param("<SCRIPT>x</script>", ("script",), id="a script in any case"),
        pytest.param('<a href="javascript:x">', ("script",), id="an address that runs"),
        pytest.param("<a href=' vb script :x'>", ("script",), id="with blanks in it"),
        pytest.param('<a href="java&#115;cript:x">', ("script",), id="escaped"),
        pytest.param('<a href="javascript&colon;x">', ("script",), id="escaped by name"),
        pytest.param('<a href="&#104;ttp://e.com/">', (), id="escaped but harmless"),
        pytest.param("<img/onerror=x>", ("event-handler",), id="a handler behind a slash"),
        pytest.param('<img src="a"onload = x>', ("event-handler",), id="a handler behind a quote"),
        pytest.param("<p>x</p> onclick=1 <p>", (), id="a handler outside of a tag"),
        pytest.param("<iframe src=x>", ("embedded-frame",), id="a frame"),
        pytest.param("<object><embed>", ("embedded-frame",), id="two of a kind are one finding"),
        pytest.param("<form><input>", ("form",), id="a form"),
        pytest.param("<formula>", (), id="a longer name is another element"),
        pytest.param('<img src="data:image/png;base64,x">', ("data-url",), id="data that loads"),
        pytest.param("<a href=blob:x>", ("data-url",), id="a blob"),
        pytest.param('<p style="width:expression(x)">', ("css-trick",), id="a CSS expression"),
        pytest.param('<p style="-moz-binding:url(x)">', ("css-trick",), id="a CSS binding"),
        pytest.param('<p style="a:url(javascript:x)">', ("css-trick",), id="a CSS address"),
        pytest.param("<p>regular expression (regex)</p>", (), id="a talk about expressions"),
        pytest.param('<meta http-equiv="refresh" content="0">', ("meta-refresh",), id="a refresh"),
        pytest.param("pay\u200bpal", ("hidden-text",), id="a word that is split"),
        pytest.param("exe.\u202egpj", ("hidden-text",), id="text that is turned round"),
        pytest.param("hi\U000e0068\U000e0069", ("hidden-text",), id="invisible letters"),
        pytest.param("a\u2066b\u2069 é", ("hidden-text",), id="isolates without a reason"),
        pytest.param("\u05d0\u2066b\u2069", (), id="isolates in Hebrew"),
        pytest.param("\u0e01\u200b\u0e02", (), id="word marks in Thai"),
        pytest.param("\U0001f3f4\U000e0067\U000e0062\U000e007f", (), id="a flag"),
        pytest.param(
            "<iframe onload=x><script>",
            ("script", "event-handler", "embedded-frame"),
            id="several at once",
        ),
    ],
)  # fmt: skip
def test_findings_name_what_was_seen(value: str, codes: tuple[str, ...]) -> None:
    findings = find_suspicious("summary", value)

    assert tuple(finding.code for finding in findings) == codes
    assert {finding.field for finding in findings} <= {"summary"}


def test_a_finding_shows_a_bounded_piece_of_what_was_written() -> None:
    (finding,) = find_suspicious("content", "<p>é</p><ScRiPt>\n" + "x" * 1000)

    assert finding.detail.startswith("<ScRiPt> xxx")
    assert len(finding.detail) <= DETAIL_MAX_CHARS


def test_hidden_characters_are_named_by_their_numbers() -> None:
    (finding,) = find_suspicious("title", "pay\u200b\ufeffpal")

    assert finding.detail == "U+200B U+FEFF"


def test_a_description_is_one_printable_line() -> None:
    assert describe(" \x01javascript:\r\nx\ud800 ") == "javascript:  x"


@UNTIMED
@given(st.text(alphabet="<>=\"' onscript:&#;\u200b\u202e\ud800x"))
def test_looking_never_fails_and_details_are_short(value: str) -> None:
    findings = find_suspicious("content", value)

    assert len({finding.code for finding in findings}) == len(findings)
    assert all(len(f.detail) <= DETAIL_MAX_CHARS and f.detail.isprintable() for f in findings)
