"""What every fetcher promises, held against each implementation. A new one is one line below."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec
import pytest
from tests.support.loopback_fetcher import LOOPBACK, fetching
from tests.support.raw_http_server import answer, by_path, serving
from tests.support.scripted_fetcher import ScriptedFetcher, said

from feedmill.adapters.clock import SystemClock
from feedmill.engine.ports.io import Fetcher
from feedmill.errors import UsageError
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import Failed, Fresh, Post, RawResponse, Unchanged, Validators

FEED = b"<rss><channel/></rss>"
ETAG = '"v1"'

# A fetcher, and the origin of a server that has /fresh (200), /same (304) and /gone (410).
OpenFetcher = Callable[[], AbstractAsyncContextManager[tuple[Fetcher, str]]]


@asynccontextmanager
async def _curl() -> AsyncIterator[tuple[Fetcher, str]]:
    answers = {
        "/fresh": answer(200, f"ETag: {ETAG}", body=FEED),
        "/same": answer(304, f"ETag: {ETAG}"),
        "/gone": answer(410),
    }
    async with serving(by_path(answers)) as server, fetching() as fetcher:
        yield fetcher, server.url("")


@asynccontextmanager
async def _scripted() -> AsyncIterator[tuple[Fetcher, str]]:
    origin = "http://127.0.0.1:8099"
    etag = (("ETag", ETAG),)
    yield (
        ScriptedFetcher(
            {
                f"{origin}/fresh": said(f"{origin}/fresh", 200, FEED, etag),
                f"{origin}/same": said(f"{origin}/same", 304, headers=etag),
                f"{origin}/gone": said(f"{origin}/gone", 410),
            }
        ),
        origin,
    )


FETCHERS = [
    pytest.param(_curl, id="curl"),
    pytest.param(_scripted, id="scripted"),
]
every_fetcher = pytest.mark.parametrize("open_fetcher", FETCHERS)


async def _fetch(fetcher: Fetcher, url: str, validators: Validators | None = None) -> RawResponse:
    return await fetcher.fetch(plan_fetch(url, validators, LOOPBACK))


@every_fetcher
async def test_a_document_arrives_with_what_was_asked(open_fetcher: OpenFetcher) -> None:
    async with open_fetcher() as (fetcher, origin):
        plan = plan_fetch(f"{origin}/fresh", None, LOOPBACK)
        response = await fetcher.fetch(plan)

    assert (response.status, response.body, response.wire_length) == (200, FEED, len(FEED))
    assert response.url == response.final_url == f"{origin}/fresh"
    assert response.request_headers == plan.headers
    assert ("ETag", ETAG) in response.headers


@every_fetcher
async def test_its_answers_are_what_the_judge_reads(open_fetcher: OpenFetcher) -> None:
    validators = Validators(etag=ETAG)

    now = SystemClock().now()
    async with open_fetcher() as (fetcher, origin):
        verdicts = []
        for path in ("/fresh", "/same"):
            plan = plan_fetch(f"{origin}{path}", validators, LOOPBACK)
            verdicts.append(judge(await fetcher.fetch(plan), plan, now))

    assert isinstance(verdicts[0], Fresh)
    assert isinstance(verdicts[1], Unchanged)


@every_fetcher
async def test_a_host_that_is_not_there_is_a_value_with_a_reason(open_fetcher: OpenFetcher) -> None:
    async with open_fetcher() as (fetcher, _):
        plan = plan_fetch("http://127.0.0.1:1/feed", None, LOOPBACK)
        response = await fetcher.fetch(plan)
        other = await _fetch(fetcher, "http://127.0.0.1:65534/feed")

    assert response.status is None
    assert response.error is not None
    assert isinstance(judge(response, plan, SystemClock().now()), Failed)
    assert other.error == "connection-failed"


@every_fetcher
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "scheme"),
        ("http://10.0.0.1/feed", "private-address"),
        ("not a url", "unsafe-character"),
    ],
)
async def test_a_url_out_of_bounds_is_a_value_with_a_reason(
    open_fetcher: OpenFetcher, url: str, reason: str
) -> None:
    async with open_fetcher() as (fetcher, _):
        response = await _fetch(fetcher, url)

    assert (response.error, response.status) == (reason, None)


@every_fetcher
async def test_many_fetches_run_side_by_side(open_fetcher: OpenFetcher) -> None:
    async with open_fetcher() as (fetcher, origin):
        responses = await asyncio.gather(
            *(_fetch(fetcher, f"{origin}{path}") for path in ("/fresh", "/gone") * 10)
        )

    assert [response.status for response in responses] == [200, 410] * 10


@every_fetcher
async def test_a_closed_fetcher_says_so(open_fetcher: OpenFetcher) -> None:
    async with open_fetcher() as (fetcher, origin):
        await fetcher.close()
        await fetcher.close()
        with pytest.raises(UsageError, match="closed"):
            await _fetch(fetcher, f"{origin}/fresh")


@every_fetcher
async def test_what_is_posted_is_answered_like_anything_else(open_fetcher: OpenFetcher) -> None:
    async with open_fetcher() as (fetcher, origin):
        limits = plan_fetch(origin, None, LOOPBACK).limits
        asked = Post(url=f"{origin}/gone", headers=(("X-Own", "1"),), body=b"", limits=limits)
        answered = await fetcher.post(asked)
        private = await fetcher.post(msgspec.structs.replace(asked, url="http://10.0.0.1/"))
        await fetcher.close()
        with pytest.raises(UsageError, match="closed"):
            await fetcher.post(asked)

    assert (answered.status, answered.request_headers) == (410, asked.headers)
    assert (private.status, private.error) == (None, "private-address")
