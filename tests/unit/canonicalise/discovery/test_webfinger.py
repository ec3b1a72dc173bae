"""Handles of the fediverse and what their hosts answer."""

import json

import pytest

from feedmill.canonicalise.discovery.webfinger import (
    is_handle,
    page_of_account,
    usual_page,
    webfinger_url,
)

PROFILE = "http://webfinger.net/rel/profile-page"
UPDATES = "http://schemas.google.com/g/2010#updates-from"


@pytest.mark.parametrize(
    "text", ["@ada@social.example", "ada@social.example", "acct:ada@Social.example", " @a.b@x.y "]
)
def test_an_account_of_the_fediverse_is_a_handle(text: str) -> None:
    assert is_handle(text)


@pytest.mark.parametrize(
    "text",
    ["@ada", "ada@localhost", "@ada.bsky.social", "https://a.example/@b", "mailto:a@b.c", ""],
)
def test_other_texts_are_no_handles(text: str) -> None:
    assert not is_handle(text)


def test_the_host_of_a_handle_is_asked() -> None:
    handle = "@ada@Social.example"

    assert webfinger_url(handle) == (
        "https://social.example/.well-known/webfinger?resource=acct:ada@social.example"
    )
    assert usual_page(handle) == "https://social.example/@ada"


@pytest.mark.parametrize(
    ("links", "page"),
    [
        ([{"rel": PROFILE, "href": "https://x.example/@ada"}], "https://x.example/@ada"),
        (
            [{"rel": PROFILE, "href": "https://x.example/"}, {"rel": UPDATES, "href": "https://x.example/ada.atom"}],
            "https://x.example/ada.atom",
        ),
        ([{"rel": "self", "type": "application/rss+xml", "href": "https://x.example/f"}], "https://x.example/f"),
        ([{"rel": PROFILE, "href": "javascript:alert(1)"}], None),
        ([{"rel": PROFILE, "href": 7}, "x", None], None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_feed_of_an_account_comes_before_its_page(links: object, page: str | None) -> None:
    assert page_of_account(json.dumps({"links": links}).encode()) == page


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"<html>", b'"x"', b'{"links": "x"}', b"\xff"),
        b'{"links": [{"rel": "self", "href": "https://x.example/\xff"}]}',
        b"[" * 50_000,
    ],
)
def test_an_answer_that_is_no_account_names_nothing(body: bytes) -> None:
    assert page_of_account(body) is None
