"""Media from the poll to the stored file: selection, resuming, faults and lies, quota; on both stores."""

import asyncio
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, Play, Stage
from tests.support.job_kinds import run_due
from tests.support.media_publisher import digests, episode, media_file, mp3, podcast
from tests.support.scraped_metrics import scraped
from tests.support.waiting import wait_until

from feedmill.config import MediaConfig
from feedmill.engine.jobs.media import KINDS
from feedmill.engine.maintain.retention import purge
from feedmill.model.derived.fetched import MediaFilter, MediaItem
from feedmill.model.feed import Feed
from feedmill.model.running.job import JobRunRecord
from feedmill_demo.server.script import Answer, Answering, Request, redirect

ON = MediaConfig(tags=("podcast",), bytes_per_sec=0)


async def items(stage: Stage) -> dict[str, MediaItem]:
    found = (await stage.services.store.media_items(MediaFilter())).items
    return {one.url.rpartition("/")[2]: one for one in found}


async def download(stage: Stage, rounds: int = 1) -> list[tuple[str, str]]:
    """Run what is due, as often as that; result and reason of each download."""
    done: list[JobRunRecord] = []
    for _ in range(rounds):
        await stage.pass_once()  # a due feed comes first
        done += await run_due(stage.services, *KINDS)
        stage.later(minutes=10)
    return [(one.result, one.reason) for one in done if one.job.kind == "media"]


def url(stage: Stage, path: str, host: str = "127.0.0.1") -> str:
    return stage.publisher.url(path, host=host)


def kept(stage: Stage) -> dict[str, bytes]:
    folder = Path(stage.config.store.home) / "media" / "files"
    return {path.name: path.read_bytes() for path in folder.glob("*/*")}


