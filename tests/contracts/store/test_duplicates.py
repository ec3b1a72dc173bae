"""Duplicates: entries of other feeds that carry the same article."""

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import HOUR, NOON, an_entry, new_feed, poll

from feedmill.engine.ports.store import Store
from feedmill.model.page import EntryFilter


def test_entries_of_one_article_name_each_other(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in (1, 2, 3):
            feed, _ = await store.add_feed(new_feed(number))
            await poll(
                store, feed, number, [an_entry("shared"), an_entry(f"own {number}")], at=NOON
            )
        found = (await store.entries(EntryFilter())).items
        shared = [one for one in found if one.title == an_entry("shared").title]

        for one in shared:
            others = await store.duplicates(one.entry_uid)
            assert {other.entry_uid for other in others} == {
                other.entry_uid for other in shared if other is not one
            }
        alone = next(one for one in found if one.title == an_entry("own 1").title)
        assert await store.duplicates(alone.entry_uid) == ()
        assert await store.duplicates("nothing") == ()

        articles = (await store.article_page()).items
        counts = await store.count_duplicates([one.article_hash for one in articles])
        assert [counts[one.article_hash] for one in articles if one.article_hash in counts] == [2]

    tell(story)


def test_a_list_shows_an_article_once_the_first_entry_of_those_it_lists(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in (1, 2, 3):
            feed, _ = await store.add_feed(new_feed(number))
            entries = [an_entry("shared"), an_entry(f"own {number}")]
            await poll(store, feed, number, entries, at=NOON + HOUR * number)
        whole = (await store.entries(EntryFilter(ascending=True))).items
        first, second, third = (one for one in whole if one.title == an_entry("shared").title)

        assert [one.duplicate_of for one in (first, second, third)] == [
            None,
            first.entry_uid,
            first.entry_uid,
        ]
        assert first.article_id == second.article_id == third.article_id == first.article_hash
        assert len({one.article_id for one in whole}) == 4
        shown = (await store.entries(EntryFilter(duplicates="hide"))).items
        assert [one.entry_uid for one in shown if one.title == first.title] == [first.entry_uid]
        assert len(shown) == 4
        # What another feed showed first is nothing to a reader who did not ask for that feed.
        later = EntryFilter(feed_ids=(second.feed_id, third.feed_id), duplicates="hide")
        shown = (await store.entries(later)).items
        assert [one.entry_uid for one in shown if one.title == first.title] == [second.entry_uid]
        alone = EntryFilter(feed_id=third.feed_id, duplicates="hide", text="shared")
        assert [one.entry_uid for one in (await store.entries(alone)).items] == [third.entry_uid]
        # Asked for news, a list does not repeat what it showed before.
        news = EntryFilter(since=third.first_seen, duplicates="hide")
        assert [one.title for one in (await store.entries(news)).items] == ["About own 3"]
        texts = await store.entry_texts(EntryFilter(duplicates="hide"))
        assert len(texts.items) == 4

    tell(story)


def test_within_one_feed_an_article_with_two_guids_and_addresses_is_shown_once(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed())
        link = f"{an_entry('a').link}?from=home"
        again = replace(an_entry("a"), guid="again", link=link, canonical_link=link)
        await poll(store, feed, 1, [an_entry("a"), again, an_entry("c")], at=NOON)

        shown = (await store.entries(EntryFilter(duplicates="hide"))).items
        every = (await store.entries(EntryFilter())).items

        assert (len(shown), len(every)) == (2, 3)
        (other,) = (one for one in every if one.duplicate_of is not None)
        assert other.duplicate_of in {one.entry_uid for one in shown}

    tell(story)


def test_when_the_first_entry_of_an_article_is_removed_the_next_is_shown(tell: Tell) -> None:
    async def story(store: Store) -> None:
        one, _ = await store.add_feed(new_feed(1))
        two, _ = await store.add_feed(new_feed(2))
        one = await poll(store, one, 1, [an_entry("shared")], at=NOON)
        await poll(store, two, 2, [an_entry("shared")], at=NOON + HOUR)
        await store.remove_feed(one.id, ())

        (shown,) = (await store.entries(EntryFilter(duplicates="hide"))).items

        assert (shown.feed_id, shown.duplicate_of) == (two.id, None)

    tell(story)
