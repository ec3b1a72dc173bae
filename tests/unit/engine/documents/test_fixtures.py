"""Fixtures: what was served and understood, without the credentials of the feed."""

from datetime import UTC, datetime

from feedmill.config import Config
from feedmill.engine.documents.fixtures import make_fixture, understand
from feedmill.model.feed import Feed, FeedOverrides, FetchRecord
from feedmill.model.schedule import ScheduleState

NOW = datetime(2025, 10, 14, 12, tzinfo=UTC)
URL = "https://paper.example/feed?token=s3cr3t-token"
BODY = (
    b"<rss version='2.0'><channel><title>Paper</title>"
    b"<atom:link xmlns:atom='http://www.w3.org/2005/Atom' rel='self' href='"
    + URL.encode()
    + b"'/><item><guid>1</guid><title>One & two</title></item></channel></rss>"
)


def feed_of(**overrides: str) -> Feed:
    return Feed(
        id="f",
        url=URL,
        feed_key="k",
        created_at=NOW,
        next_poll_at=NOW,
        schedule=ScheduleState(interval_sec=900.0),
        overrides=FeedOverrides(**overrides),  # type: ignore[arg-type]  # texts only here
    )


def fetch_of(**changed: object) -> FetchRecord:
    facts: dict[str, object] = {
        "fetch_id": "0198",
        "feed_id": "f",
        "scheduled_at": NOW,
        "fetched_at": NOW,
        "url": URL,
        "final_url": URL,
        "outcome": "fresh",
        "http_status": 200,
        "response_headers": (("Content-Type", "text/xml"), ("X-Echo", "s3cr3t-token")),
    }
    return FetchRecord(**(facts | changed))  # type: ignore[arg-type]  # the fields of a record


def test_secrets_are_masked_everywhere_and_offsets_hold() -> None:
    fixture = make_fixture(feed_of(password="letmein-please"), fetch_of(), BODY, Config())

    assert b"s3cr3t-token" not in fixture.body
    assert len(fixture.body) == len(BODY)
    assert fixture.fetch.final_url == "https://paper.example/feed?token=***"
    assert dict(fixture.fetch.response_headers)["X-Echo"] == "*" * len("s3cr3t-token")
    assert "s3cr3t" not in str(fixture.understood)


def test_understood_is_what_the_parser_says_today() -> None:
    fixture = make_fixture(feed_of(), fetch_of(), BODY, Config())

    again = understand(fixture.document, fixture.fetch.fetched_at, Config())

    assert again == fixture.understood
    assert again["normalised"]["entries"][0]["title"] == "One & two"
    assert [one["code"] for one in again["parsed"]["repairs"]] == ["stray-ampersands"]


def test_document_that_is_no_feed_is_understood_as_its_reason() -> None:
    fixture = make_fixture(feed_of(), fetch_of(), b"<html><body>Hello</body></html>", Config())

    assert fixture.understood["unreadable"]["reason"] == "html-page"
