"""H01 to H32 of the standards notes, from the socket to the store: what is sent, what is kept.

Each test polls through the loop, so that a rule which only works when it is called by a unit
test is found out.
"""

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, Play, Stage, titles
from tests.support.feed_documents import item, numbered, paper, rss, said
from tests.support.waiting import hang_guard

from feedmill.app.services import open_services
from feedmill.config import FetchConfig, ScheduleConfig
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.poll.scheduler import run_forever, run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import DAMAGED_ROW, StoreError
from feedmill.model.feed import Feed
from feedmill.publish.to_json import feed_wire
from feedmill_demo.server.script import Answer, ContentCoding, Request, document, hang_up, redirect

_DAY = timedelta(days=1)


@pytest.fixture
def store_url() -> None:
    """SQLite alone: HTTP is the same whatever the store, and the contracts hold the stores to one behaviour."""


def _sent(request: Request) -> tuple[str | None, str | None]:
    """The conditions of a request."""
    return request.header("if-none-match"), request.header("if-modified-since")


def _dressed(*headers: tuple[str, str], numbers: tuple[int, ...] = (1,)) -> Answer:
    """A document with these header fields."""
    answer = paper(*numbers)
    return replace(answer, headers=(*answer.headers, *headers))


async def _codes(stage: Stage, feed: Feed) -> list[str]:
    return [step.code for step in (await stage.decision(feed)).steps]


@pytest.mark.parametrize(
    "tag",
    ['"a"', 'W/"a"', '""', "abc", '"a\\"b"', '"\xe9\xff"', f'"{"x" * 8000}"'],
    ids=["strong", "weak", "empty", "unquoted", "escaped", "beyond ASCII", "8 kB"],
)
def test_an_entity_tag_goes_back_byte_for_byte(play: Play, tag: str) -> None:
    """H01."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, etag=tag))

        await stage.poll(feed, times=2)

        assert stage.requests()[1].values("if-none-match") == (tag,)
        assert await stage.outcome(feed) == "unchanged"

    play(story)


def test_last_modified_goes_back_as_the_same_string(play: Play) -> None:
    """H02."""

    async def story(stage: Stage) -> None:
        odd = "tue, 1 oct 2025 1:2:3 GMT"
        feed = await stage.add("/feed", paper(1, last_modified=odd))

        await stage.poll(feed, times=2)

        assert _sent(stage.requests()[1]) == (None, odd)
        assert await stage.outcome(feed) == "unchanged"

    play(story)


def test_both_validators_are_sent_when_both_were_received(play: Play) -> None:
    """H03."""

    async def story(stage: Stage) -> None:
        date = "Mon, 13 Oct 2025 08:00:00 GMT"
        feed = await stage.add("/feed", paper(1, etag='"a"', last_modified=date))

        await stage.poll(feed, times=2)

        assert _sent(stage.requests()[1]) == ('"a"', date)

    play(story)


def test_of_a_hundred_polls_exactly_one_is_unconditional(play: Play) -> None:
    """H04, with a forced one as the only other."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, etag='"a"'))

        await stage.poll(feed, times=100)

        assert [_sent(one)[0] for one in stage.requests()] == [None, *['"a"'] * 99]
        stage.publisher.clear()
        stage.later(seconds=1)
        await stage.services.store.make_due([feed.id], stage.clock.now())
        await run_once(stage.services, stage.watch(), forced=True)
        await stage.poll(feed)
        assert [_sent(one)[0] for one in stage.requests()] == [None, '"a"']

    play(story)


def test_a_weak_tag_stays_weak(play: Play) -> None:
    """H05."""

    async def story(stage: Stage) -> None:
        weak = replace(paper(1, etag='W/"a"'), not_modified=())
        feed = await stage.add("/feed", weak)

        await stage.poll(feed, times=4)

        assert [_sent(one)[0] for one in stage.requests()] == [None, *['W/"a"'] * 3]

    play(story)


def test_a_server_that_never_answers_304_is_noticed_and_parsed_once(play: Play) -> None:
    """H06: the tag is not edited on the wire, and still sent."""

    async def story(stage: Stage) -> None:
        quirk = replace(paper(1, etag='"x-gzip"'), conditional=False)
        feed = await stage.add("/feed", quirk)

        flags = []
        for _ in range(5):
            after = await stage.poll(feed)
            flags.append(feed_wire(after, stage.config.schedule)["validators_ineffective"])

        outcomes = [fetch.outcome for fetch in await stage.fetches(feed)]
        assert outcomes == ["fresh", *["same-body"] * 4]
        assert [_sent(one)[0] for one in stage.requests()] == [None, *['"x-gzip"'] * 4]
        assert flags == [False, False, False, True, True]
        stage.publish(feed, paper(1, etag='"x-gzip"'))
        assert (await stage.poll(feed)).same_bodies == 0

    play(story)


