"""What the first bytes of a file are, and which ending its name gets."""

import pytest

from feedmill.media.types import ending_for, media_type_of_name, sniff_type, usual_type

REST = bytes(2000)


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
