"""Readable names: safe on every file system, unique, and as close to the title as that allows."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.media.names import link_names, name_key, safe_name

DAY = datetime(2026, 11, 16, 23, tzinfo=UTC)


def test_names_are_tried_from_the_plainest_to_the_unique() -> None:
    names = list(link_names("The Show", "Of rivers", DAY, "mp3", "0123456789"))

    assert names == [
        "The Show/2026-11-16 Of rivers.mp3",
        "The Show/2026-11-16 Of rivers [012345].mp3",
        "The Show/2026-11-16 Of rivers [0123456789].mp3",
    ]


def test_missing_names_are_made_up() -> None:
    assert next(link_names(None, "...", DAY, "", "0")) == "untitled show/2026-11-16 untitled"


@pytest.mark.parametrize(("text", "name"), [
    pytest.param("AC/DC: live?", "AC DC live", id="separators and reserved characters"),
    pytest.param("../../etc/passwd", "etc passwd", id="a way out"),
    pytest.param(" .hidden. ", "hidden", id="dots and spaces at the ends"),
    pytest.param("con", "_con", id="a device"),
    pytest.param("Com1.mp3", "_Com1.mp3", id="a device with an ending"),
    pytest.param("contact", "contact", id="no device"),
    pytest.param("a\u202egpj.exe\u200b", "agpj.exe", id="turned text"),
    pytest.param("a\n\tb\x00c\ud800", "a bc", id="control characters and surrogates"),
    pytest.param("Cafe\u0301", "Café", id="composed"),
    pytest.param("日本語 第1回", "日本語 第1回", id="any script"),
])  # fmt: skip
def test_name_is_safe(text: str, name: str) -> None:
    assert safe_name(text, 100) == name


@given(st.text(), st.integers(4, 60))
def test_any_text_gives_a_safe_name(text: str, most: int) -> None:
    name = safe_name(text, most)

    assert len(name.encode()) <= most + 1
    assert not set(name) & set('<>:"/\\|?*\x00\n')
    assert name == name.strip(" .")


def test_names_that_a_file_system_may_confuse_have_one_key() -> None:
    assert name_key("The Show/CAFÉ.mp3") == name_key("the show/cafe\u0301.MP3")
    assert name_key("a") != name_key("b")
