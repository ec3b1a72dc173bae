"""Two answers are one feed when what lasts of them is the same, whatever the server stamped on them.

Formats of one blog are told from parts of it, comments and other blogs; the best one is taken.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from feedmill import parse
from feedmill.canonicalise.same_feed import (
    best_format,
    body_digest,
    feed_signature,
    format_name,
    same_blog,
    same_feed,
)
from feedmill.model.canonical import FeedFacts, Proof, Seen
from feedmill.model.parsed import FeedFormat, ParsedEntry, ParsedFeed

FEED = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>{title}</title><id>urn:paper</id>
<updated>{updated}</updated><generator version="{version}">Press</generator>
<link rel="self" href="{site}/feed"/><link href="{site}/"/>
{entries}</feed>"""
FILES = (("paper.example/2", "2.mp3"), ("paper.example/1", "1.mp3"))
ENTRY = """<entry><id>urn:1</id><title>One</title><updated>2025-01-01T00:00:00Z</updated>
<link href="{site}/1"/><summary>{summary}</summary></entry>"""
DEFAULTS = {
    "title": "Paper",
    "updated": "2025-01-02T00:00:00Z",
    "version": "1",
    "site": "https://paper.example",
    "summary": "s",
}


def seen(url: str = "https://paper.example/feed", *, empty: bool = False, **facts: str) -> Seen:
    """An answer with a document in which these facts stand."""
    told = DEFAULTS | facts
    entries = "" if empty else ENTRY.format(**told)
    body = FEED.format(entries=entries, **told).encode()
    feed = parse(body, url=url)
    assert isinstance(feed, ParsedFeed)
    return Seen(
        url=url,
        final_url=url,
        status=200,
        is_feed=True,
        digest=body_digest(body),
        signature=feed_signature(feed),
    )


@pytest.mark.parametrize(
    ("other", "proof"),
    [
        pytest.param(seen(), "content", id="the same bytes"),
        pytest.param(seen(updated="2025-03-03T00:00:00Z"), "signature", id="stamped with the time"),
        pytest.param(seen(version="2"), "signature", id="by another version of the press"),
        pytest.param(
            seen("http://www.paper.example/feed", site="http://www.paper.example"),
            "signature",
            id="linking to itself as it was asked for",
        ),
        pytest.param(seen(title="Other"), None, id="another title"),
        pytest.param(seen(summary="t"), None, id="another text"),
        pytest.param(seen(empty=True), None, id="no entries"),
    ],
)
def test_the_same_feed_is_known_through_what_changes_with_every_answer(
    other: Seen, proof: Proof | None
) -> None:
    assert same_feed(seen(), other) == proof
    assert same_feed(other, seen()) == proof


def test_feeds_without_entries_are_compared_on_one_host_only() -> None:
    here = seen(empty=True)
    again = seen("https://www.paper.example/rss", empty=True, version="2")
    elsewhere = seen("https://other.example/feed", empty=True, version="2")

    assert same_feed(here, again) == "signature"
    assert same_feed(here, elsewhere) is None


def test_without_a_signature_only_the_bytes_count() -> None:
    one = Seen(url="https://a.example/", final_url="https://a.example/", is_feed=True, digest="1")
    other = Seen(url="https://b.example/", final_url="https://b.example/", is_feed=True, digest="2")

    assert same_feed(one, other) is None


def test_what_is_no_feed_is_the_same_as_nothing() -> None:
    page = Seen(url="https://a.example/", final_url="https://a.example/", digest="1")

    assert same_feed(page, page) is None


def test_feeds_without_entries_at_no_address_share_a_host_with_each_other_only() -> None:
    nowhere = seen(empty=True)
    one = Seen(url="", final_url="", is_feed=True, digest="1", signature=nowhere.signature)

    assert same_feed(one, nowhere) is None


def test_what_is_too_long_to_compare_in_a_moment_is_proven_by_its_bytes_alone() -> None:
    long = "x" * 2_000_001
    feed = parse(f"<rss><channel><item><title>{long}</title></item></channel></rss>")
    assert isinstance(feed, ParsedFeed)

    assert feed_signature(feed) == ""


@pytest.mark.parametrize("form", ["json10", "json11", "rss090", "rss10"])
def test_an_id_that_is_only_the_address_it_was_asked_by_does_not_count(form: FeedFormat) -> None:
    entries = (ParsedEntry(id="1"),)
    one = ParsedFeed(
        format=form,
        encoding="utf-8",
        encoding_source="utf-8",
        id="https://a.example/feed",
        entries=entries,
    )
    other = ParsedFeed(
        format=form,
        encoding="utf-8",
        encoding_source="utf-8",
        id="https://mirror.example/rss",
        entries=entries,
    )

    assert feed_signature(one) == feed_signature(other)


