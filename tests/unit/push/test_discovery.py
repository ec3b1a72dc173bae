"""Hubs and topics in the order of WebSub §4."""

from datetime import UTC, datetime

import pytest

from feedmill.model.parsed import Link
from feedmill.model.push import PushSubscription
from feedmill.push.discovery import MAX_HUBS, Announced, announced_on_page, announced_push

URL = "https://paper.example/feed"
HUB, OTHER = "https://hub.example/", "https://other.example/"


def test_without_a_hub_nothing_is_announced() -> None:
    links = [Link(href=URL, rel="self")]

    assert announced_push(links, hubs=(), self_url=URL, url=URL) is None
    assert announced_push((), hubs=("mailto:x@y.example",), self_url=None, url=URL) is None


def test_link_header_comes_first_and_the_document_is_there_to_fall_back_to() -> None:
    links = [Link(href=HUB, rel="hub"), Link(href=f"{URL}?self", rel="self")]

    found = announced_push(links, hubs=(OTHER, HUB), self_url=f"{URL}?doc", url=URL)

    assert found == Announced(hubs=(HUB, OTHER), topic=f"{URL}?self")


@pytest.mark.parametrize(
    ("self_url", "topic"),
    [
        pytest.param(f"{URL}/x", f"{URL}/x", id="self link of the document"),
        pytest.param(None, URL, id="no self link: where it was served"),
        pytest.param("urn:x", URL, id="a self link that is no address"),
    ],
)
def test_topic_is_the_self_link(self_url: str | None, topic: str) -> None:
    found = announced_push((), hubs=(HUB,), self_url=self_url, url=URL)

    assert found == Announced(hubs=(HUB,), topic=topic)


def test_number_of_hubs_is_limited() -> None:
    hubs = [f"https://h{number}.example/" for number in range(50)]

    found = announced_push((), hubs=hubs, self_url=None, url=URL)

    assert found is not None
    assert len(found.hubs) == MAX_HUBS


def test_page_announces_by_link_elements() -> None:
    page = b"""<head><base href="https://paper.example/a/"><link rel="HUB" href="//hub.example">
    <link rel="self" href="me"><link rel="hub" href="javascript:x">"""

    found = announced_on_page(page, "text/html", "https://paper.example/")

    assert found == Announced(hubs=(HUB,), topic="https://paper.example/a/me")


def test_a_subscription_in_a_log_shows_neither_secret_nor_token() -> None:
    at = datetime(2025, 10, 13, tzinfo=UTC)
    subscription = PushSubscription(
        token="hidden", hub="https://hub.example/", topic="t", secret="hidden", created_at=at
    )

    assert "hidden" not in repr(subscription)
