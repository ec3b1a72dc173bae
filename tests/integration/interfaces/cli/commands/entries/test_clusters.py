"""`feedmill clusters` and `duplicates`, and each story once in `entries`."""

import pytest
from tests.support.command_line import Mill, PublisherBeside

from feedmill_demo.server.script import document

_TITLE = "Old bridge reopens after two years"
_TEXT = "The stone bridge over the Wend opens again on Sunday after two years of repair."


@pytest.fixture
def two_feeds(mill: Mill, beside: PublisherBeside, monkeypatch: pytest.MonkeyPatch) -> Mill:
    """Two feeds with three equal stories each, polled once with clusters switched on."""
    monkeypatch.setenv("FEEDMILL_CLUSTERS_ENABLED", "true")
    for name in ("a", "b"):
        items = "".join(
            f"<item><guid>{name}{n}</guid><title>{_TITLE}, part {n}</title><link>https://{name}.example/{n}</link>"
            f"<description>{n} {_TEXT}</description></item>"
            for n in (1, 2, 3)
        )
        body = f"<rss version='2.0'><channel><title>Paper {name}</title>{items}</channel></rss>"
        beside.publisher.script(f"/clusters/{name}", document(body.encode()), host="127.0.0.1")
        mill.ok("add", "--as-is", beside.publisher.url(f"/clusters/{name}"))
    mill.ok("sync")
    return mill


def test_stories_are_listed_shown_and_collapsed(two_feeds: Mill) -> None:
    listed = two_feeds.json("clusters")["items"]
    shown = two_feeds.ok("clusters", listed[0]["cluster_id"])
    every, once = (
        two_feeds.json("entries", how)["items"] for how in ("--duplicates", "--clusters")
    )

    assert [one["feeds"] for one in listed] == [2, 2, 2]
    assert "title-and-text" in shown.text
    assert (len(every), len(once)) == (6, 3)
    assert {one["cluster_id"] for one in every} == {one["cluster_id"] for one in listed}
    assert _TITLE in two_feeds.ok("clusters", "--limit", "1").text
    assert two_feeds("clusters", "c0").status == 1
    checks = {one["name"]: one for one in two_feeds("doctor", "--json").json["items"]}
    assert checks["clusters"]["ok"]
    assert checks["clusters"]["detail"].startswith("3 stories; the log is read up to event ")
    (feed, other) = (one["id"] for one in two_feeds.json("list")["items"])
    assert two_feeds.json("clusters", "--disable", feed)["items"][0]["clusters"] is False
    assert "on for 1 feed" in two_feeds.ok("clusters", "--enable", other).text
    assert two_feeds.json("verify")["problems"] == []


def test_mirrors_are_named_with_the_command_that_merges_them(
    mill: Mill, beside: PublisherBeside
) -> None:
    items = "".join(
        f"<item><guid>g{n}</guid><title>{_TITLE}, part {n}</title><link>https://x.example/{n}</link></item>"
        for n in (1, 2, 3)
    )
    body = f"<rss version='2.0'><channel><title>Paper</title>{items}</channel></rss>".encode()
    for name in ("a", "b"):
        beside.publisher.script(f"/mirrors/{name}", document(body), host="127.0.0.1")
        mill.ok("add", "--as-is", beside.publisher.url(f"/mirrors/{name}"))
    mill.ok("sync")

    (pair,) = mill.json("duplicates")
    shown = mill.ok("duplicates").text

    assert (pair["common"], pair["share"]) == (3, 1.0)
    assert "feedmill duplicates --merge" in shown
    mill.ok(*pair["merge"].split()[1:])
    assert len(mill.json("list")["items"]) == 1
    assert "no two feeds" in mill.ok("duplicates").text


def test_without_clusters_the_list_says_how_to_switch_them_on(mill: Mill) -> None:
    assert "FEEDMILL_CLUSTERS_ENABLED" in mill.ok("clusters").text
