"""`feedmill backfill` says what it would do, what it does and why there is nothing to do."""

from tests.support.command_line import Mill


def test_backfill_is_planned_queued_shown_and_cancelled(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://example.com/feed", "--history")
    feed = "https://example.com/feed"

    assert "has not been polled yet" in mill.ok("backfill", feed, "--dry-run").text
    assert "has not been polled yet" in mill.ok("backfill", feed, "--status").text
    assert "backfill queued (job 1): 0 pages" in mill.ok("backfill", feed, "--pages", "3").text
    assert mill.json("backfill", feed, "--status")["job"]["kind"] == "backfill"
    assert "backfill cancelled" in mill.ok("backfill", feed, "--cancel").text
    assert (
        "no backfill of https://example.com/feed is under way"
        in mill("backfill", feed, "--cancel").err
    )
    assert mill.json("show", feed)["overrides"]["archive_backfill"] is True


def test_a_walk_that_was_asked_for_by_command_is_shown_with_the_feed(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://example.com/feed")
    assert mill.json("show", "https://example.com/feed")["effects"] == []

    mill.ok("backfill", "https://example.com/feed")

    (said,) = mill.json("show", "https://example.com/feed")["effects"]
    assert said.startswith("On request: its archive is read once; queued")
