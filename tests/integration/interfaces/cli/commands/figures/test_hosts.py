"""`feedmill hosts`: a list of hosts with a problem, of all, or one host."""

from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import Answer, document
from feedmill_demo.server.server import Publisher


def test_hosts_that_pause_are_listed_and_one_is_shown(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/feed", document(paper("1")))
    mill.json("add", "--as-is", publisher.url("/feed"))
    mill.ok("sync")
    calm = mill.ok("hosts")
    publisher.script("/busy", Answer(status=429, headers=(("Retry-After", "900"),)))
    mill.json("add", "--as-is", publisher.url("/busy"))
    mill("sync")

    (host,) = mill.json("hosts")["items"]
    shown = mill.ok("hosts", host["host"])

    assert "no host pauses or fails" in calm.text
    assert (host["state"], host["reason"], host["feeds"]) == ("paused", "rate-limited", 2)
    assert "rate-limited" in shown.text
    assert len(mill.json("hosts", "--all")["items"]) == 1
    assert mill("hosts", "nowhere.example").status == 1


def test_feeds_that_cannot_be_polled_now_say_why(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/feed", document(paper("1")))
    publisher.script("/busy", Answer(status=429, headers=(("Retry-After", "900"),)))
    mill.ok("add", "--as-is", publisher.url("/feed"), publisher.url("/busy"))
    mill.ok("sync")
    mill.ok("pause", publisher.url("/feed"))
    mill.ok("add", "--as-is", publisher.url("/late"))

    paused, held = (mill.ok("explain", publisher.url(path)).text for path in ("/feed", "/late"))
    forced = mill.ok("sync", "--force", "--feed", publisher.url("/feed"))

    assert "The feed is paused: it is not polled until it is resumed." in paused
    assert "not polled yet" in held
    assert "its host is left alone" in held
    assert forced.text == "nothing can be polled now: `feedmill explain FEED` says why\n"
