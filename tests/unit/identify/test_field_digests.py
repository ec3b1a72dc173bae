"""The digests of an entry's fields come back from their short text as they were; older texts are still read."""

import hashlib
from datetime import UTC, datetime

import msgspec
import pytest

from feedmill.identify.hashes import field_digests
from feedmill.model.entry import Author, Entry
from feedmill.model.identity import (
    FIELDS,
    NO_LIST,
    NO_VALUE,
    FieldDigests,
    digests_of,
    digests_text,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STORY = Entry(
    title="A title",
    link="https://blog.example/a",
    summary="short",
    content="<p>long</p>",
    authors=(Author(name="Ada"),),
    categories=("news",),
    published=NOON,
    updated=NOON,
    image="https://blog.example/a.png",
    comments_url="https://blog.example/a#comments",
    language="en",
)
OTHER_NAMES = (("title", "0" * 16), ("colour", "f" * 16))


@pytest.mark.parametrize(
    "digests",
    [
        pytest.param(field_digests(Entry()), id="every field empty"),
        pytest.param(field_digests(STORY), id="almost every field filled"),
        pytest.param(tuple((name, "fbf0" * 4) for name in FIELDS), id="with + and / in base64"),
        pytest.param(OTHER_NAMES, id="other fields"),
        pytest.param((), id="none"),
    ],
)
def test_digests_come_back_as_they_were(digests: FieldDigests) -> None:
    assert digests_of(digests_text(digests)) == digests


def test_text_of_an_earlier_version_is_read() -> None:
    digests = field_digests(STORY)

    assert digests_of(msgspec.json.encode(digests).decode()) == digests


def test_short_text_is_json_and_leaves_out_names_and_empty_fields() -> None:
    text = digests_text(field_digests(Entry(title="A title")))

    assert msgspec.json.decode(text) == "Cpog9J29QiI...,,,....."
    assert len(digests_text(field_digests(STORY))) < 140


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('"abc"', id="too short"),
        pytest.param(f'"{"." * 13}"', id="too many"),
        pytest.param(f'"{"." * 11}{"!" * 11}"', id="no base64"),
        pytest.param(f'"{"." * 11}{"é" * 11}"', id="beyond ASCII"),
        pytest.param('"............x"', id="a rest"),
        pytest.param("[[", id="no JSON"),
        pytest.param("7", id="a number"),
    ],
)
def test_damaged_text_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        digests_of(text)


def test_fields_and_empty_digests_are_those_of_the_recipe() -> None:
    assert tuple(name for name, _ in field_digests(STORY)) == FIELDS
    assert hashlib.sha256(b"null").hexdigest()[:16] == NO_VALUE
    assert hashlib.sha256(b"[]").hexdigest()[:16] == NO_LIST