def test_unconditional_repeats_do_not_count_against_the_validators(play: Play) -> None:
    """H06: who did not ask cannot complain."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))

        after = await stage.poll(feed, times=5)

        assert after.same_bodies == 0

    play(story)


def test_the_same_body_is_neither_parsed_nor_news(play: Play) -> None:
    """H07."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2, etag='"a"'), paper(1, 2, etag='"b"'))
        await stage.poll(feed)
        before = await stage.events()

        after = await stage.poll(feed)

        assert await stage.outcome(feed) == "same-body"
        assert after.reason == "no-new-entries"
        assert after.validators is not None
        assert after.validators.etag == '"b"'
        assert await stage.events() == before
        assert [entry.seen_count for entry in await stage.entries()] == [2, 2]
        assert {entry.last_seen for entry in await stage.entries()} == {stage.clock.now()}

    play(story)


def test_last_modified_of_this_very_second_is_sent_and_gives_no_freshness(play: Play) -> None:
    """H08."""

    async def story(stage: Stage) -> None:
        now = "Tue, 14 Oct 2025 12:00:01 GMT"
        feed = await stage.add("/feed", _dressed(("Date", now), ("Last-Modified", now)))

        after = await stage.poll(feed, times=2)

        assert _sent(stage.requests()[1]) == (None, now)
        assert after.hints.freshness_sec is None

    play(story)


def test_a_304_brings_the_stored_validators_and_hints_up_to_date(play: Play) -> None:
    """H09: what describes the body it does not have is left alone."""

    async def story(stage: Stage) -> None:
        renewal = (
            ("ETag", 'W/"2"'),
            ("Last-Modified", "Tue, 14 Oct 2025 08:00:00 GMT"),
            ("Cache-Control", "max-age=7200"),
            ("Content-Type", "text/html"),
            ("Vary", "User-Agent"),
        )
        first = replace(paper(1, etag='W/"1"'), not_modified=renewal)
        feed = await stage.add("/feed", first)

        after = await stage.poll(feed, times=2)

        assert await stage.wait_until_due(feed) == timedelta(seconds=7200)
        assert after.validators is not None
        assert [name for name, _ in after.validators.vary] == ["user-agent"]
        await stage.poll(feed)
        assert _sent(stage.requests()[2]) == ('W/"2"', "Tue, 14 Oct 2025 08:00:00 GMT")
        assert (await stage.feed(feed)).type == "rss"

    play(story)


def test_a_304_with_a_strange_strong_tag_is_followed_by_a_whole_answer(play: Play) -> None:
    """H10."""

    async def story(stage: Stage) -> None:
        strange = replace(paper(1, etag='"1"'), not_modified=(("ETag", '"9"'),))
        feed = await stage.add("/feed", strange)

        after = await stage.poll(feed, times=2)

        assert (await stage.outcome(feed), after.schedule.health) == ("unchanged", "active")
        await stage.poll(feed, times=2)
        assert [_sent(one)[0] for one in stage.requests()] == [None, '"1"', None, '"1"']

    play(story)


def test_a_304_that_nobody_asked_for_is_no_success(play: Play) -> None:
    """H11."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(304))

        after = await stage.poll(feed)

        assert await stage.outcome(feed) == "unasked-304"
        assert after.last_success_at is None
        assert after.schedule.consecutive_failures == 1

    play(story)


@pytest.mark.parametrize(
    ("headers", "floor_sec"),
    [
        pytest.param(
            (("Cache-Control", "max-age=7200"), ("Expires", "0")), 7200, id="max-age wins"
        ),
        pytest.param(
            (
                ("Date", "Sat, 01 Jan 2000 00:00:00 GMT"),
                ("Expires", "Sat, 01 Jan 2000 03:00:00 GMT"),
            ),
            10_800,
            id="by the server's own clock",
        ),
        pytest.param((("Expires", "0"),), None, id="Expires: 0"),
        pytest.param((("Cache-Control", "max-age=7200, max-age=7200"),), None, id="twice"),
        pytest.param((("Cache-Control", "max-age=2h"),), None, id="no number"),
    ],
)
def test_freshness_is_read_as_the_standard_says(
    play: Play, headers: tuple[tuple[str, str], ...], floor_sec: int | None
) -> None:
    """H12."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", _dressed(*headers))

        await stage.poll(feed)

        floored = "freshness-floor" in await _codes(stage, feed)
        assert floored == (floor_sec is not None)
        if floor_sec is not None:
            hint = (await stage.feed(feed)).hints.freshness_sec
            assert hint is not None
            assert hint.source == ("max-age" if "Cache-Control" in dict(headers) else "expires")
            assert await stage.wait_until_due(feed) == timedelta(seconds=floor_sec)

    play(story)