def test_metrics_say_how_much_is_kept_and_reserved(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await published(stage, media_file(mp3(1)))
        await download(stage)
        (item,) = (await items(stage)).values()

        page = await scraped(stage)

        assert f'feedmill_media_bytes{{state="kept"}} {float(item.size_bytes or 0)}' in page
        assert 'feedmill_media_bytes{state="reserved"} 0.0' in page
        assert 'feedmill_stored{kind="media"} 1.0' in page

    play(story, media=ON)


def test_files_of_new_entries_are_stored_once_with_readable_names(play: Play) -> None:
    async def story(stage: Stage) -> None:
        bodies = [mp3(1), mp3(2)]
        for number, body in enumerate(bodies, 1):
            stage.publisher.script(f"/{number}.mp3", media_file(body), host="127.0.0.1")
        feed = podcast(*(episode(n, url(stage, f"/{n}.mp3")) for n in (1, 2)))
        await stage.add("/feed", feed, media=True)
        await stage.pass_once()

        done = await download(stage)

        found = await items(stage)
        assert done == [("done", "stored")] * 2
        assert {one.state for one in found.values()} == {"stored"}
        assert found["1.mp3"].media_type == "audio/mpeg"
        assert set(kept(stage)) == digests(bodies)
        assert all(sha256(body).hexdigest() == name for name, body in kept(stage).items())
        shows = Path(stage.config.store.home) / "media" / "shows"
        names = sorted(path.relative_to(shows).as_posix() for path in shows.glob("*/*"))
        assert names == ["The Show/2025-10-01 Episode 1.mp3", "The Show/2025-10-02 Episode 2.mp3"]
        assert (shows / names[0]).read_bytes() == bodies[0]
        told = await stage.events("media.stored")
        assert {event.data["sha256"] for event in told} == digests(bodies)
        assert await stage.services.store.problems() == ()

    play(story, media=ON)


async def published(stage: Stage, *answers: Answering, **own: Any) -> Feed:
    """A polled podcast with one episode per answer, the last one is the newest."""
    for number, answer in enumerate(answers, 1):
        stage.publisher.script(f"/{number}.mp3", answer, host="127.0.0.1")
    numbers = range(len(answers), 0, -1)
    feed = podcast(*(episode(n, url(stage, f"/{n}.mp3"), length=40_000) for n in numbers))
    added = await stage.add("/feed", feed, **{"media": True, **own})
    await stage.pass_once()
    return added


def test_download_that_is_cut_goes_on_where_it_was(play: Play) -> None:
    async def story(stage: Stage) -> None:
        body = mp3(1)
        await published(stage, media_file(body, cut_at=15_000))

        done = await download(stage, rounds=3)

        assert done == [("again", ""), ("again", ""), ("done", "stored")]
        assert digests([body]) == set(kept(stage))
        asked = [request.header("range") for request in stage.requests("/1.mp3")]
        assert asked == [None, "bytes=15000-", "bytes=30000-"]
        assert {one.header("if-range") for one in stage.requests("/1.mp3")[1:]} == {'"one"'}

    play(story, media=ON)


def test_file_whose_server_sends_a_range_in_pieces_is_put_together(play: Play) -> None:
    async def story(stage: Stage) -> None:
        body = mp3(1)
        whole = media_file(body, cut_at=15_000)
        assert callable(whole)

        def in_pieces(request: Request) -> Answer:
            asked = request.header("range")
            if asked is None:
                return whole(request)
            start = int(asked.removeprefix("bytes=").partition("-")[0])
            piece = body[start : start + 10_000]
            span = f"bytes {start}-{start + len(piece) - 1}/{len(body)}"
            fields = (("Content-Type", "audio/mpeg"), ("ETag", '"one"'), ("Content-Range", span))
            return Answer(status=206, headers=fields, body=piece, conditional=False)

        await published(stage, in_pieces)

        done = await download(stage, rounds=4)

        assert done == [*[("again", "")] * 3, ("done", "stored")]
        assert digests([body]) == set(kept(stage))

    play(story, media=ON)


def test_file_is_as_long_as_the_server_says_at_last(play: Play) -> None:
    async def story(stage: Stage) -> None:
        await published(stage, media_file(mp3(1), content_length=50_000))

        done = await download(stage, rounds=3)

        assert done[-1] == ("done", "stored")  # 416: 40,000 are all
        assert set(kept(stage)) == digests([mp3(1)])

    play(story, media=ON)


def test_file_that_changes_under_our_hands_begins_anew(play: Play) -> None:
    async def story(stage: Stage) -> None:
        old, new = mp3(1), mp3(2)
        await published(stage, media_file(old, cut_at=15_000))
        await download(stage)
        stage.publisher.script("/1.mp3", media_file(new, etag='"two"'), host="127.0.0.1")

        await download(stage)

        assert set(kept(stage)) == digests([new])

    play(story, media=ON)


def test_range_of_another_version_is_not_appended(play: Play) -> None:
    async def story(stage: Stage) -> None:
        old, new = mp3(1), mp3(2)
        await published(stage, media_file(old, cut_at=15_000))
        await download(stage)

        def ignores_if_range(request: Request) -> Answer:
            bare = replace(request, headers=tuple(h for h in request.headers if h[0] != "If-Range"))
            respond = media_file(new, etag='"two"')
            assert callable(respond)
            return respond(bare)

        stage.publisher.script("/1.mp3", ignores_if_range, host="127.0.0.1")
        done = await download(stage, rounds=2)

        assert done == [("retry", "changed"), ("done", "stored")]
        assert set(kept(stage)) == digests([new])

    play(story, media=ON)


@pytest.mark.parametrize(("answer", "reason", "detail"), [
    pytest.param(Answer(status=404), "unreachable", "not-found", id="not there"),
    pytest.param(redirect("http://10.0.0.1/a.mp3"), "unreachable", "private-address", id="private"),
    pytest.param(media_file(b"<!doctype html><p>Log in</p>"), "not-media", "text/html", id="a page"),
    pytest.param(media_file(mp3(1), content_length=50_000, ranges=False), "truncated",
                 "40000 of 50000", id="lies about its length"),
    pytest.param(media_file(mp3(1), etag=None, cut_at=9_000), "truncated", "9000 of 40000",
                 id="cut each time, without validator"),
    pytest.param(media_file(mp3(1), ranges=False, cut_at=9_000), "truncated", "9000 of 40000",
                 id="cut each time, without ranges"),
    pytest.param(media_file(mp3(1, 200_000)), "too-large", "200000", id="too large"),
    pytest.param(media_file(mp3(1, 200_000), framing="chunked"), "too-large", "allowed",
                 id="too large, without a length"),
    pytest.param(media_file(mp3(1), codings=("gzip",)), "encoded", "", id="a content-coding"),
])  # fmt: skip
def test_file_that_is_not_kept_has_its_reason(
    play: Play, answer: Answering, reason: str, detail: str
) -> None:
    async def story(stage: Stage) -> None:
        await published(stage, answer)

        await download(stage, rounds=7)

        (found,) = (await items(stage)).values()
        assert (found.state, found.reason) == ("failed", reason)
        assert detail in found.detail
        assert kept(stage) == {}
        assert list((Path(stage.config.store.home) / "media").glob("partial/*")) == []
        (event,) = await stage.events("media.failed")
        assert event.data["reason"] == reason
        assert (await stage.services.store.media_usage()).reserved_bytes == 0

    play(story, media=replace(ON, max_file_bytes=100_000))


def test_same_file_at_three_addresses_is_kept_once(play: Play) -> None:
    async def story(stage: Stage) -> None:
        body = mp3(1)
        moved = redirect(url(stage, "/1.mp3"), status=302)
        await published(stage, media_file(body), media_file(body, etag='"x"'), moved)

        done = await download(stage)

        assert done == [("done", "stored")] * 3
        assert set(kept(stage)) == digests([body])
        names = {one.path for one in (await items(stage)).values()}
        assert len(names) == 3
        usage = await stage.services.store.media_usage()
        assert (usage.files, usage.size_bytes) == (1, len(body))

    play(story, media=ON)


def test_file_must_have_the_digest_that_the_feed_names(play: Play) -> None:
    async def story(stage: Stage) -> None:
        good, bad = mp3(1), mp3(2)
        sri = f"sha256-{b64encode(sha256(good).digest()).decode()}"
        for name, body in (("good", good), ("bad", bad)):
            stage.publisher.script(f"/{name}.opus", media_file(body), host="127.0.0.1")
        versions = [
            f'<podcast:alternateEnclosure type="audio/opus"><podcast:source'
            f' uri="{url(stage, f"/{name}.opus")}"/><podcast:integrity type="sri" value="{sri}"/>'
            "</podcast:alternateEnclosure>"
            for name in ("good", "bad")
        ]
        feed = podcast(
            *(
                episode(number, url(stage, "/unused.mp3"), extra=version)
                for number, version in enumerate(versions, 1)
            )
        )
        await stage.add("/feed", feed, media=True, media_types=("audio/opus",))
        await stage.pass_once()

        await download(stage)

        found = await items(stage)
        assert found["good.opus"].state == "stored"
        assert found["bad.opus"].reason == "integrity"
        assert stage.requests("/unused.mp3") == ()

    play(story, media=ON)


def test_quota_holds_and_the_oldest_entries_go_first(play: Play) -> None:
    async def story(stage: Stage) -> None:
        bodies = [mp3(number) for number in (1, 2, 3, 4)]
        await published(stage, *map(media_file, bodies[:3]))

        await download(stage, rounds=2)

        # The newest were downloaded first; the oldest takes no newer one's place.
        found = await items(stage)
        assert [found[f"{n}.mp3"].reason for n in (1, 2, 3)] == ["quota", None, None]
        assert set(kept(stage)) == digests(bodies[1:3])

        stage.publisher.script("/4.mp3", media_file(bodies[3]), host="127.0.0.1")
        feed = podcast(*(episode(n, url(stage, f"/{n}.mp3")) for n in (4, 3, 2, 1)))
        stage.publisher.script("/feed", feed, host="127.0.0.1")
        stage.later(hours=12)
        await stage.pass_once()
        await download(stage, rounds=2)

        assert set(kept(stage)) == digests(bodies[2:])
        assert (await items(stage))["2.mp3"].state == "pruned"
        usage = await stage.services.store.media_usage()
        assert usage.size_bytes + usage.reserved_bytes <= 100_000
        shows = Path(stage.config.store.home) / "media" / "shows"
        await purge(stage.services)
        assert sorted(path.name for path in shows.glob("*/*")) == [
            "2025-10-03 Episode 3.mp3",
            "2025-10-04 Episode 4.mp3",
        ]

    play(story, media=replace(ON, quota_bytes=100_000))


def test_only_the_newest_files_of_a_feed_stay(play: Play) -> None:
    async def story(stage: Stage) -> None:
        bodies = [mp3(1), mp3(2)]
        feed = await published(stage, media_file(bodies[0]), media_newest=1)
        await download(stage)
        stage.publisher.script("/2.mp3", media_file(bodies[1]), host="127.0.0.1")
        two = podcast(*(episode(n, url(stage, f"/{n}.mp3")) for n in (2, 1)))
        stage.publish(feed, two)
        stage.later(hours=12)
        await stage.pass_once()

        await download(stage)

        assert set(kept(stage)) == digests(bodies[1:])
        assert (await items(stage))["1.mp3"].state == "pruned"

    play(story, media=ON)


def test_credentials_of_the_feed_go_to_its_own_host_only(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/own.mp3", media_file(mp3(1)), host="127.0.0.1")
        stage.publisher.script("/other.mp3", media_file(mp3(2)), host="127.0.1.1")
        away = redirect(url(stage, "/other.mp3", host="127.0.1.1"), status=302)
        stage.publisher.script("/away.mp3", away, host="127.0.0.1")
        feed = podcast(
            episode(1, url(stage, "/own.mp3")),
            episode(2, url(stage, "/other.mp3", host="127.0.1.1")),
            episode(3, url(stage, "/away.mp3")),
        )
        await stage.add("/feed", feed, media=True, username="u", password="p")
        await stage.pass_once()

        done = await download(stage)

        assert done == [("done", "stored")] * 3
        told = {
            (one.path, one.header("authorization") is not None)
            for name in ("/own.mp3", "/other.mp3", "/away.mp3")
            for one in stage.requests(name)
        }
        assert told == {("/own.mp3", True), ("/away.mp3", True), ("/other.mp3", False)}

    play(story, media=ON, addresses=1)


def test_poll_of_the_host_goes_on_beside_a_download(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await published(stage, media_file(mp3(1), fault="stall", fault_at=15_000))
        partials = Path(stage.config.store.home) / "media" / "partial"
        work = asyncio.ensure_future(run_due(stage.services, *KINDS))
        await wait_until(
            lambda: any(path.stat().st_size == 15_000 for path in partials.glob("*.part")),
            "the first bytes",
        )

        await stage.poll(feed)  # the download hangs, and holds no lane

        assert len(stage.requests("/feed")) == 2
        assert not work.done()
        work.cancel()
        await asyncio.wait({work})
        stage.publisher.script("/1.mp3", media_file(mp3(1)), host="127.0.0.1")
        assert await download(stage) == [("done", "stored")]
        assert stage.requests("/1.mp3")[-1].header("range") == "bytes=15000-"

    play(
        story,
        media=ON,
        run=replace(PLAIN.run, drain_sec=0.01),
        fetch=replace(PLAIN.fetch, read_timeout_ms=600_000, min_bytes_per_sec=0),
    )


def test_feed_that_opted_out_meanwhile_downloads_nothing(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await published(stage, media_file(mp3(1)))
        await run_due(stage.services, KINDS[0])
        await stage.services.store.change_feed(
            replace(feed, overrides=replace(feed.overrides, media=False))
        )

        done = await download(stage)

        assert done == [("done", "not-wanted")]
        assert stage.requests("/1.mp3") == ()

    play(story, media=ON)
