"""`feedmill discover` lists feeds and what was tried; rules of a user's own are used."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_line import Mill, PublisherBeside
from tests.support.subscribe_harness import feed_document, page

from feedmill_demo.server.script import Answer, document
from feedmill_demo.server.server import Publisher


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    """A publisher of the test's own: the usual addresses of others must not answer."""
    with PublisherBeside() as beside:
        yield beside.publisher


def test_feeds_are_listed_with_what_they_are_and_nothing_is_subscribed(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/", page({"href": "/a", "title": "News"}, {"href": "/b"}, {"href": "/dead"}))
    publisher.script("/a", feed_document(1, 2, title="A"))
    publisher.script("/b", feed_document(7, 8, 9, title="B"))

    said = mill.ok("discover", publisher.url("/"))
    found = mill.ok("discover", publisher.url("/"), "--json").json

    assert "News" in said.text
    assert "2 feeds found" in said.text
    assert [(one["title"], one["format"], one["entries"]) for one in found["feeds"]] == [
        ("News", "RSS", 2),
        ("B", "RSS", 3),
    ]
    assert {one["verdict"] for one in found["tried"]} >= {"a feed", "not-found"}
    assert found["requests"] == 5  # the page, its robots.txt and three feeds
    assert mill.json("list")["items"] == []


def test_a_page_without_feeds_says_what_was_tried_and_why_it_ended(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/", page())
    publisher.script("/feed", Answer(status=404))  # other tests of the session have a feed there

    told = mill("discover", publisher.url("/"), "--budget", "3", "--tried")
    added = mill("add", publisher.url("/"), "--budget", "3")

    assert told.status == added.status == 1
    assert "no feed was found within 3 requests; 8 more addresses were not tried" in told.text
    assert "/feed.json" in told.text
    assert "--budget 11" in added.err
    assert (
        "no feed was found on it or at the usual addresses (12 tried)"
        in mill("discover", publisher.url("/")).text
    )


def test_an_opml_list_leads_to_its_feeds(mill: Mill, publisher: Publisher) -> None:
    outline = '<outline text="One" xmlUrl="https://one.example/feed"/>'
    body = f'<opml version="2.0"><body>{outline}</body></opml>'.encode()
    answer = document(body, "text/x-opml")
    publisher.script("/list.opml", answer)

    found = mill.ok("discover", publisher.url("/list.opml"), "--json").json

    assert [(one["url"], one["found_by"]) for one in found["feeds"]] == [
        ("https://one.example/feed", "list")
    ]


def test_rules_of_a_user_are_used_and_their_mistakes_are_named(
    mill: Mill, publisher: Publisher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    publisher.script("/room/7", page())
    publisher.script("/export/7", feed_document(1, 2))
    rules = tmp_path / "rules.toml"
    rules.write_text(
        "[[rule]]\nname = 'room'\npath = '/room/(?P<n>\\d+)'\nfeeds = ['{origin}/export/{n}']\n"
    )
    monkeypatch.setenv("FEEDMILL_DISCOVERY_RULES_FILE", str(rules))

    added = mill.ok("add", publisher.url("/room/7"))
    rules.write_text("[[rule]]\nname = 'room'\nfeeds = ['{n}']\n")
    broken = mill("add", publisher.url("/room/8"))
    monkeypatch.setenv("FEEDMILL_DISCOVERY_RULES_FILE", str(tmp_path / "nowhere.toml"))
    missing = mill("list")

    assert publisher.url("/export/7") in added.text
    assert "no pattern has a group called 'n'" in broken.err
    assert "cannot be read" in missing.err


def test_a_rule_to_a_private_address_is_refused_by_the_guard(
    mill: Mill, publisher: Publisher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    publisher.script("/room/7", page({"href": "/export"}))
    publisher.script("/export", feed_document(1, 2))
    targets = ("http://169.254.169.254/latest", "http://[fd00::1]/{n}", "http://10.0.0.{n}/feed")
    rules = tmp_path / "rules.toml"
    rules.write_text(
        f"[[rule]]\nname = 'room'\npath = '/room/(?P<n>\\d+)'\nfeeds = {list(targets)}\n"
        "[[handle]]\nname = 'inside'\npattern = 'inside:(?P<host>.+)'\npage = 'http://{host}/'\n"
    )
    monkeypatch.setenv("FEEDMILL_DISCOVERY_RULES_FILE", str(rules))

    added = mill.ok("add", publisher.url("/room/7"))
    inside = mill("add", "inside:10.0.0.1", "--json")

    assert publisher.url("/export") in added.text  # what the page declares
    assert inside.error["code"] == "private-address"


def test_formats_of_one_blog_are_one_subscription_by_every_address(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/", page({"href": "/paper1"}, {"href": "/paper2", "title": "Paper RSS"}))
    publisher.script("/paper1", feed_document(1, 2, 3))
    publisher.script("/paper2", feed_document(1, 2, 3, 4))

    said = mill.ok("add", publisher.url("/"))
    again = [mill.ok("add", publisher.url(path)) for path in ("/paper1", "/paper2")]

    assert "chosen of 2 formats" in said.text
    assert all(one.text.startswith("already subscribed") for one in again)
    assert len(mill.json("list")["items"]) == 1


@pytest.mark.parametrize("handle", ["@ada", "ada/engine"])
def test_a_handle_that_names_no_platform_is_refused_with_a_way_out(mill: Mill, handle: str) -> None:
    told = mill("add", handle)

    assert told.status == 2
    assert "this is not a web address" in told.err