def test_a_shared_caches_lifetime_is_not_ours_and_age_has_passed_already(play: Play) -> None:
    """H13."""

    async def story(stage: Stage) -> None:
        lifetime = ("Cache-Control", "s-maxage=86400, max-age=36000")
        feed = await stage.add("/feed", _dressed(lifetime, ("Age", "32400")))

        after = await stage.poll(feed)

        assert after.hints.freshness_sec is not None
        assert after.hints.freshness_sec.value == 3600
        assert await stage.wait_until_due(feed) >= timedelta(seconds=3600)

    play(story)


@pytest.mark.parametrize("directive", ["no-cache", "no-store"])
def test_no_cache_lifts_the_floor_and_the_raw_archive_keeps_the_body(
    play: Play, directive: str
) -> None:
    """H14: the raw store is an archive, not a cache."""

    async def story(stage: Stage) -> None:
        headers = (("Cache-Control", f"{directive}, max-age=72000"), ("ETag", '"a"'))
        feed = await stage.add("/feed", _dressed(*headers))

        after = await stage.poll(feed)

        assert "freshness-floor" not in await _codes(stage, feed)
        assert after.body_sha256 is not None
        assert await load_body(
            after.body_sha256, stage.services.store, stage.services.blobs
        ) == numbered(1)
        await stage.poll(feed)
        assert _sent(stage.requests()[1])[0] == '"a"'

    play(story)


def test_a_year_of_freshness_is_cut_to_a_day(play: Play) -> None:
    """H15."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", _dressed(("Cache-Control", "max-age=31536000")))

        await stage.poll(feed)

        assert await stage.wait_until_due(feed) == _DAY

    play(story)


@pytest.mark.parametrize(
    "value",
    [
        "1799",
        "Tue, 14 Oct 2025 12:30:00 GMT",
        "Tuesday, 14-Oct-25 12:30:00 GMT",
        "Tue Oct 14 12:30:00 2025",
    ],
)
def test_retry_after_is_obeyed_to_the_second_in_every_form(play: Play, value: str) -> None:
    """H16: asked at 12:00:01."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(429, ("Retry-After", value)), paper(1))

        after = await stage.poll(feed)

        assert after.next_poll_at == datetime(2025, 10, 14, 12, 30, tzinfo=UTC)
        assert after.reason == "retry-after"
        stage.later(minutes=29)
        assert await stage.pass_once() == 0
        stage.later(seconds=59)
        assert await stage.pass_once() == 1
        assert await stage.outcome(feed) == "fresh"

    play(story)


