"""`feedmill quota`: limits and use are shown, and a feed gets a multiple of them."""

from tests.support.command_line import Mill, PublisherBeside
from tests.support.feed_documents import numbered

from feedmill_demo.server.script import document


def test_quota_is_shown_changed_and_set_back(mill: Mill, beside: PublisherBeside) -> None:
    beside.publisher.script("/feed", document(numbered(1, 2, 3)), host="127.0.0.1")
    url = beside.publisher.url("/feed")
    mill.ok("add", "--as-is", url)
    (mill.home / "feedmill.toml").write_text("[quota]\nentries_per_poll = 2\n")
    synced = mill.ok("sync").text

    assert "2 new entries, 0 updated, 0 unchanged, 0 errors" in synced
    assert "1 entry waits for a later poll: `feedmill quota FEED` says why" in synced
    shown = mill.json("quota", url)

    assert (shown["today"]["entries"], shown["waiting"]) == (2, 1)
    assert (shown["reason"], shown["times"]) == ("entries-per-poll", None)
    assert "quota.entries_per_poll allows 2" in mill.ok("quota", url).text
    assert "quota.entries_per_poll allows 2" in mill.ok("explain", url).text
    more = mill.json("quota", url, "--times", "10")
    assert (more["times"], more["limits"]["entries_per_poll"]) == (10.0, 20)
    assert mill.json("show", url)["overrides"]["quota"] == 10.0
    assert mill.json("quota", url, "--default")["times"] is None
    assert mill("quota", url, "--default", "--times", "2").status == 2
