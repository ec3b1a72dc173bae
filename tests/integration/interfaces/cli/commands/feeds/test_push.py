"""`feedmill push` as a person uses it."""

from tests.support.command_line import Mill
from tests.support.feed_documents import item, rss

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher


def test_push_says_that_it_is_off_and_how_to_switch_it_on(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/feed", document(rss(item(1))))
    mill.ok("add", "--as-is", publisher.url("/feed"))

    assert "FEEDMILL_PUSH_PUBLIC_URL" in mill.ok("push").text
    assert "public_url is not set" in mill.ok("push", "show", publisher.url("/feed")).text
    refused = mill("push", "subscribe", publisher.url("/feed"))
    assert refused.status == 1
    assert "FEEDMILL_PUSH_PUBLIC_URL" in refused.err


def test_feed_without_a_hub_is_told_so(mill: Mill, publisher: Publisher) -> None:
    mill.setenv(FEEDMILL_PUSH_PUBLIC_URL="https://mill.example")
    publisher.script("/feed", document(rss(item(1))))
    mill.ok("add", "--as-is", publisher.url("/feed"))

    assert mill.ok("push").text == "no hub was asked yet\n"
    assert mill.json("push", "show", publisher.url("/feed"))["subscriptions"] == []
    assert "announces a hub" in mill("push", "subscribe", publisher.url("/feed")).err
