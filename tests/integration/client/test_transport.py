"""The client against a server that does as it is told: what it asks, and what it makes of answers."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec
import pytest
from msgspec.structs import replace
from tests.support.waiting import HANG_GUARD_SEC, hang_guard

from feedmill.client import Client, transport
from feedmill.errors import (
    AnswerError,
    BusyError,
    ClientError,
    GapError,
    MissingError,
    ProblemError,
    RefusedError,
    TokenError,
    UnreachableError,
    UsageError,
)
from feedmill.model.canonical import FoundFeed
from feedmill.model.event import Event
from feedmill.publish.shapes import EventPage, Problem
from feedmill_demo.server.script import Answer, hang_up, no_answer, redirect
from feedmill_demo.server.server import Publisher

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
STREAM = "/events/stream"
SSE = (("Content-Type", "text/event-stream"),)

Conversation = Callable[[Publisher, Client], Awaitable[None]]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are made again at once; how the waits grow has a test of its own."""
    monkeypatch.setattr(transport, "_FIRST_WAIT_SEC", 0.001)


def hold(
    conversation: Conversation, *, token: str | None = None, timeout: float = HANG_GUARD_SEC
) -> None:
    async def held() -> None:
        async with (
            hang_guard(),
            Publisher() as mill,
            Client(mill.url(""), token, timeout) as client,
        ):
            await conversation(mill, client)

    asyncio.run(held())


def event(seq: int) -> Event:
    return Event(seq=seq, id=f"e{seq}", type="new_entry", feed_id="f", occurred_at=NOON)


def sse(*seqs: int, fault: bool = False) -> Answer:
    said = b"retry: 1\n\n: still here\n\n" + b"".join(
        b"id: %d\nevent: new_entry\ndata: %s\n\n" % (seq, msgspec.json.encode(event(seq)))
        for seq in seqs
    )
    ends = {"fault": "reset", "fault_at": len(said) + 8} if fault else {}
    return Answer(headers=SSE, body=said + b"data: {" * 2, framing="close", **ends)  # type: ignore[arg-type]  # spelt here


def answered(value: object, status: int = 200, *headers: tuple[str, str]) -> Answer:
    kind = "application/json" if status < 400 else "application/problem+json"
    fields = (("Content-Type", kind), *headers)
    return Answer(status=status, headers=fields, body=msgspec.json.encode(value))


async def watched(client: Client, count: int, seen: list[int] | None = None) -> list[int]:
    seqs = [] if seen is None else seen
    async for one in client.watch(silence_sec=2.0):
        seqs.append(one.seq)
        if len(seqs) == count:
            break
    return seqs


def test_a_watch_goes_on_after_the_last_event_however_the_connection_ends() -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        mill.script(
            STREAM,
            sse(1, 2),  # ends in good order, in the middle of a message
            sse(3, fault=True),  # torn down
            hang_up(),
            no_answer(),
            Answer(status=503, headers=(("Retry-After", "0"),)),
            Answer(status=500),
            sse(2, 3, 4, 4, 5),  # says again what was said before
            sse(6),
        )

        assert await watched(client, 6) == [1, 2, 3, 4, 5, 6]

        asked = [request.header("last-event-id") for request in mill.requests_to(STREAM)]
        assert asked == ["0", "2", "3", "3", "3", "3", "3", "5"]

    hold(conversation)


def test_a_watch_that_misses_an_event_says_so_and_shows_nothing_of_what_follows() -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        mill.script(STREAM, sse(1, 2), sse(5, 6))
        seen: list[int] = []

        with pytest.raises(GapError) as gap:
            await watched(client, 99, seen)

        assert seen == [1, 2]
        assert (gap.value.seq, gap.value.found, gap.value.reason) == (2, 5, "gap")

    hold(conversation)


def test_watch_after_events_that_were_deleted_says_how_many_are_missing() -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        problem = (
            b'{"type":"/problems/not-kept","title":"Deleted","status":410,"reason":"not-kept"}'
        )
        gone = Answer(
            status=410, headers=(("Content-Type", "application/problem+json"),), body=problem
        )
        mill.script(STREAM, gone, sse(7, 8))

        with pytest.raises(GapError) as gap:
            async for _ in client.watch(after=3):
                pass

        assert (gap.value.seq, gap.value.found) == (3, 7)
        asked = [request.header("last-event-id") for request in mill.requests_to(STREAM)]
        assert asked == ["3", "0"]

    hold(conversation)


def test_watch_hands_out_the_event_of_a_log_that_went_back_whatever_its_number() -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        rewound = replace(event(1_000_009), type="log.rewound", feed_id="")
        said = b"id: 1000009\ndata: %s\n\n" % msgspec.json.encode(rewound)
        mill.script(
            STREAM, sse(1, 2), Answer(headers=SSE, body=said, framing="close"), sse(1_000_010)
        )

        assert await watched(client, 4) == [1, 2, 1_000_009, 1_000_010]

    hold(conversation)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(status=401), TokenError),
        (Answer(status=400), RefusedError),
        (Answer(status=409), RefusedError),
        (Answer(status=404), MissingError),
        (Answer(headers=SSE, body=b"data: no event\n\n"), AnswerError),
        (redirect("https://elsewhere.example/"), AnswerError),
    ],
)
def test_a_watch_ends_where_asking_again_would_not_help(
    answer: Answer, error: type[ClientError]
) -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        mill.script(STREAM, answer)

        with pytest.raises(error):
            await watched(client, 1)

        assert len(mill.requests_to(STREAM)) == 1

    hold(conversation)


