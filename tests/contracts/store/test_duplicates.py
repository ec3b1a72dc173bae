"""Duplicates: entries of other feeds that carry the same article."""

from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll

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
