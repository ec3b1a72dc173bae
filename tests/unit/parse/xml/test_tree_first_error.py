"""Where a document stops being well-formed."""

import pytest

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.parse.xml.tree import first_xml_fault


def place(body: bytes) -> tuple[int, int] | None:
    flaw = first_xml_fault(RawDocument(body=body))
    return None if flaw is None else (flaw.line, flaw.column)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<rss>\n <channel>\n  <title>a & b</title></channel></rss>", (3, 13)),
        (b"<rss><a></b></rss>", (1, 13)),
        (b"<rss>", (1, 6)),
        (b"junk\n<rss/>", (1, 1)),
        (b'<!DOCTYPE rss [\n<!ENTITY a "b">\n]>\n<rss><</rss>', (4, 7)),  # its lines are counted
        ("<rss>\n<b>é</b>\n<c".encode("utf-16"), (3, 3)),
    ],
)
def test_the_first_fault_has_a_line_and_a_column(body: bytes, expected: tuple[int, int]) -> None:
    assert place(body) == expected


@pytest.mark.parametrize(
    "body", [b"<rss><channel/></rss>", b"", b'{"version": 1', b"\xff\xd8\xff\xe0", b"plain words"]
)
def test_what_is_well_formed_or_no_markup_has_no_fault(body: bytes) -> None:
    assert place(body) is None


def test_a_document_over_its_limit_is_not_looked_at() -> None:
    document = RawDocument(body=b"<rss>" + b" " * 100)

    assert first_xml_fault(document, ParseLimits(max_bytes=50)) is None


def test_the_words_are_those_of_the_parser_without_its_place() -> None:
    flaw = first_xml_fault(RawDocument(body=b"<rss>\n<a></b></rss>"))

    assert flaw is not None
    assert flaw.message == "Opening and ending tag mismatch: a line 2 and b"
