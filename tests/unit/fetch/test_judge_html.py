"""What an answer claims to be, and how it begins."""

import pytest

from feedmill.fetch.judge import begins_as_page, is_html_type, media_type


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        pytest.param("Text/HTML; charset=utf-8", "text/html", id="parameters and case"),
        pytest.param("text/xml, text/html", "text/xml", id="a list"),
        pytest.param(None, "", id="none"),
    ],
)
def test_a_media_type_is_read_without_its_parameters(
    content_type: str | None, expected: str
) -> None:
    assert media_type(content_type) == expected


def test_pages_are_known_by_their_type() -> None:
    assert is_html_type("application/xhtml+xml")
    assert not is_html_type("application/rss+xml")
    assert not is_html_type(None)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<!DOCTYPE html>", id="doctype"),
        pytest.param(b"<!doctype HTML PUBLIC '-//W3C//DTD'>", id="old doctype"),
        pytest.param(b"<html", id="cut right there"),
        pytest.param(b"\xef\xbb\xbf\r\n <HTML lang=en>", id="byte order mark and blanks"),
        pytest.param(b"<?xml version='1.0'?><!-- x --><html>", id="XHTML"),
        pytest.param(b"<head/>", id="head only"),
        pytest.param(b"<title>x", id="title only"),
    ],
)
def test_a_page_is_known_by_its_first_markup(body: bytes) -> None:
    assert begins_as_page(body)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"<?xml version='1.0'?><rss/>", id="RSS"),
        pytest.param(b"<feed><title>a</title></feed>", id="Atom"),
        pytest.param(b"<br /><b>Warning</b><?xml version='1.0'?>", id="a warning before a feed"),
        pytest.param(b"<!-- <html> -->", id="a page in a comment"),
        pytest.param(b"<!-- <html>", id="an open comment"),
        pytest.param(b"<htmlish>", id="a longer name"),
        pytest.param(b'{"a": "<html>"}', id="JSON"),
        pytest.param(b"<!---->" * 500_000 + b"<html>", id="megabytes of comments"),
    ],
)
def test_anything_else_is_no_page(body: bytes) -> None:
    assert not begins_as_page(body)
