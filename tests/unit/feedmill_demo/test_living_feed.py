"""Living feeds publish, edit, withdraw, re-key and move, the same way every time."""

from datetime import timedelta
from typing import get_args

import pytest

from feedmill.api import parse
from feedmill.model.parsed import ParsedFeed
from feedmill_demo.edition import DateStyle, DemoFormat, GuidStyle, Style
from feedmill_demo.living_feed import CONTENT_TYPES, EPOCH, LivingFeed
from feedmill_demo.prose import PROSE, Language, headline

HOME = "http://127.0.0.1:8080/garden/"
KINDS: tuple[DemoFormat, ...] = get_args(DemoFormat)


def feed_of(
    kind: DemoFormat = "rss20", language: Language = "en", style: Style | None = None
) -> LivingFeed:
    feed = LivingFeed(kind, seed="garden", home=HOME, language=language, style=style)
    feed.publish(3)
    return feed


def read(feed: LivingFeed) -> ParsedFeed:
    parsed = parse(feed.body(), url=feed.address, content_type=feed.content_type)
    assert isinstance(parsed, ParsedFeed)
    return parsed


def ids_of(feed: LivingFeed) -> tuple[str | None, ...]:
    return tuple(entry.id for entry in read(feed).entries)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", list(PROSE))
def test_every_format_in_every_language_reads_without_a_repair(
    kind: DemoFormat, language: Language
) -> None:
    feed = feed_of(kind, language)

    parsed = read(feed)

    assert parsed.format == kind
    assert parsed.repairs == ()
    assert [entry.title.value for entry in parsed.entries if entry.title] == [
        article.title for article in feed.articles
    ]
    assert [entry.link for entry in parsed.entries] == [a.link for a in feed.articles]
    assert {entry.authors[0].name for entry in parsed.entries} == {a.author for a in feed.articles}


def test_the_same_seed_gives_the_same_octets_and_another_seed_others() -> None:
    other = LivingFeed(seed="harbour", home=HOME)
    other.publish(3)

    assert feed_of().body() == feed_of().body()
    assert feed_of().body() != other.body()


def test_new_articles_stand_on_top_and_the_oldest_fall_out() -> None:
    feed = LivingFeed(seed="garden", home=HOME, window=3)

    feed.publish(5)

    assert [article.number for article in feed.articles] == [4, 3, 2]
    assert feed.articles[0].published_at - feed.articles[1].published_at == timedelta(hours=1)


def test_an_article_is_dated_by_the_time_that_is_given() -> None:
    feed = LivingFeed(seed="garden", home=HOME)

    (article,) = feed.publish(at=EPOCH + timedelta(days=3))

    assert article.published_at == feed.changed_at == EPOCH + timedelta(days=3)


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_changes_the_text_and_keeps_the_identity(kind: DemoFormat) -> None:
    feed = feed_of(kind)
    before, ids = feed.articles[1], ids_of(feed)

    after = feed.edit(before)

    assert ids_of(feed) == ids
    assert (after.title, after.link, after.published_at) == (
        before.title,
        before.link,
        before.published_at,
    )
    assert after.summary != before.summary
    assert after.updated_at > before.updated_at
    assert feed.articles[1] == after


def test_a_withdrawn_article_leaves_a_tombstone_in_atom() -> None:
    feed = feed_of("atom10")
    article = feed.articles[-1]

    gone = feed.withdraw(article)

    parsed = read(feed)
    assert [stone.ref for stone in parsed.tombstones] == [gone.guid] == [feed.guid(article)]
    assert len(parsed.entries) == 2


@pytest.mark.parametrize("ids", get_args(GuidStyle))
def test_a_rekeyed_feed_has_the_same_articles_under_other_guids(ids: GuidStyle) -> None:
    feed = feed_of(style=Style(ids=ids))
    before = read(feed)

    feed.rekey()

    after = read(feed)
    assert [entry.link for entry in after.entries] == [entry.link for entry in before.entries]
    assert not {entry.id for entry in after.entries} & {entry.id for entry in before.entries}


def test_an_article_without_a_guid_is_withdrawn_by_its_link() -> None:
    feed = feed_of(style=Style(ids="none"))

    assert feed.withdraw(feed.articles[0]).guid == feed.home + "2"


def test_a_feed_that_moved_names_its_new_address() -> None:
    feed = feed_of()
    version = feed.version

    feed.move("http://127.0.0.1:8080/elsewhere/feed")

    assert read(feed).self_url == "http://127.0.0.1:8080/elsewhere/feed"
    assert feed.version > version


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dates", get_args(DateStyle))
def test_dates_are_there_missing_or_far_ahead(kind: DemoFormat, dates: DateStyle) -> None:
    entries = read(feed_of(kind, style=Style(dates=dates))).entries

    assert all((entry.published is None) == (dates == "none") for entry in entries)
    assert all("2027" in (entry.published or "") for entry in entries) == (dates == "future")


def test_a_json_item_without_a_guid_is_known_by_its_link() -> None:
    feed = feed_of("json11", style=Style(ids="none"))

    assert ids_of(feed) == tuple(article.link for article in feed.articles)


@pytest.mark.parametrize("kind", ["atom10", "rss20"])
def test_an_entry_may_come_without_a_guid(kind: DemoFormat) -> None:
    assert set(ids_of(feed_of(kind, style=Style(ids="none")))) == {None}


@pytest.mark.parametrize("kind", KINDS)
def test_content_types_are_those_of_the_format(kind: DemoFormat) -> None:
    assert feed_of(kind).content_type == f"{CONTENT_TYPES[kind]}; charset=utf-8"
    assert feed_of(kind, style=Style(encoding="gbk")).content_type == CONTENT_TYPES[kind]


@pytest.mark.parametrize("language", list(PROSE))
def test_no_two_headlines_of_a_feed_are_the_same(language: Language) -> None:
    assert len({headline(language, "garden", number) for number in range(500)}) == 500