@pytest.mark.parametrize("value", ["0", "Tue, 14 Oct 2025 11:30:00 GMT"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_without_a_pause_backs_off(play: Play, status: int, value: str) -> None:
    """A server that always says "retry at once" is not polled every half minute for ever."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(status, ("Retry-After", value)))

        await stage.poll(feed)
        first = await stage.wait_until_due(feed)
        stage.later(hours=1)
        await stage.pass_once()

        assert (first, await stage.wait_until_due(feed)) == (
            timedelta(minutes=30),
            timedelta(hours=1),
        )

    play(story)


@pytest.mark.parametrize("status", [429, 503, 413, 403, 302])
def test_retry_after_counts_on_every_refusal(play: Play, status: int) -> None:
    """H17: exact on 429 and 503, a floor on the others."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(status, ("Retry-After", "7200")))

        await stage.poll(feed)

        assert await stage.wait_until_due(feed) == timedelta(seconds=7200)

    play(story)


def test_retry_after_on_a_good_answer_means_nothing(play: Play) -> None:
    """H17."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", _dressed(("Retry-After", "72000")))

        after = await stage.poll(feed)

        assert after.hints.retry_after_sec is None
        assert await stage.wait_until_due(feed) < timedelta(seconds=72_000)

    play(story)


@pytest.mark.parametrize(
    ("statuses", "moves"),
    [
        pytest.param((301,), True, id="301"),
        pytest.param((308, 308), True, id="308 308"),
        pytest.param((301, 302), False, id="301 302"),
        pytest.param((302,), False, id="302"),
        pytest.param((303,), False, id="303"),
        pytest.param((307, 301), False, id="307 301"),
    ],
)
def test_only_a_permanent_way_names_a_new_address(
    play: Play, statuses: tuple[int, ...], moves: bool
) -> None:
    """H18: it is counted (D6), and the feed stays where it was meanwhile."""

    async def story(stage: Stage) -> None:
        last = f"/{len(statuses)}"
        for place, status in enumerate(statuses):
            stage.publisher.script(f"/{place}", redirect(f"/{place + 1}", status))
        stage.publisher.script(last, paper(1, etag='"a"'))
        feed = await stage.add("/0")

        first = await stage.poll(feed)
        after = await stage.poll(feed, times=2)

        assert after.url == feed.url
        assert len(await stage.entries(feed)) == 1
        assert stage.publisher.url(last) in await stage.services.store.aliases(feed.id)
        if not moves:
            assert after.move is None
            return
        assert first.move is not None
        assert after.move is not None
        assert after.move.url == stage.publisher.url(last)
        assert (after.move.source, first.move.sightings, after.move.sightings) == ("redirect", 1, 3)
        assert after.move.first_seen_at == first.move.last_seen_at

    play(story)


def test_a_redirect_that_ends_takes_its_candidate_along(play: Play) -> None:
    """H18."""

    async def story(stage: Stage) -> None:
        stage.publisher.script("/new", paper(1))
        feed = await stage.add("/old", redirect("/new", 301))
        assert (await stage.poll(feed)).move is not None

        stage.publish(feed, paper(1))
        after = await stage.poll(feed)

        assert after.move is None

    play(story)


def test_on_another_origin_nothing_says_who_asks(play: Play) -> None:
    """H19."""

    async def story(stage: Stage) -> None:
        own: dict[str, Any] = {"username": "me", "password": "pâss"}
        elsewhere = stage.publisher.url("/there", host="127.0.1.1")
        stage.publisher.script("/there", paper(1, etag='"a"'))
        stage.publisher.script("/a/here?x=1", redirect(elsewhere, 302))
        stage.publisher.script("/a/feed", redirect("here?x=1", 302))
        feed = await stage.add("/a/feed#top", headers=(("X-Token", "t0ken"),), **own)

        await stage.poll(feed, times=2)

        for one in (*stage.requests("/a/feed"), *stage.requests("/a/here?x=1")):
            assert one.header("authorization") == "Basic bWU6cMOic3M="
            assert one.header("x-token") == "t0ken"
            assert _sent(one) == (None, None)
        there = stage.requests("/there")
        assert [_sent(one)[0] for one in there] == [None, '"a"']
        for one in there:
            for name in ("authorization", "x-token", "cookie", "referer"):
                assert one.header(name) is None
        written = str(await stage.fetches(feed)) + str(await stage.events())
        assert "bWU6cMOic3M=" not in written
        assert "t0ken" not in written

    play(story, addresses=1)


@pytest.mark.parametrize(
    ("answer", "reason", "requests"),
    [
        pytest.param(redirect("/feed"), "redirect-loop", 1, id="to itself"),
        pytest.param(said(302), "no-location", 1, id="without Location"),
        pytest.param(redirect("http://[::/"), "bad-location", 1, id="unreadable"),
        pytest.param(redirect("file:///etc/passwd"), "scheme", 1, id="another scheme"),
        pytest.param(redirect("http://10.0.0.1/"), "private-address", 1, id="a private address"),
    ],
)
def test_a_redirect_that_leads_nowhere_is_an_error(
    play: Play, answer: Answer, reason: str, requests: int
) -> None:
    """H20."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer)

        await stage.poll(feed)

        assert await stage.outcome(feed) == reason
        assert len(stage.publisher.requests) == requests

    play(story)


def test_an_endless_chain_of_redirects_is_left_after_five(play: Play) -> None:
    """H20."""

    async def story(stage: Stage) -> None:
        for place in range(20):
            stage.publisher.script(f"/{place}", redirect(f"/{place + 1}"))
        feed = await stage.add("/0")

        await stage.poll(feed)

        assert await stage.outcome(feed) == "too-many-redirects"
        assert len(stage.publisher.requests) == 6

    play(story)


def test_a_410_is_believed_when_it_is_said_again_a_day_later(play: Play) -> None:
    """H21: with an event on each change, and the door stays open."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), said(410), said(410), said(410), paper(1, 2))
        healths = [(await stage.poll(feed)).schedule.health for _ in range(3)]

        stage.later(hours=24)
        gone = await stage.poll(feed)
        wait = await stage.wait_until_due(feed)
        stage.later(days=1)
        back = await stage.poll(feed)

        assert healths == ["active", "suspect", "suspect"]
        assert (gone.schedule.health, wait) == ("gone", _DAY)
        assert (back.schedule.health, len(await stage.entries(feed))) == ("active", 2)
        told = [event.data["after"] for event in await stage.events("feed.state")]
        assert told == ["suspect", "gone", "active"]

    play(story)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(404, "not-found"), (401, "auth-required"), (403, "forbidden"), (451, "legally-unavailable")],
)
def test_a_refusal_backs_off_under_its_own_name(play: Play, status: int, reason: str) -> None:
    """H21: not a parse error, although a page comes with it."""

    async def story(stage: Stage) -> None:
        page = said(status, ("Content-Type", "text/html"), body=b"<html><p>no</p></html>")
        feed = await stage.add("/feed", page)

        waits = []
        for _ in range(3):
            stage.later(hours=2)
            await stage.poll(feed)
            waits.append(await stage.wait_until_due(feed))

        after = await stage.feed(feed)
        assert (after.last_result, after.schedule.health) == (reason, "backing-off")
        assert waits == [timedelta(seconds=seconds) for seconds in (1800, 3600, 3600)]
        assert len(stage.requests()) == 3

    play(story)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (206, "partial-content"),
        (226, "delta-content"),
        (204, "no-content"),
        (205, "no-content"),
    ],
)
def test_a_part_never_replaces_the_whole(play: Play, status: int, reason: str) -> None:
    """H22."""

    async def story(stage: Stage) -> None:
        whole = paper(1, 2, etag='"a"')
        body = b"" if status in (204, 205) else numbered(3)
        part = said(status, ("ETag", '"b"'), body=body)
        feed = await stage.add("/feed", whole, part, whole)
        await stage.poll(feed)

        await stage.poll(feed)

        assert await stage.outcome(feed) == reason
        assert titles(await stage.entries(feed)) == ["Title 1", "Title 2"]
        await stage.poll(feed)
        assert _sent(stage.requests()[2])[0] == '"a"'
        assert await stage.outcome(feed) == "unchanged"

    play(story)


def test_a_new_user_agent_costs_one_unconditional_request_where_vary_names_it(play: Play) -> None:
    """H23."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", _dressed(("ETag", '"a"'), ("Vary", "User-Agent")))
        indifferent = await stage.add("/other", paper(1, etag='"o"'))
        await stage.poll(feed, indifferent, times=2)

        other = replace(stage.config.fetch, user_agent="feedmill/9 (+https://mill.example/)")
        await stage.reopen(fetch=other)
        await stage.poll(feed, indifferent, times=2)

        assert [_sent(one)[0] for one in stage.requests()] == [None, '"a"', None, '"a"']
        assert [_sent(one)[0] for one in stage.requests("/other")] == [None, '"o"', '"o"', '"o"']

    play(story)


def test_vary_star_is_never_asked_conditionally(play: Play) -> None:
    """H23."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", _dressed(("ETag", '"a"'), ("Vary", "*")))

        await stage.poll(feed, times=3)

        assert [_sent(one)[0] for one in stage.requests()] == [None, None, None]

    play(story)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "raw-deflate", "br", "zstd"])
def test_every_coding_that_is_offered_is_read_and_removed(
    play: Play, coding: ContentCoding
) -> None:
    """H24: what is kept is the document, not its wrapping."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(numbered(1, 2), codings=(coding,)))

        after = await stage.poll(feed)

        assert stage.requests()[0].header("accept-encoding") == "gzip, deflate, br, zstd"
        assert len(await stage.entries(feed)) == 2
        assert after.body_sha256 is not None
        assert await load_body(
            after.body_sha256, stage.services.store, stage.services.blobs
        ) == numbered(1, 2)

    play(story)


def test_a_coding_that_nobody_offered_is_an_error_and_its_bytes_are_kept(play: Play) -> None:
    """H24."""

    async def story(stage: Stage) -> None:
        wrapped = b"\x1f\x9dwrapped"
        answer = said(200, ("Content-Encoding", "compress"), ("ETag", '"a"'), body=wrapped)
        feed = await stage.add("/feed", answer)

        after = await stage.poll(feed)

        assert await stage.outcome(feed) == "unsupported-encoding"
        assert after.validators is None
        (fetch,) = await stage.fetches(feed)
        assert fetch.body_sha256 is not None
        assert (
            await load_body(fetch.body_sha256, stage.services.store, stage.services.blobs)
            == wrapped
        )

    play(story)


def test_a_body_shorter_than_announced_is_not_read_and_leaves_no_validators(play: Play) -> None:
    """H25."""

    async def story(stage: Stage) -> None:
        whole = paper(1, 2, etag='"a"')
        short = replace(whole, body=whole.body[:-60], content_length=len(whole.body))
        feed = await stage.add("/feed", short, whole)

        cut = await stage.poll(feed)

        assert await stage.outcome(feed) == "truncated"
        assert cut.validators is None
        assert await stage.entries(feed) == []
        await stage.poll(feed)
        assert _sent(stage.requests()[1]) == (None, None)
        assert len(await stage.entries(feed)) == 2

    play(story)


def test_a_silent_cut_gives_its_whole_items_and_vouches_for_nothing(play: Play) -> None:
    """H25: a close-delimited body is cut without a sign; the missing end tag tells."""

    async def story(stage: Stage) -> None:
        whole = rss(item(1), item(2), item(3))
        cut = document(whole[: whole.index(b"Text of 3")], etag='"a"')
        feed = await stage.add("/feed", document(whole[:-16] + b"</channel></rss>"))
        await stage.poll(feed)
        stage.publish(feed, replace(cut, framing="close"))

        after = await stage.poll(feed, times=2)

        assert after.validators is None
        assert [fetch.truncated for fetch in await stage.fetches(feed)] == [False, True, True]
        assert titles(await stage.entries(feed)) == ["Title 1", "Title 2", "Title 3"]
        assert [entry.seen_count for entry in await stage.entries(feed)] == [3, 3, 1]
        assert [_sent(one)[0] for one in stage.requests()] == [None, None, None]

    play(story)


class _Beside:
    """The real store, but for what a subclass does instead."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _DyingStore(_Beside):
    """A store whose next commit does not happen, as when the process is killed before it."""

    async def commit(self, _: object) -> object:
        message = "the process died"
        raise StoreError(message, reason="closed")


class _DamagedStore(_Beside):
    """A store whose rows of entries cannot be read."""

    async def current_document(self, *_: object, **__: object) -> object:
        message = "a row cannot be read"
        raise StoreError(message, reason=DAMAGED_ROW)

    stored_document = current_document


def test_a_body_is_kept_although_the_rows_of_the_document_before_cannot_be_read(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        damaged: Any = _DamagedStore(stage.services.store)

        await run_once(stage.services._replace(store=damaged), stage.watch())

        assert await stage.entries(feed) == []
        segment = await stage.services.blobs.seal()
        assert segment is not None
        assert len(await stage.services.blobs.contents(segment)) == 1

    play(story)


def test_validators_never_run_ahead_of_the_entries_they_vouch_for(play: Play) -> None:
    """H26: both are in one transaction, so a death before it loses neither."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2, etag='"a"'))
        dying: Any = _DyingStore(stage.services.store)

        with pytest.raises(StoreError):
            await run_once(stage.services._replace(store=dying), stage.watch())
        await stage.reopen()

        assert (await stage.feed(feed)).validators is None
        assert await stage.pass_once() == 0
        stage.later(hours=1)
        assert await stage.pass_once() == 1
        assert _sent(stage.requests()[1]) == (None, None)
        assert len(await stage.entries(feed)) == 2

    play(story)


def test_a_request_is_a_plain_get_without_a_memory_of_its_own(play: Play) -> None:
    """H27: no HEAD, no Range, no cookies, no Referer, no parameters of ours."""

    async def story(stage: Stage) -> None:
        cookie = ("Set-Cookie", "id=1; Path=/")
        feed = await stage.add("/feed?a&b=%20", _dressed(cookie, ("ETag", '"a"')))

        await stage.poll(feed, times=3)

        for request in stage.publisher.requests:
            names = {name.lower() for name, _ in request.headers}
            assert (request.method, request.target) == ("GET", "/feed?a&b=%20")
            assert names <= {
                "host", "user-agent", "accept", "accept-encoding", "if-none-match",
            }  # fmt: skip

    play(story)


def test_the_user_agent_names_us_as_robots_txt_can(play: Play) -> None:
    """H28: a product token that robots.txt can name, and the same on every poll."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))

        await stage.poll(feed, times=2)

        first, second = (request.header("user-agent") for request in stage.requests())
        assert first == second
        assert first is not None
        match = re.fullmatch(r"([A-Za-z_-]+)/[\w.]+", first)  # the operator adds a contact
        assert match is not None
        assert match[1] == FetchConfig().robots_product

    play(story)


def test_feed_types_are_asked_for_by_name(play: Play) -> None:
    """H29."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))

        await stage.poll(feed)

        accept = stage.requests()[0].header("accept") or ""
        named = ("application/rss+xml", "application/atom+xml", "application/feed+json")
        assert all(kind in accept for kind in named)

    play(story)


def test_restarts_never_bring_a_poll_forward(play: Play) -> None:
    """H30: neither after a clean end nor after a claim that nobody finished."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        await stage.pass_once()
        for _ in range(5):
            await stage.reopen()
            stage.later(seconds=10)
            assert await stage.pass_once() == 0

        stage.later(days=1)
        claimed_at = stage.clock.now()
        await stage.services.store.claim(
            "who dies", now=claimed_at, lease_sec=60, max_lanes=9, max_feeds=9
        )
        await stage.reopen()
        for _ in range(5):
            assert await stage.pass_once() == 0
            stage.later(seconds=50)

        due_at = (await stage.feed(feed)).next_poll_at
        assert due_at - claimed_at >= timedelta(seconds=300)
        stage.later(days=1)
        assert await stage.pass_once() == 1

    play(story)


def test_two_processes_on_one_store_never_ask_at_once(play: Play) -> None:
    """H30."""

    async def story(stage: Stage) -> None:
        slow = replace(paper(1), delay_sec=0.2)
        await stage.add("/feed", slow)

        async with open_services(stage.config, clock=stage.clock) as second:
            await asyncio.gather(
                run_once(stage.services, stage.watch()), run_once(second, stage.watch())
            )

        assert len(stage.requests()) == 1

    play(story)


@pytest.mark.parametrize("answer", [said(500), said(502), hang_up()])
def test_trouble_backs_off_exponentially_up_to_its_cap(play: Play, answer: Answer) -> None:
    """H31: one request of a run for an answer, a bounded few where the connection breaks."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", answer)

        waits = []
        for _ in range(4):
            stage.later(hours=2)
            await stage.poll(feed)
            waits.append((await stage.wait_until_due(feed)).total_seconds())

        assert waits == [1800, 3600, 3600, 3600]
        most = 1 if answer.status >= 500 else stage.config.fetch.connection_attempts
        assert 4 <= len(stage.requests()) <= 4 * most

    play(story)


