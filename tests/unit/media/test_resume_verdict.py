"""The verdict on a download that has ended."""

from base64 import b64encode
from hashlib import sha256, sha512

import pytest

from feedmill.media.resume import BadFile, GoodFile, expected_digest, judge_file

MP3 = b"ID3\x04\x00" + bytes(100)


def judged(
    head: bytes,
    size: int = 100,
    *,
    total: int | None = None,
    feed_type: str | None = "audio/mpeg",
    sent_type: str | None = None,
) -> GoodFile | BadFile:
    return judge_file(head, size, total=total, feed_type=feed_type, sent_type=sent_type)


@pytest.mark.parametrize(("found", "reason"), [
    pytest.param(judged(b"", 0), "empty", id="nothing came"),
    pytest.param(judged(MP3, 100, total=101), "truncated", id="too short"),
    pytest.param(judged(MP3, 100, total=99), "truncated", id="too long"),
    pytest.param(judged(b"<!doctype html><title>Log in"), "not-media", id="a page"),
    pytest.param(judged(b"Gone. Sorry."), "not-media", id="a text"),
    pytest.param(judged(b'{"error": "no such file"}'), "not-media", id="JSON"),
    pytest.param(judged(b"<html>", feed_type="text/html"), "not-media", id="a page, as promised"),
])  # fmt: skip
def test_bad_file_has_its_reason(found: GoodFile | BadFile, reason: str) -> None:
    assert isinstance(found, BadFile)
    assert found.reason == reason


@pytest.mark.parametrize(("found", "kind"), [
    pytest.param(judged(MP3, 100, total=100), "audio/mpeg", id="whole"),
    pytest.param(judged(bytes(range(9, 200)), sent_type="video/mp4; x"), "video/mp4", id="as sent"),
    pytest.param(judged(bytes(range(9, 200))), "audio/mpeg", id="as the feed says"),
    pytest.param(judged(bytes(range(9, 200)), feed_type=None), None, id="unknown"),
    pytest.param(judged(b"WEBVTT text", feed_type="text/vtt"), "text/vtt", id="a text, as promised"),
])  # fmt: skip
def test_good_file_has_the_type_of_its_bytes(found: GoodFile | BadFile, kind: str | None) -> None:
    assert found == GoodFile(media_type=kind)


def test_strongest_digest_of_an_integrity_attribute_counts() -> None:
    weak, strong = sha256(b"x").digest(), sha512(b"x").digest()
    both = f"sha256-{b64encode(weak).decode()} sha512-{b64encode(strong).decode()}?opt"

    assert expected_digest(both) == ("sha512", strong.hex())
    assert expected_digest(f"sha256-{b64encode(weak).decode()}") == ("sha256", weak.hex())


@pytest.mark.parametrize("text", [None, "", "md5-abc", "sha256-AAAAAAAAAAAAAAAAAAAAA"])
def test_integrity_that_cannot_be_read_is_none(text: str | None) -> None:
    assert expected_digest(text) is None
