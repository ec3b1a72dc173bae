"""What the first bytes of a file are, and which ending its name gets.

Readable names: safe on every file system, unique, and as close to the title as that allows.
"""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.media.types import (
    ending_for,
    link_names,
    media_type_of_name,
    name_key,
    safe_name,
    sniff_type,
    usual_type,
)

REST = bytes(2000)
DAY = datetime(2026, 11, 16, 23, tzinfo=UTC)


@pytest.mark.parametrize(("head", "kind"), [
    pytest.param(b"ID3\x04\x00" + REST, "audio/mpeg", id="mp3 with tags"),
    pytest.param(b"\xff\xfb\x90\x64" + REST, "audio/mpeg", id="mp3 without tags"),
    pytest.param(b"\0\0\0\x20ftypM4A \0\0\0\0" + REST, "audio/mp4", id="m4a"),
    pytest.param(b"\0\0\0\x20ftypisom\0\0\0\0" + REST, "video/mp4", id="mp4"),
    pytest.param(b"OggS\0\2" + REST, "audio/ogg", id="ogg"),
    pytest.param(b"fLaC" + REST, "audio/flac", id="flac"),
    pytest.param(b"RIFF\0\0\0\0WAVEfmt " + REST, "audio/wav", id="wav"),
    pytest.param(b"%PDF-1.7" + REST, "application/pdf", id="pdf"),
    pytest.param(b"\xef\xbb\xbf\n<!-- x --><!DOCTYPE html><p>", "text/html", id="a page"),
    pytest.param(b"<html><body>Not here", "text/html", id="a page without doctype"),
    pytest.param(b'<?xml version="1.0"?><Error/>', "text/html", id="an error of a bucket"),
    pytest.param(b"Not found: \xc3\xa9" * 3, "text/plain", id="a text"),
    pytest.param(b"ID3 tags are not supported.", "text/plain", id="a text that begins like audio"),
    pytest.param("Text é".encode() * 9 + b"\xc3", "text/plain", id="a text cut in a character"),
    pytest.param(b"Text \xe9\xe8" * 9 + b" end of it", None, id="octets of no encoding"),
    pytest.param(bytes(range(7, 250)) * 4, None, id="nothing known"),
    pytest.param(b"", None, id="nothing"),
])  # fmt: skip
def test_first_bytes_show_the_type(head: bytes, kind: str | None) -> None:
    assert sniff_type(head) == kind


@pytest.mark.parametrize(("kind", "usual"), [
    ("audio/mp3; x=1", "audio/mpeg"),
    ("AUDIO/X-M4A", "audio/mp4"),
    ("video/mp4", "video/mp4"),
    ("", None),
    (None, None),
])  # fmt: skip
def test_types_have_one_name(kind: str | None, usual: str | None) -> None:
    assert usual_type(kind) == usual


@pytest.mark.parametrize(("kind", "url", "ending"), [
    pytest.param("audio/mpeg", "https://a.example/x.php", "mp3", id="by type"),
    pytest.param("audio/x-unknown", "https://a.example/x.m4b?sig=.exe", "m4b", id="by address"),
    pytest.param(None, "https://a.example/x.exe", "", id="an ending that is no media"),
    pytest.param(None, "https://a.example/", "", id="nothing"),
])  # fmt: skip
def test_name_gets_the_ending_of_its_type(kind: str | None, url: str, ending: str) -> None:
    assert ending_for(kind, url) == ending


def test_address_suggests_a_type() -> None:
    assert media_type_of_name("https://a.example/b/EPISODE.MP3?x#y") == "audio/mpeg"
    assert media_type_of_name("https://a.example/b.mp3/") == ""


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