def test_backing_off_is_spread_so_that_feeds_do_not_come_back_together(play: Play) -> None:
    """H31."""

    async def story(stage: Stage) -> None:
        feeds = [await stage.add(f"/{n}", said(404)) for n in range(5)]

        await stage.poll(*feeds)

        waits = {await stage.wait_until_due(feed) for feed in feeds}
        assert len(waits) == 5
        assert min(waits) >= timedelta(seconds=900)

    play(story, schedule=ScheduleConfig())


def test_a_wall_clock_that_leaps_ahead_floods_nobody(play: Play) -> None:
    """H32."""

    async def story(stage: Stage) -> None:
        feeds = [await stage.add(f"/{n}", paper(n, etag='"a"')) for n in range(1, 6)]
        await stage.pass_once()

        stage.later(days=1)
        polled = await stage.pass_once()

        assert polled == 5
        assert await stage.pass_once() == 0
        assert [len(stage.requests(f"/{n}")) for n in range(1, 6)] == [2] * 5
        assert all([await stage.wait_until_due(feed) > timedelta(0) for feed in feeds])

    play(story)


def test_a_wall_clock_that_is_set_back_stalls_nobody(play: Play) -> None:
    """H32: the distances to the last fetch hold, whatever the calendar says."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", _dressed(("Cache-Control", "max-age=1800")), paper(1))
        limited = await stage.add("/limited", said(503, ("Retry-After", "3600")))
        await stage.pass_once()
        waits = [await stage.wait_until_due(one) for one in (feed, limited)]

        stage.later(days=-1)
        assert await stage.pass_once() == 0

        assert [await stage.wait_until_due(one) for one in (feed, limited)] == waits
        stage.later(seconds=waits[0].total_seconds())
        assert await stage.pass_once() == 1
        assert stage.done[-1].fetch.outcome == "same-body"
        assert await stage.wait_until_due(feed) < timedelta(hours=3)
        stage.later(hours=1)
        assert await stage.pass_once() == 2

    play(story)


class _ListeningStore(_Beside):
    """A store that says when it has followed the clock."""

    followed: asyncio.Event

    async def follow_clock(self, now: datetime, *, lease_sec: float) -> int:
        count = int(await self._store.follow_clock(now, lease_sec=lease_sec))
        if count:
            self.followed.set()
        return count


class _SteppingBlobs(_Beside):
    """A raw store that sets the clock when it has kept a document."""

    step: Callable[[], None]

    async def put(self, *given: Any, **more: Any) -> Any:
        kept = await self._store.put(*given, **more)
        self.step()
        return kept


@pytest.mark.parametrize("days", [-1, 1], ids=["back", "forward"])
def test_clock_that_is_set_while_a_poll_is_under_way_changes_no_distance(
    play: Play, days: int
) -> None:
    """H32: the answer is dated by one clock, and committed by the other."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), paper(2))
        stepping: Any = _SteppingBlobs(stage.services.blobs)
        stepping.step = lambda: stage.later(days=days)
        plain, stage.services = stage.services, stage.services._replace(blobs=stepping)
        assert await stage.pass_once() == 1
        stage.services = plain

        wait = await stage.wait_until_due(feed)
        pace = await plain.store.host_pace(feed.url)

        assert timedelta(0) < wait < timedelta(hours=13)
        assert pace is not None
        assert pace.next_ok_at is not None
        assert timedelta(0) <= pace.next_ok_at - stage.clock.now() < timedelta(minutes=1)
        assert await stage.pass_once() == 0
        stage.later(seconds=wait.total_seconds())
        assert await stage.pass_once() == 1

    play(story)


