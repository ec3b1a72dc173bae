"""What a document says of its feed, and which of several feeds are formats of one."""

from datetime import UTC, datetime

from tests.support.feed_documents import item, rss

from feedmill.engine.subscribe.same_feed import described, facts_of, group_formats
from feedmill.model.canonical import FeedFacts, FoundFeed, Seen
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.parse.document import parse_document

URL = "https://paper.example/rss"
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Paper</title><id>urn:x</id>
<link href="https://www.paper.example/"/><link rel="hub" href="https://hub.example/"/>
<entry><id>1</id><title>One</title><link href="https://paper.example/1"/><updated>2026-01-01T00:00:00Z</updated></entry>
<entry><id>2</id><title>Two</title><link href="https://paper.example/2"/><updated>2026-01-02T00:00:00Z</updated>
<content>A long text of the second entry.</content></entry></feed>"""


def read(text: str | bytes) -> FeedFacts:
    body = text.encode() if isinstance(text, str) else text
    parsed = parse_document(RawDocument(body=body, url=URL))
    assert isinstance(parsed, ParsedFeed)
    return facts_of(parsed)


def test_facts_are_the_newest_entries_first_whatever_the_order_of_the_document() -> None:
    facts = read(ATOM)

    assert (facts.title, facts.site, facts.has_hub) == ("Paper", "paper.example", True)
    assert facts.last_post == datetime(2026, 1, 2, tzinfo=UTC)
    assert facts.items == (("paper.example/2", "two"), ("paper.example/1", "one"))
    assert (facts.entries, facts.dated, facts.named) == (2, 2, 2)
    assert facts.text_chars == len("A long text of the second entry.")


def test_an_entry_without_link_and_date_is_known_by_its_title() -> None:
    facts = read(rss("<item><title>Alone</title></item>"))

    assert facts.items == (("alone None", "alone"),)
    assert (facts.dated, facts.last_post) == (0, None)


def test_files_of_entries_are_known_by_their_names() -> None:
    counted = "https://count.example/e/media.example/ep/1.mp3?source=feed"

    facts = read(
        rss(
            f'<item><guid>1</guid><link>https://paper.example/1</link><enclosure url="{counted}"/></item>'
        )
    )

    assert facts.files == (("paper.example/1", "1.mp3"),)
    assert read(ATOM).files == ()


def test_a_feed_that_was_seen_is_described_and_another_is_not() -> None:
    feed = FoundFeed(url=URL, found_by="link")
    seen = Seen(url=URL, final_url=URL, status=200, is_feed=True, facts=read(ATOM))

    told = described(feed, seen)

    assert (told.title, told.format, told.type, told.entries) == (
        "Paper", "Atom", "application/atom+xml", 2,
    )  # fmt: skip
    assert described(feed, None).is_fetched is False
    assert described(feed, Seen(url=URL, final_url=URL, status=404)).is_fetched is False
    assert described(feed, Seen(url=URL, final_url=URL, is_feed=True)).is_fetched is True


def test_formats_of_one_blog_become_one_feed_with_alternatives() -> None:
    short = rss(
        item(2, title="Two", link="https://paper.example/2", text="Short."),
        item(1, title="One", link="https://paper.example/1", text="."),
    )
    names = ("rss", "atom", "sport", "unseen")
    feeds = [FoundFeed(url=f"https://paper.example/{name}", found_by="link") for name in names]
    sport = rss("<item><title>Goal</title><link>https://paper.example/goal</link></item>")
    facts = {feeds[0].url: read(short), feeds[1].url: read(ATOM), feeds[2].url: read(sport)}

    grouped = group_formats(feeds, facts)

    assert [feed.url for feed in grouped] == [feeds[1].url, feeds[2].url, feeds[3].url]
    assert grouped[0].alternatives == (feeds[0].url,)
    assert grouped[0].chosen_for == "full texts"
