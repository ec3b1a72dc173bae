"""A caller's own fetcher is not sent into a private network because a stranger's feed says so."""

import asyncio

import pytest

import feedmill
from feedmill.config import Config
from feedmill.engine.subscribe.canonicalise import Reply
from feedmill.model.canonical import Canonical

GIVEN = "https://paper.example/feed"


class Web:
    """Serves one feed at every address, which calls itself so; and sends people elsewhere."""

    def __init__(self, self_url: str = "", *, ends: str | None = None) -> None:
        self.asked: list[str] = []
        self._self_url = self_url
        self._ends = ends

    async def fetch(self, url: str) -> Reply:
        self.asked.append(url)
        link = f'<atom:link rel="self" href="{self._self_url}"/>' if self._self_url else ""
        body = (
            '<rss xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>Paper</title>'
            f"{link}<item><guid>1</guid></item></channel></rss>"
        )
        return Reply(url=self._ends or url, status=200, body=body)


@pytest.mark.parametrize(
    "named",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://192.168.1.1/feed",
        "http://[::1]/feed",
        "http://[::ffff:10.0.0.1]/feed",
        "http://2130706433/feed",
        "http://localhost/feed",
        "http://metadata.google.internal/feed",
        "http://paper.example:22/feed",
    ],
)
def test_a_private_address_that_a_feed_names_is_not_asked_for(named: str) -> None:
    web = Web(named)

    found = asyncio.run(feedmill.canonicalize(GIVEN, fetch_fn=web.fetch, config=Config()))

    assert isinstance(found, Canonical)
    assert (found.url, web.asked) == (GIVEN, [GIVEN])


def test_an_answer_that_came_from_a_private_address_counts_for_nothing() -> None:
    web = Web(ends="http://10.0.0.1/feed")

    found = asyncio.run(feedmill.canonicalize(GIVEN, fetch_fn=web.fetch, config=Config()))

    assert not isinstance(found, Canonical)


def test_the_host_that_the_caller_named_is_the_callers_business() -> None:
    web = Web("http://localhost:8080/rss")

    found = asyncio.run(
        feedmill.canonicalize("http://localhost:8080/feed", fetch_fn=web.fetch, config=Config())
    )

    assert isinstance(found, Canonical)
    assert "http://localhost:8080/rss" in web.asked


def test_a_caller_who_verifies_has_the_last_word() -> None:
    web = Web("http://192.168.1.1/feed")

    found = asyncio.run(
        feedmill.canonicalize(GIVEN, fetch_fn=web.fetch, verify_fn=lambda _: True, config=Config())
    )

    assert isinstance(found, Canonical)
    assert "http://192.168.1.1/feed" in web.asked
