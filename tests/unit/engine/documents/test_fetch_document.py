"""One request for a feed: what is sent to which host, and what the answer means."""

import asyncio

import pytest
from tests.support.scripted_fetcher import ScriptedFetcher

from feedmill.adapters.clock import SystemClock
from feedmill.config import FetchConfig
from feedmill.engine.documents.fetch_document import (
    Answer,
    describe_verdict,
    fetch_and_judge,
    outcome_of,
)
from feedmill.model.feed import FeedOverrides
from feedmill.model.fetch import Failed, Fresh, Gone, Hop, RawResponse, Unchanged, Validators

HOME = "https://paper.example/feed"
SECRET = FeedOverrides(username="ada", password="secret", headers=(("X-Key", "1"),))


def _fetch(
    url: str,
    response: RawResponse,
    *,
    validators: Validators | None = None,
    forced: bool = False,
) -> tuple[Answer, ScriptedFetcher]:
    fetcher = ScriptedFetcher({url: response})
    answer = asyncio.run(
        fetch_and_judge(
            url,
            SECRET,
            home_url=HOME,
            fetcher=fetcher,
            clock=SystemClock(),
            config=FetchConfig(),
            validators=validators,
            forced=forced,
        )
    )
    return answer, fetcher


def _ok(url: str) -> RawResponse:
    return RawResponse(url=url, final_url=url, status=200, body=b"<rss/>")


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        pytest.param(HOME, True, id="the feed itself"),
        pytest.param("https://paper.example/old", True, id="another path of its host"),
        pytest.param("http://paper.example/feed", False, id="without encryption"),
        pytest.param("https://other.example/feed", False, id="another host"),
    ],
)
def test_credentials_and_own_headers_are_sent_to_the_feeds_host_only(
    url: str, is_sent: bool
) -> None:
    answer, fetcher = _fetch(url, _ok(url))

    names = {name.lower() for name, _ in fetcher.asked[0].headers}
    assert isinstance(answer.verdict, Fresh)
    assert ("authorization" in names, "x-key" in names) == (is_sent, is_sent)


def test_a_forced_request_sends_no_validators() -> None:
    validators = Validators(etag='"1"', url=HOME)

    _, asked = _fetch(HOME, _ok(HOME), validators=validators)
    _, forced = _fetch(HOME, _ok(HOME), validators=validators, forced=True)

    assert "If-None-Match" in dict(asked.asked[0].headers)
    assert "If-None-Match" not in dict(forced.asked[0].headers)


def test_the_settled_address_is_the_target_of_a_permanent_redirect() -> None:
    target = "https://paper.example/new"
    lasting = Hop(url=HOME, status=301, location="/new")
    passing = Hop(url=HOME, status=302, location="/new")

    moved, _ = _fetch(HOME, RawResponse(url=HOME, final_url=target, status=200, hops=(lasting,)))
    visited, _ = _fetch(HOME, RawResponse(url=HOME, final_url=target, status=200, hops=(passing,)))

    assert (moved.settled_url, visited.settled_url) == (target, HOME)


def test_each_verdict_has_one_outcome_and_one_description() -> None:
    failed = Failed(reason="rate-limited", status=429, detail="slow down", retry_after_sec=60)

    kinds = [outcome_of(one) for one in (Unchanged(), Gone(), failed)]

    assert [(one.kind, one.reason) for one in kinds] == [
        ("unchanged", ""),
        ("failed", "gone"),
        ("failed", "rate-limited"),
    ]
    assert kinds[2].retry_after_sec == 60
    assert describe_verdict(failed) == ("rate-limited", "slow down")
    assert describe_verdict(Gone())[0] == "gone"
