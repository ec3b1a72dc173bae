"""Where feeds go: candidates, quarantine, proof, adoption, merging, and the way back (D6)."""

import ssl
from collections.abc import Callable
from datetime import timedelta
from errno import EIO
from pathlib import Path

import pytest
import trustme
from msgspec.structs import replace
from tests.support.commit_faults import fail_before_commits_of_moves
from tests.support.engine_harness import PLAIN, Play, Stage, titles
from tests.support.feed_documents import item, numbered, paper, rss, said
from tests.support.http_and_https_port import both_schemes

from feedmill.config import MovesConfig
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.moves.follow import move_feed, undo_move
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import AddressError, NotFoundError, StoreError, UsageError
from feedmill.model.feed import Feed
from feedmill.publish.to_json import feed_wire
from feedmill_demo.server.script import Answer, document, redirect


def announcing(url: str, *numbers: int, kind: str = "itunes") -> Answer:
    """A document that names an address, by itunes or by its self link."""
    return document(numbered(*numbers, extra=announcement(url, kind)))


def announcement(url: str, kind: str = "itunes") -> str:
    if kind == "itunes":
        return f"<itunes:new-feed-url>{url}</itunes:new-feed-url>"
    return f'<atom:link rel="self" href="{url}"/>'


async def days_of(stage: Stage, feed: Feed, *, polls: int = 3, hours: float = 25.0) -> Feed:
    """Polls that are a day and an hour apart, the last of them just now."""
    for number in range(polls):
        stage.later(hours=hours if number else 0)
        await stage.poll(feed)
    return await stage.feed(feed)


