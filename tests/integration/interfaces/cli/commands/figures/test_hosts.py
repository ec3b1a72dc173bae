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