def test_an_atom_id_counts_unless_it_is_the_self_url() -> None:
    def atom(feed_id: str) -> ParsedFeed:
        entries = (ParsedEntry(id="1"),)
        return ParsedFeed(
            format="atom10",
            encoding="utf-8",
            encoding_source="utf-8",
            id=feed_id,
            self_url="https://a.example/",
            entries=entries,
        )

    assert feed_signature(atom("urn:1")) != feed_signature(atom("urn:2"))
    assert feed_signature(atom("urn:1")) != feed_signature(atom("https://a.example/"))


def blog(
    *numbers: int, form: FeedFormat = "rss20", title: str = "Paper", **more: object
) -> FeedFacts:
    items = tuple((f"paper.example/{number}", f"entry {number}") for number in numbers)
    facts = FeedFacts(
        format=form, title=title, site="paper.example", entries=len(items), items=items,
        dated=len(items), named=len(items), text_chars=100 * len(items),
    )  # fmt: skip
    return replace(facts, **more)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(blog(3, 2, 1), blog(3, 2, 1, form="atom10", title="Paper (Atom)"), id="formats"),
        pytest.param(blog(9, 8, 7), blog(9, 8, 7, 6, 5, 4, 3), id="one is longer"),
        pytest.param(blog(9, 8, 7), blog(8, 7, 6), id="one is cached"),
        pytest.param(blog(1), blog(1, site=""), id="one entry, one home page"),
        pytest.param(blog(2, 1), blog(2, 1, items=(("paper.example/2", ""), ("paper.example/1", ""))), id="no titles"),
        pytest.param(blog(2, 1, files=FILES), blog(2, 1, files=(FILES[0], ("paper.example/1", "b.mp3"))), id="a file was replaced"),
        pytest.param(blog(2, 1, files=FILES), blog(2, 1), id="files in one format only"),
    ],
)  # fmt: skip
def test_one_blog_in_two_formats_is_one_feed(one: FeedFacts, other: FeedFacts) -> None:
    assert same_blog(one, other)
    assert same_blog(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(blog(9, 8, 7, 6, 5), blog(9, 7, 5), id="a category"),
        pytest.param(blog(9, 8, 7), blog(9, 8, 7, title="Paper: cats"), id="another title"),
        pytest.param(blog(9, 8, 7), blog(9, 8, 7, site="other.example"), id="another site"),
        pytest.param(blog(9, 8, 7), blog(3, 2, 1), id="no common entry"),
        pytest.param(blog(9, 8, 7, 6, 5, 4), blog(5, 4, 3), id="too far behind"),
        pytest.param(blog(2, 1), blog(2, 1, items=(("paper.example/2", "By: A"), ("paper.example/1", "By: B"))), id="comments"),
        pytest.param(blog(2, 1, files=FILES), blog(2, 1, files=tuple((key, "1.mp4") for key, _ in FILES)), id="other files"),
        pytest.param(blog(), blog(), id="nothing to compare"),
        pytest.param(blog(4, 3, 2, 1, 0), blog(7, 4, 3, 6), id="both go on otherwise"),
    ],
)  # fmt: skip
def test_other_feeds_are_not_taken_for_one(one: FeedFacts, other: FeedFacts) -> None:
    assert not same_blog(one, other)
    assert not same_blog(other, one)


@given(
    st.lists(st.integers(0, 50), max_size=8, unique=True),
    st.lists(st.integers(0, 50), max_size=8, unique=True),
)
def test_being_one_blog_does_not_depend_on_the_order_of_the_question(
    one: list[int], other: list[int]
) -> None:
    assert same_blog(blog(*one), blog(*other)) == same_blog(blog(*other), blog(*one))


SHORT = blog(2, 1, form="atom10", text_chars=50)


@pytest.mark.parametrize(
    ("formats", "best", "why"),
    [
        ([blog(1)], 0, ""),
        ([SHORT, blog(2, 1, text_chars=900)], 1, "full texts"),
        ([blog(2, 1, form="atom10", dated=1), blog(2, 1)], 1, "dates"),
        ([blog(2, 1, form="atom10", named=0), blog(2, 1)], 1, "ids"),
        ([blog(2, 1, form="atom10"), blog(2, 1, has_hub=True)], 1, "a hub that reports new entries"),
        ([blog(2, 1, form="json11"), blog(2, 1), blog(2, 1, form="atom10")], 2, "the richer format"),
        ([blog(2, 1, form="rss092"), blog(2, 1, form="rss091")], 0, "the first one that the page names"),
    ],
)  # fmt: skip
def test_the_best_format_is_taken_by_the_first_rule_that_tells_them_apart(
    formats: list[FeedFacts], best: int, why: str
) -> None:
    assert best_format(formats) == (best, why)


@pytest.mark.parametrize(
    ("form", "name"), [("atom10", "Atom"), ("json11", "JSON Feed"), ("rss092", "RSS")]
)
def test_a_format_has_the_name_that_people_use(form: str, name: str) -> None:
    assert format_name(form) == name