async def sources_of(stage: Stage, feed: Feed) -> list[tuple[str, str, str]]:
    """What the history says: where it went, who said so, how it was proven."""
    return [(m.to_url, m.source, m.proof) for m in await stage.services.store.moves(feed.id)]


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 308])
    def test_a_permanent_redirect_is_followed_after_three_sightings_over_two_days(
        self, play: Play, status: int
    ) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new")
            stage.publisher.script("/new", paper(1, 2, etag='"a"'))
            feed = await stage.add("/old", redirect("/new", status))

            before = await days_of(stage, feed, polls=2)
            after = await days_of(stage, feed, polls=1, hours=0)
            assert (before.url, after.url) == (feed.url, feed.url)  # the third, but too soon
            stage.later(hours=25)
            after = await stage.poll(feed)

            assert (after.url, after.move) == (new, None)
            assert await sources_of(stage, feed) == [(new, "redirect", "redirect")]
            assert set(await stage.services.store.aliases(feed.id)) >= {feed.url, new}
            (event,) = await stage.events("feed.moved")
            assert event.data == {
                "from_url": feed.url,
                "to_url": new,
                "source": "redirect",
                "proof": "redirect",
                "undone": False,
            }
            asked = len(stage.requests("/old"))
            await stage.poll(feed)
            assert len(stage.requests("/old")) == asked
            assert stage.requests("/new")[-1].header("if-none-match") == '"a"'
            assert len(await stage.events("new_entry")) == 2

        play(story)

    def test_a_temporary_redirect_is_never_followed_for_good(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/new", paper(1))
            feed = await stage.add("/old", redirect("/new", 302))

            after = await days_of(stage, feed, polls=5)

            assert (after.url, after.move) == (feed.url, None)

        play(story)

    def test_two_sightings_are_not_enough_however_far_apart(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/new", paper(1))
            feed = await stage.add("/old", redirect("/new"))

            after = await days_of(stage, feed, polls=2, hours=500)

            assert after.url == feed.url
            shown = feed_wire(after, stage.config.schedule)["move"]
            assert shown["missing"] == {"sightings": 1, "hours": 0.0, "proof": False}
            assert (shown["sightings"], shown["source"]) == (2, "redirect")

        play(story)

    def test_a_feed_with_credentials_does_not_take_them_to_another_host(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            elsewhere = stage.publisher.url("/new", host="127.0.1.1")
            stage.publisher.script("/new", paper(1))
            feed = await stage.add("/old", redirect(elsewhere), username="me", password="secret")

            after = await days_of(stage, feed, polls=4)

            assert after.url == feed.url
            assert after.move is not None
            assert after.move.reason == "has-credentials"

        play(story, addresses=1)

    def test_a_move_to_another_host_changes_the_lane(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            elsewhere = stage.publisher.url("/new", host="127.0.1.1")
            stage.publisher.script("/new", paper(1))
            feed = await stage.add("/old", redirect(elsewhere))

            await days_of(stage, feed)
            after = await stage.poll(feed)

            assert after.url == elsewhere
            assert stage.requests("/new")[-1].address == "127.0.1.1"
            assert await stage.services.store.host_pace(elsewhere) is not None

        play(story, addresses=1)


class TestAnnouncements:
    @pytest.mark.parametrize("kind", ["itunes", "self"])
    def test_an_announced_address_is_fetched_once_and_adopted_when_it_is_the_same_feed(
        self, play: Play, kind: str
    ) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new")
            stage.publisher.script("/new", document(numbered(1, 2)))
            first = document(numbered(1, 2, extra=announcement("https://old.example/", "self")))
            feed = await stage.add("/old", first, announcing(new, 1, 2, kind=kind))
            await stage.poll(feed)

            after = await days_of(stage, feed)

            assert after.url == new
            assert len(stage.requests("/new")) == 1
            source = "itunes:new-feed-url" if kind == "itunes" else "self"
            assert await sources_of(stage, feed) == [(new, source, "signature")]
            assert len(await stage.events("new_entry")) == 2

        play(story)

    def test_a_copied_self_link_is_refuted_and_left_alone_for_a_week(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            big = stage.publisher.url("/big")
            stage.publisher.script("/big", paper(7, 8, 9))
            before = announcing("https://own.example/", 1, kind="self")
            feed = await stage.add("/small", before, announcing(big, 1, kind="self"))
            await stage.poll(feed)

            after = await days_of(stage, feed, polls=5)

            assert after.url == feed.url
            assert after.move is not None
            assert (after.move.reason, after.move.attempts) == ("not-the-same-feed", 1)
            assert after.move.retry_at == (after.move.refuted_at or stage.clock.now()) + timedelta(
                7
            )
            assert len(stage.requests("/big")) == 1
            stage.later(days=7)
            assert (await stage.poll(feed)).url == feed.url
            assert len(stage.requests("/big")) == 2

        play(story)

    def test_an_unproven_self_link_makes_nobody_already_here(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            big = stage.publisher.url("/big")
            feed = await stage.add("/small", announcing(big, 1, kind="self"))

            after = await stage.poll(feed)

            assert after.self_url == big
            assert await stage.services.store.aliases(feed.id) == (feed.url,)
            assert (await subscribe_unchecked(big, stage.services)).created

        play(story)

    def test_neither_a_fragment_nor_credentials_are_a_part_of_an_announced_address(
        self, play: Play
    ) -> None:
        async def story(stage: Stage) -> None:
            own, new = stage.publisher.url("/feed"), stage.publisher.url("/new")
            secret = new.replace("://", "://ann:secret@")
            stage.publisher.script("/new", document(numbered(1, 2)))
            feed = await stage.add("/feed", announcing(f"{own}#top", 1, 2))

            at_home = await stage.poll(feed)
            stage.publish(feed, announcing(f"{secret}#top", 1, 2))
            elsewhere = await stage.poll(feed)

            assert at_home.move is None
            assert elsewhere.move is not None
            assert elsewhere.move.url == new

        play(story)

    def test_an_address_that_only_leads_home_is_no_move(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/other", redirect("/feed"))
            feed = await stage.add("/feed", announcing(stage.publisher.url("/other"), 1))

            after = await days_of(stage, feed)

            assert after.url == feed.url
            assert after.move is not None
            assert after.move.reason == "leads-home"

        play(story)

    def test_the_end_of_a_permanent_way_is_what_is_adopted(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/halfway", redirect("/end"))
            stage.publisher.script("/end", document(numbered(1)))
            feed = await stage.add("/feed", announcing(stage.publisher.url("/halfway"), 1))

            after = await days_of(stage, feed)

            assert after.url == stage.publisher.url("/end")

        play(story)

    @pytest.mark.parametrize(
        ("target", "reason"),
        [
            pytest.param("http://169.254.169.254/feed", "private-address", id="metadata"),
            pytest.param("http://10.0.0.1/feed", "private-address", id="private"),
        ],
    )
    def test_a_private_address_is_refused_by_the_guard(
        self, play: Play, target: str, reason: str
    ) -> None:
        async def story(stage: Stage) -> None:
            feed = await stage.add("/feed", announcing(target, 1))

            after = await days_of(stage, feed)

            assert after.url == feed.url
            assert after.move is not None
            assert (after.move.reason, after.move.refuted_at) == (reason, None)

        play(story)

    def test_an_address_that_cannot_be_reached_is_tried_again_after_a_day(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new")
            stage.publisher.script("/new", said(500), document(numbered(1)))
            feed = await stage.add("/old", announcing(new, 1))

            held = await days_of(stage, feed)
            stage.later(hours=1)
            await stage.poll(feed)
            assert len(stage.requests("/new")) == 1
            stage.later(hours=24)
            after = await stage.poll(feed)

            assert held.move is not None
            assert held.move.reason == "server-error"
            assert after.url == new

        play(story)

    def test_a_host_that_wants_to_be_left_alone_is_not_asked_for_a_proof(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new", host="127.0.1.1")
            stage.publisher.script("/new", document(numbered(1)))
            feed = await stage.add("/old", announcing(new, 1))
            await days_of(stage, feed, polls=2)
            await stage.services.store.limit_host(
                new, stage.clock.now() + timedelta(hours=30), "rate-limited"
            )

            waiting = await days_of(stage, feed, polls=2)  # 25 hours on
            asked = len(stage.requests("/new"))
            stage.later(hours=6)
            after = await stage.poll(feed)

            assert waiting.url == feed.url
            assert waiting.move is not None
            assert (asked, waiting.move.attempts) == (0, 0)
            assert after.url == new

        play(story, addresses=1)

    def test_a_refusal_learnt_by_a_proof_binds_the_mill(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new", host="127.0.1.1")
            stage.publisher.script("/new", said(429, ("Retry-After", "7200")))
            feed = await stage.add("/old", announcing(new, 1))

            await days_of(stage, feed)

            pace = await stage.services.store.host_pace(new)
            assert pace is not None
            assert pace.next_ok_at == stage.clock.now() + timedelta(hours=2)
            assert pace.blocked_reason == "rate-limited"

        play(story, addresses=1)


class TestTheOldAddressIsGone:
    @pytest.mark.parametrize("numbers", [(1, 2), (2, 3)], ids=["same entries", "half of them"])
    def test_a_candidate_is_adopted_at_once_when_the_old_address_says_410(
        self, play: Play, numbers: tuple[int, ...]
    ) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new")
            stage.publisher.script("/new", paper(*numbers))
            feed = await stage.add("/old", announcing(new, 1, 2), said(410))

            await stage.poll(feed)
            after = await stage.poll(feed)

            assert after.url == new
            assert await stage.wait_until_due(feed) == timedelta(minutes=1)
            stage.later(minutes=1)
            await stage.pass_once()
            assert (await stage.feed(feed)).schedule.health == "active"
            assert len(await stage.entries(feed)) == len({1, 2, *numbers})
            assert [e.data["after"] for e in await stage.events("feed.state")] == [
                "suspect",
                "active",
            ]

        play(story)

    def test_a_404_counts_as_gone_from_the_third_on_a_day_after_the_last_success(
        self, play: Play
    ) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new")
            stage.publisher.script("/new", paper(1))
            feed = await stage.add("/old", announcing(new, 1), said(404))
            await stage.poll(feed)

            early = await stage.poll(feed, times=4)
            stage.later(hours=24)
            after = await stage.poll(feed)

            assert early.url == feed.url
            assert after.url == new

        play(story)

    def test_strange_entries_prove_nothing_and_the_feed_is_gone_after_a_second_410(
        self, play: Play
    ) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new")
            stage.publisher.script("/new", paper(2, 3, 4, 5))
            feed = await stage.add("/old", announcing(new, 1, 2), said(410))
            await stage.poll(feed)

            suspect = await stage.poll(feed)
            stage.later(hours=25)
            after = await stage.poll(feed)

            assert suspect.schedule.health == "suspect"
            assert (after.url, after.schedule.health) == (feed.url, "gone")
            assert after.move is not None
            assert after.move.reason == "not-the-same-feed"
            assert len(stage.requests("/new")) == 1

        play(story)

    def test_a_former_redirect_has_to_be_proven_again(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/new", paper(1), document(rss(item(9))))
            feed = await stage.add("/old", redirect("/new"), said(410))
            await stage.poll(feed)

            after = await stage.poll(feed)

            assert after.url == feed.url
            assert after.move is not None
            assert after.move.reason == "not-the-same-feed"

        play(story)


class TestHttps:
    @pytest.fixture
    def authority(self) -> trustme.CA:
        return trustme.CA()

    @pytest.fixture
    def tls(self, authority: trustme.CA) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        return context

    @pytest.fixture
    def trusting(self, authority: trustme.CA, tmp_path: Path) -> dict[str, object]:
        path = tmp_path / "ca.pem"
        path.write_bytes(authority.cert_pem.bytes())
        return {"fetch": replace(PLAIN.fetch, ca_file=str(path))}

    def test_the_same_feed_by_https_is_adopted_after_three_good_probes(
        self, play: Play, tls: ssl.SSLContext, trusting: dict[str, object]
    ) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/feed", paper(1))
            async with both_schemes(stage.publisher, tls) as private:
                private.script("/feed", paper(1))
                private_url = private.url("/feed")
                url = private_url.replace("https:", "http:")
                feed = (await subscribe_unchecked(url, stage.services)).feed

                await stage.poll(feed)
                too_soon = [request.path for request in private.requests]
                stage.later(days=37)
                urls = [(await days_of(stage, feed, polls=1)).url]
                await stage.poll(feed)  # a day has not passed: no probe
                for _ in range(2):
                    stage.later(hours=25)
                    urls.append((await stage.poll(feed)).url)

                assert too_soon == []
                assert urls == [url, url, private_url]
                assert len(private.requests) == 3
                assert await sources_of(stage, feed) == [(private_url, "https", "content")]
                assert (await stage.poll(feed)).last_result == "same-body"

        play(story, **trusting)

    def test_another_feed_by_https_is_not_asked_for_again_for_a_month(
        self, play: Play, tls: ssl.SSLContext, trusting: dict[str, object]
    ) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/feed", paper(1))
            async with both_schemes(stage.publisher, tls) as private:
                private.script("/feed", paper(5))
                url = private.url("/feed").replace("https:", "http:")
                feed = (await subscribe_unchecked(url, stage.services)).feed
                stage.later(days=37)

                after = await days_of(stage, feed, polls=4)

                assert (after.url, after.move) == (url, None)
                assert after.https_probed_at is not None
                assert len(private.requests) == 1

        play(story, **trusting)

    def test_an_https_feed_never_moves_to_http(
        self, play: Play, tls: ssl.SSLContext, trusting: dict[str, object]
    ) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/feed", paper(1))
            async with both_schemes(stage.publisher, tls) as private:
                open_url = private.url("/feed").replace("https:", "http:")
                private.script("/feed", announcing(open_url, 1), announcing(open_url, 1, 2))
                feed = (await subscribe_unchecked(private.url("/feed"), stage.services)).feed

                after = await days_of(stage, feed, polls=4)

                assert (after.url, after.move) == (private.url("/feed"), None)
                assert stage.publisher.requests == ()

        play(story, **trusting)

    def test_nought_days_is_never(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            feed = await stage.add("/feed", paper(1))
            stage.later(days=400)

            after = await stage.poll(feed)

            assert after.https_probed_at is None

        play(story, moves=MovesConfig(https_probe_days=0))


class TestMerging:
    def test_two_subscriptions_of_one_feed_become_one_with_their_lineage(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            store = stage.services.store
            old = await stage.add("/old", paper(1, 2, 3))
            await store.change_feed(replace(old, tags=("left",)))
            await stage.poll(old)
            stage.later(days=1)
            new = await stage.add("/new", paper(2, 3, 4))
            await store.change_feed(replace(new, tags=("right",)))
            await stage.poll(new)
            before = {(e.feed_id, e.title): e for e in await stage.entries()}
            stage.publish(old, redirect("/new"))

            for number in range(3):
                stage.later(hours=25 if number else 0)
                await stage.poll(new)
                await stage.services.store.make_due([old.id], stage.clock.now())
                await stage.pass_once()
            merged = await stage.feed(new)

            assert await store.feed(old.id) is None
            assert await store.find_feed([old.url]) == merged
            assert merged.tags == ("right", "left")
            entries = {e.title: e for e in await stage.entries()}
            assert titles(await stage.entries(new)) == [f"Title {n}" for n in (1, 2, 3, 4)]
            twin = entries["Title 2"]
            assert twin.first_seen == before[old.id, "Title 2"].first_seen
            assert twin.seen_count > before[new.id, "Title 2"].seen_count
            assert await store.entry(before[old.id, "Title 2"].entry_uid) == twin
            for entry in entries.values():
                (ref,) = entry.raw_refs
                fetch = await store.fetch(ref.fetch_id)
                assert fetch is not None
                assert fetch.body_sha256 is not None
                assert fetch.feed_id == new.id
                assert await load_body(
                    fetch.body_sha256, stage.services.store, stage.services.blobs
                )
            (event,) = await stage.events("feed.merged")
            assert (event.data["from"], event.data["into"]) == (old.id, new.id)
            assert (event.data["entries"], event.data["folded"]) == (1, 3)

        play(story)

    def test_the_next_polls_after_a_merge_bring_nothing_new(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            nameless = rss(
                item(1, guid=None),
                item(2, guid=None, link=None),
                item(3, permalink=True, guid="http://paper.example/3"),
                item(4),
            )
            old = await stage.add("/old", document(nameless))
            new = await stage.add("/new", paper(7))
            await stage.poll(old, new)
            stage.publish(old, redirect("/new"))
            stage.publish(new, document(nameless, etag='"all"'))
            await stage.services.store.merge_feeds(old.id, new.id, at=stage.clock.now())
            told = len(await stage.events("new_entry"))

            await stage.poll(new, times=2)

            assert len(await stage.events("new_entry")) == told
            assert len(await stage.entries(new)) == 5

        play(story)

    def test_an_address_that_another_feed_only_had_is_left_to_it(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            shared = stage.publisher.url("/shared")
            stage.publisher.script("/shared", document(numbered(1)))
            other = await stage.add("/other", redirect("/shared", 302))
            await stage.poll(other)
            feed = await stage.add("/feed", announcing(shared, 1))

            after = await days_of(stage, feed)

            assert after.url == feed.url
            assert after.move is not None
            assert after.move.reason == "taken"
            assert (await stage.services.store.find_feed([shared])) == await stage.feed(other)

        play(story)

    def test_without_a_proof_another_feed_is_left_alone(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            other = await stage.add("/other", paper(7, 8))
            await stage.poll(other)
            feed = await stage.add("/feed", announcing(other.url, 1))

            after = await days_of(stage, feed)

            assert after.url == feed.url
            assert len(await stage.entries(other)) == 2
            assert await stage.events("feed.merged") == []

        play(story)

    def test_a_refresh_under_way_elsewhere_cannot_bring_entries_in_again(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            store = stage.services.store
            old = await stage.add("/old", paper(1, 2))
            new = await stage.add("/new", paper(1, 2), host="127.0.1.1")
            await stage.poll(old)
            await store.make_due([new.id], stage.clock.now())
            (claim,) = await store.claim(
                "elsewhere", now=stage.clock.now(), lease_sec=60, max_lanes=5, max_feeds=5
            )

            await store.merge_feeds(old.id, new.id, at=stage.clock.now())

            later = stage.clock.now() + timedelta(seconds=60)
            assert not await store.renew(claim.lane, owner="elsewhere", until=later)

        play(story, addresses=1)


class TestTheWayBack:
    def test_an_undone_move_is_never_made_again_by_itself(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            new = stage.publisher.url("/new")
            stage.publisher.script("/new", paper(1))
            feed = await stage.add("/old", redirect("/new"))
            moved = await days_of(stage, feed)

            await undo_move(moved, stage.services)
            back = await stage.feed(feed)
            after = await days_of(stage, feed, polls=20, hours=49)

            assert (moved.url, back.url, after.url) == (new, feed.url, feed.url)
            assert after.move is not None
            assert after.move.reason == "undone"
            (move,) = await stage.services.store.moves(feed.id)
            assert move.undone_at is not None
            assert [e.data["undone"] for e in await stage.events("feed.moved")] == [False, True]

        play(story)

    def test_there_is_nothing_to_undo_where_nothing_moved(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            feed = await stage.add("/feed", paper(1))

            with pytest.raises(NotFoundError):
                await undo_move(feed, stage.services)

        play(story)

    def test_a_feed_that_is_sent_in_circles_holds_still_for_a_week(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            here, there = stage.publisher.url("/here"), stage.publisher.url("/there")
            stage.publisher.script("/there", paper(1))
            feed = await stage.add("/here", redirect("/there"))
            assert (await days_of(stage, feed)).url == there
            stage.publisher.script("/there", redirect("/here"))
            stage.publisher.script("/here", paper(1), host="127.0.0.1")

            held = await days_of(stage, feed, polls=5)

            assert held.url == there
            assert held.move is not None
            assert (held.move.url, held.move.reason) == (here, "loop")
            (event,) = await stage.events("feed.move_held")
            assert (event.data["to_url"], event.data["reason"]) == (here, "loop")
            stage.later(days=7)
            assert (await stage.poll(feed)).url == here

        play(story)

    def test_a_fault_between_proof_and_move_leaves_the_old_state_and_loses_no_event(
        self, play: Play, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        faults = [OSError(EIO, "the disk is gone")]

        def disk() -> None:
            if faults:
                raise faults.pop()

        async def story(stage: Stage) -> None:
            fail_before_commits_of_moves(monkeypatch, disk)
            new = stage.publisher.url("/new")
            stage.publisher.script("/new", document(numbered(1)))
            feed = await stage.add("/old", announcing(new, 1))
            await days_of(stage, feed, polls=2)
            stage.later(hours=25)
            with pytest.raises(StoreError):
                await stage.poll(feed)
            assert len(stage.requests("/new")) == 1  # the proof
            await stage.reopen()
            stage.later(minutes=10)

            left = await stage.feed(feed)
            assert left.url == feed.url
            assert left.move is not None
            assert left.move.sightings == 3
            assert await stage.events("feed.moved") == []
            assert await stage.services.store.moves(feed.id) == ()
            assert (await stage.poll(feed)).url == new
            assert len(await stage.events("feed.moved")) == 1

        play(story)


class TestByHand:
    def test_a_proven_address_is_taken_and_a_strange_one_only_by_force(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            twin, strange = stage.publisher.url("/twin"), stage.publisher.url("/strange")
            stage.publisher.script("/twin", paper(1, 2, 3))
            stage.publisher.script("/strange", paper(7, 8))
            feed = await stage.add("/feed", paper(1, 2))
            feed = await stage.poll(feed)

            moved = await move_feed(feed, twin, stage.services)
            feed = await stage.feed(feed)
            refused = await move_feed(feed, strange, stage.services)
            forced = await move_feed(feed, strange, stage.services, force=True)

            assert (moved.outcome, moved.move and moved.move.proof) == ("moved", "entries")
            assert (refused.outcome, refused.reason) == ("held", "not-the-same-feed")
            assert (forced.outcome, forced.move and forced.move.proof) == ("moved", "forced")
            assert (await stage.feed(feed)).url == strange

        play(story)

    @pytest.mark.parametrize("force", [False, True])
    def test_the_guard_cannot_be_forced(self, play: Play, *, force: bool) -> None:
        async def story(stage: Stage) -> None:
            feed = await stage.add("/feed", paper(1))

            with pytest.raises(AddressError):
                await move_feed(feed, "http://169.254.169.254/feed", stage.services, force=force)

        play(story)

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            pytest.param(lambda: said(404), "not-found", id="nothing there"),
            pytest.param(lambda: redirect("/feed"), "leads-home", id="home again"),
        ],
    )
    def test_an_address_without_a_feed_of_its_own_is_refused(
        self, play: Play, answer: Callable[[], Answer], reason: str
    ) -> None:
        async def story(stage: Stage) -> None:
            stage.publisher.script("/there", answer())
            feed = await stage.poll(await stage.add("/feed", paper(1)))

            refused = await move_feed(feed, stage.publisher.url("/there"), stage.services)

            assert (refused.outcome, refused.reason) == ("held", reason)

        play(story)

    def test_another_feeds_address_is_merged_with_a_proof_and_never_by_force(
        self, play: Play
    ) -> None:
        async def story(stage: Stage) -> None:
            one, two = await stage.add("/one", paper(1)), await stage.add("/two", paper(1))
            three = await stage.add("/three", paper(3))
            await stage.poll(one, two, three)

            forced = await move_feed(await stage.feed(three), two.url, stage.services, force=True)
            merged = await move_feed(await stage.feed(one), two.url, stage.services)

            assert (forced.outcome, forced.reason) == ("held", "taken")
            assert (merged.outcome, merged.into) == ("merged", two.id)
            assert len(await stage.entries(two)) == 1

        play(story)

    def test_a_resting_host_is_not_asked_and_home_is_no_target(self, play: Play) -> None:
        async def story(stage: Stage) -> None:
            there = stage.publisher.url("/there", host="127.0.1.1")
            feed = await stage.add("/feed", paper(1))
            until = stage.clock.now() + timedelta(hours=1)
            await stage.services.store.limit_host(there, until, "rate-limited")

            waiting = await move_feed(feed, there, stage.services)

            assert (waiting.outcome, waiting.reason) == ("put-off", "host-resting")
            with pytest.raises(UsageError):
                await move_feed(feed, feed.url, stage.services)

        play(story, addresses=1)
