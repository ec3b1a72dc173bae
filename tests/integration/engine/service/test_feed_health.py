"""How a feed is, told to a person: what is wrong, since when, what was tried, what comes next."""

import typing

import pytest
from tests.support.engine_harness import Play, Stage
from tests.support.feed_documents import numbered, paper, said

from feedmill.engine.service import queries
from feedmill.engine.service.feed_health import health_kind_of
from feedmill.model.fetch import FailureReason, RefusalReason
from feedmill.model.parsed import UnreadableReason
from feedmill.publish.shapes import FeedChange, HealthKind
from feedmill_demo.server.script import document

WALL = b"<html><head><title>Just a moment...</title></head><body>cf-chl</body></html>"


def test_every_reason_has_a_family() -> None:
    reasons = (
        *typing.get_args(FailureReason),
        *typing.get_args(RefusalReason),
        *typing.get_args(UnreadableReason),
    )

    families = {reason: health_kind_of(reason) for reason in reasons}

    assert set(families.values()) <= set(typing.get_args(HealthKind))
    assert (families["bot-wall"], families["dns-failure"], families["tls-failure"]) == (
        "bot-wall",
        "dns",
        "tls",
    )
    assert (families["malformed"], families["too-large"], families["private-address"]) == (
        "content",
        "too-large",
        "refused",
    )
    assert (families["timeout"], families["rate-limited"]) == ("network", "http")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (said(503, ("cf-mitigated", "challenge"), body=WALL), "bot-wall", "keeps programs out"),
        (said(404), "http", "HTTP 404, not-found"),
        (document(b"<html><body>Welcome</body></html>", "text/html"), "content", "as a feed"),
        (said(410), "gone", "the feed is gone"),
    ],
)
def test_trouble_is_told_in_words(play: Play, answer: typing.Any, kind: str, words: str) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), answer)
        worked = await stage.poll(feed)
        began = await stage.poll(feed)
        stage.later(hours=1)
        await stage.poll(feed)

        health = await queries.health(feed.id, stage.services)

        assert (health.kind, health.since) == (kind, began.last_fetch_at)
        assert (health.consecutive_failures, health.last_success_at) == (2, worked.last_success_at)
        assert words in health.words[0]
        assert "It has failed 2 times in a row since 2025-10-14 12:00:02 UTC" in health.words[1]
        assert "it last worked at 2025-10-14 12:00:01 UTC" in health.words[1]
        assert health.words[-1].startswith("The next poll is due at ")
        assert [one.outcome for one in health.attempts][2] == "fresh"

    play(story)


def test_a_feed_that_never_worked_says_so(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(500))
        before = await queries.health(feed.id, stage.services)
        await stage.poll(feed)

        health = await queries.health(feed.id, stage.services)

        assert (before.kind, before.words) == (
            "not-polled",
            ("The feed has not been polled yet.", "The next poll is due now."),
        )
        assert health.words[1].startswith("It has failed once since")
        assert health.words[1].endswith("it has never worked.")

    play(story)


def test_a_paused_feed_has_nothing_next(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        await queries.change_feed(feed.id, FeedChange(paused=True), stage.services)

        health = await queries.health(feed.id, stage.services)

        assert (health.kind, len(health.words)) == ("paused", 1)

    play(story)


def test_a_mended_document_is_well_and_its_fault_is_told(play: Play) -> None:
    async def story(stage: Stage) -> None:
        body = numbered(1, 2).replace(b"</rss>", b"\n</rzz>")
        feed = await stage.add("/feed", document(body))
        await stage.poll(feed)

        health = await queries.health(feed.id, stage.services)

        assert (health.kind, health.line) == ("well", 2)
        assert "line 2, column" in health.words[1]

    play(story)


def test_a_fault_whose_document_is_gone_is_not_made_up(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(_: str) -> None:
        """What the index says of a document that retention let go."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", document(numbered(1).replace(b"</rss>", b"</rzz>")))
        await stage.poll(feed)
        assert (await queries.health(feed.id, stage.services)).line is not None
        monkeypatch.setattr(stage.services.store, "blob", gone)

        health = await queries.health(feed.id, stage.services)

        assert (health.line, health.column) == (None, None)

    play(story)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        pytest.param(401, "The feed wants a login", id="login"),
        pytest.param(404, "Check the address", id="not found"),
        pytest.param(500, "Wait: it is polled again", id="server error"),
        pytest.param(403, "See the status and the detail", id="another status"),
    ],
)
def test_health_says_what_to_do_about_the_status(play: Play, status: int, words: str) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", said(status))
        await stage.poll(feed)

        health = await queries.health(feed.id, stage.services)

        assert any(one.startswith(words) for one in health.words)

    play(story)