class _AnyFollowStore(_Beside):
    """A store that says when it was asked to follow the clock, with or without effect."""

    asked: asyncio.Event

    async def follow_clock(self, now: datetime, *, lease_sec: float) -> int:
        count = int(await self._store.follow_clock(now, lease_sec=lease_sec))
        self.asked.set()
        return count


class _BlobsBeforeStep(_Beside):
    """A raw store that sets the clock back and waits until the scheduler has followed it."""

    async def put(self, *given: Any, **more: Any) -> Any:
        kept = await self._store.put(*given, **more)
        self.asked.clear()
        self.step()
        await self.asked.wait()
        return kept


def test_poll_that_is_committed_after_the_clock_was_followed_leaves_no_feed_silent(
    play: Play,
) -> None:
    """H32."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        store: Any = _AnyFollowStore(stage.services.store)
        blobs: Any = _BlobsBeforeStep(stage.services.blobs)
        store.asked = blobs.asked = asyncio.Event()
        blobs.step = lambda: stage.later(days=-1)
        polled = asyncio.Event()
        watch = Lifecycle("the test", (lambda *_: polled.set(),))
        async with hang_guard(), asyncio.TaskGroup() as group:
            services = stage.services._replace(store=store, blobs=blobs)
            group.create_task(run_forever(services, watch))
            try:
                await polled.wait()
            finally:
                watch.stop()

        assert timedelta(0) < await stage.wait_until_due(feed) < timedelta(hours=13)

    play(story, run=replace(PLAIN.run, idle_sec=0.02))


def test_a_step_of_the_clock_is_noticed_while_the_loop_runs(play: Play) -> None:
    """H32."""

    async def story(stage: Stage) -> None:
        await stage.add("/feed", paper(1))
        listening: Any = _ListeningStore(stage.services.store)
        listening.followed, polled = asyncio.Event(), asyncio.Event()
        watch = Lifecycle("the test", (lambda *_: polled.set(),))
        async with hang_guard(), asyncio.TaskGroup() as group:
            group.create_task(run_forever(stage.services._replace(store=listening), watch))
            try:
                await polled.wait()
                stage.later(days=-1)
                await listening.followed.wait()
                stage.later(hours=13)
                await stage.publisher.seen("/feed", 2)
            finally:
                watch.stop()

        assert len(stage.requests()) == 2

    play(story, run=replace(PLAIN.run, idle_sec=0.02))