def test_the_waits_between_connections_grow_up_to_a_limit_and_begin_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(transport, "_FIRST_WAIT_SEC", 1.0)

    async def waited(seconds: float) -> None:
        waits.append(seconds)

    async def conversation(mill: Publisher, client: Client) -> None:
        tired = (Answer(status=503) for _ in range(6))
        busy = Answer(status=429, headers=(("Retry-After", "77"),))
        mill.script(STREAM, *tired, busy, sse(1), Answer(status=500), sse(2))
        # Only where it watches: whatever else sleeps in this process goes on sleeping.
        monkeypatch.setattr(transport, "asyncio", SimpleNamespace(sleep=waited))

        await watched(client, 2)

        assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 77.0, 1.0, 2.0]

    hold(conversation)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, RefusedError),
        (401, TokenError),
        (403, TokenError),
        (404, MissingError),
        (409, RefusedError),
        (410, MissingError),
        (422, RefusedError),
        (429, BusyError),
        (500, ProblemError),
        (503, BusyError),
    ],
)
def test_a_problem_is_raised_as_what_it_is(status: int, error: type[ProblemError]) -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        choice = FoundFeed(url="https://a.example/feed", found_by="link")
        problem = Problem(
            type="/problems/some-code",
            title="Title",
            status=status,
            detail="Detail",
            hint="Way out",
            choices=(choice,),
        )
        mill.script("/feeds/x", answered(problem, status, ("Retry-After", "9")))

        with pytest.raises(ProblemError) as raised:
            await client.feed("x")

        problem_error = raised.value
        assert type(problem_error) is error
        assert str(problem_error) == "Detail"
        assert problem_error.document == problem
        assert (problem_error.status, problem_error.reason, problem_error.hint) == (
            status,
            "some-code",
            "Way out",
        )
        assert problem_error.retry_after_sec == 9.0

    hold(conversation)


def test_a_proxy_that_speaks_html_is_understood_by_its_status() -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        mill.script("/feeds/x", Answer(status=502, body=b"<html>Bad gateway</html>"))

        with pytest.raises(ProblemError) as raised:
            await client.feed("x")

        assert (raised.value.status, raised.value.reason) == (502, "http-502")
        assert raised.value.retry_after_sec is None

    hold(conversation)


@pytest.mark.parametrize(
    "answer", [hang_up(), no_answer(), Answer(status=200, fault="cut", fault_at=3, body=b"{}" * 9)]
)
def test_a_mill_that_does_not_answer_is_unreachable(answer: Answer) -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        mill.script("/feeds/x", answer)

        with pytest.raises(UnreachableError):
            await client.feed("x")

    hold(conversation, timeout=0.3)


def test_an_answer_of_another_program_is_told_apart() -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        mill.script(
            "/feeds/x", answered({"hello": "world"}), redirect("https://elsewhere.example/")
        )

        for _ in range(2):
            with pytest.raises(AnswerError):
                await client.feed("x")

    hold(conversation)


def test_the_token_goes_with_every_request_and_nowhere_else() -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        page = EventPage(items=(event(1),), next=1, last_seq=1)
        mill.script("/events", answered(page))
        mill.script(STREAM, sse(1))

        assert await client.events(types=("new_entry",), wait_sec=2.5) == page
        await watched(client, 1)

        sent = [request.header("authorization") for request in mill.requests]
        assert sent == ["Bearer fm_secret"] * 2
        assert not [request for request in mill.requests if "fm_" in request.target]
        assert mill.requests[0].target == "/events?after=0&types=new_entry&wait=2.5&limit=500"

    hold(conversation, token="fm_secret")


@pytest.mark.parametrize("name", ["../admin", "a/b?c#d", "..", "%2e%2e", "é\n"])
def test_a_name_stays_one_segment_of_the_path(name: str) -> None:
    async def conversation(mill: Publisher, client: Client) -> None:
        with pytest.raises(MissingError):
            await client.feed(name)

        (request,) = mill.requests
        assert request.path.startswith("/feeds/")
        assert request.target.count("/") == 2
        assert "?" not in request.target

    hold(conversation)


@pytest.mark.parametrize("address", ["mill.example", "ftp://mill.example", ""])
def test_base_url_without_http_is_a_usage_error(address: str) -> None:
    with pytest.raises(UsageError, match="must begin with http"):
        Client(address)


async def test_a_mill_may_live_below_a_path() -> None:
    async with hang_guard(), Publisher() as mill:
        mill.script("/mill/events", answered(EventPage(items=(), next=0, last_seq=0)))
        async with Client(mill.url("/mill/")) as client:
            assert (await client.events()).items == ()
