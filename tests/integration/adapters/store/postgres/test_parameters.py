"""What strangers write and PostgreSQL cannot hold, or not in an index: kept as well as it can be."""

from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import asdict, replace
from tests.support.sample_refreshes import HOUR, NOON, a_refresh, an_entry, new_feed, poll, read

from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.model.entry import Author, Entry, EntryEnclosure
from feedmill.model.event import NewEvent
from feedmill.model.fetch import Hop, Validators
from feedmill.model.identity import IdentityKey, Removed
from feedmill.model.page import EntryFilter

T = TypeVar("T")

NUL, HALF = "\x00", "\ud83d"  # the second is the first half of a pair
MARK = "\ue000"  # stands for one of them


def odd_entry(odd: str, text: str) -> Entry:
    """An entry with the character in every text of it."""
    plain = an_entry("a", text)
    return replace(
        plain,
        guid=f"guid{odd}1",
        link=f"https://blog.example/{odd}",
        canonical_link=f"https://blog.example/{odd}",
        article_link=f"https://blog.example/{odd}",
        title=f"title{odd}",
        summary=f"{text}{odd}",
        content=f"<p>{text}{odd}</p>",
        categories=("plain", f"category{odd}"),
        authors=(Author(name=f"author{odd}"),),
        enclosures=(EntryEnclosure(url=f"https://blog.example/{odd}.mp3"),),
        language=f"en{odd}",
        image=f"https://blog.example/{odd}.png",
        comments_url=f"https://blog.example/{odd}#comments",
    )


def with_odd(value: T, odd: str) -> T:
    """The value with the character instead of the mark, however deep."""
    made: Any = value
    if isinstance(value, str):
        made = value.replace(MARK, odd)
    elif isinstance(value, tuple):
        made = tuple(with_odd(one, odd) for one in value)
    elif isinstance(value, msgspec.Struct):
        made = replace(value, **{name: with_odd(one, odd) for name, one in asdict(value).items()})
    return made  # type: ignore[no-any-return]  # of the same type


@pytest.mark.parametrize("odd", [NUL, HALF], ids=["nul", "half-a-pair"])
async def test_a_character_that_cannot_be_stored_costs_itself_and_nothing_else(
    emptied_dsn: str, odd: str
) -> None:
    store = await PostgresStore.open(emptied_dsn)
    feed, _ = await store.add_feed(new_feed())
    # Half a pair has no bytes to hash, so it is put in when identity has done its work.
    made = odd_entry(MARK, "first")
    changes = with_odd(await read(store, feed, [made, an_entry("plain")]), odd)
    plain = a_refresh(feed, 1, at=NOON, changes=changes)
    odd_state = replace(
        plain.feed,
        title=f"feed{odd}",
        last_detail=f"detail{odd}",
        validators=Validators(etag=f'"{odd}"', last_modified=odd, url=feed.url),
        hubs=(f"https://hub.example/{odd}",),
        ignored_guids=(odd,),
    )
    odd_fetch = replace(
        plain.fetch,
        detail=f"detail{odd}",
        response_headers=((f"X-{odd}", odd), *plain.fetch.response_headers),
        hops=(Hop(url=feed.url, status=301, location=odd),),
        content_type=f"text/xml{odd}",
    )
    told = NewEvent(
        type="feed.state", feed_id=feed.id, occurred_at=NOON, data={f"k{odd}": [f"v{odd}"]}
    )
    refresh = replace(
        plain,
        feed=odd_state,
        fetch=odd_fetch,
        events=(*plain.events, told),
        aliases=(f"https://alias.example/{odd}",),
    )

    done = await store.commit(refresh)

    assert not done.duplicate
    kept = await store.feed(feed.id)
    assert kept is not None
    assert (kept.title, kept.last_detail) == ("feed\ufffd", "detail\ufffd")
    assert kept.hubs == ("https://hub.example/\ufffd",)
    (fetch,) = (await store.fetches(feed.id)).items
    assert (fetch.detail, fetch.response_headers[0]) == ("detail\ufffd", ("X-\ufffd", "\ufffd"))
    assert "https://alias.example/\ufffd" in await store.aliases(feed.id)
    events = await store.events(after=0)
    assert events[-1].data == {"k\ufffd": ["v\ufffd"]}
    assert len(events) == 3
    by_guid = {one.guid: one for one in (await store.entries(EntryFilter())).items}
    entry = by_guid["guid\ufffd1"]
    assert (entry.title, entry.summary) == ("title\ufffd", "first\ufffd")
    assert (entry.content, entry.language) == ("<p>first\ufffd</p>", "en\ufffd")
    assert entry.categories == ("plain", "category\ufffd")
    assert entry.enclosures[0].url == "https://blog.example/\ufffd.mp3"
    assert len(by_guid) == 2
    assert await store.problems() == ()
    await store.close()


async def test_an_entry_with_a_nul_in_every_text_is_kept_known_and_revised(
    emptied_dsn: str,
) -> None:
    store = await PostgresStore.open(emptied_dsn)
    feed, _ = await store.add_feed(new_feed())
    feed = await poll(store, feed, 1, [odd_entry(NUL, "first"), an_entry("b")], at=NOON)

    same = await read(store, feed, [odd_entry(NUL, "first"), an_entry("b")])
    changed = await read(store, feed, [odd_entry(NUL, "second"), an_entry("b")])
    await store.commit(a_refresh(feed, 2, at=NOON + HOUR, changes=changed))

    assert (same.summary.added, same.summary.touched) == (0, 2)
    assert (changed.summary.added, changed.summary.revised) == (0, 1)
    page = await store.entries(EntryFilter(category="category\ufffd"))
    (entry,) = page.items
    assert (entry.guid, entry.title, entry.summary) == (
        "guid\ufffd1",
        "title\ufffd",
        "second\ufffd",
    )
    assert entry.categories == ("plain", "category\ufffd")
    assert entry.authors == (Author(name="author\ufffd"),)
    assert (await store.counts())["entries"] == 2
    assert await store.problems() == ()
    await store.close()


async def test_a_key_is_found_by_the_name_that_who_asks_has_for_it(emptied_dsn: str) -> None:
    store = await PostgresStore.open(emptied_dsn)
    feed, _ = await store.add_feed(new_feed())
    await poll(store, feed, 1, [odd_entry(NUL, "first")], at=NOON)
    (row,) = await store.current_document(feed.id)
    stored = next(key.value for key in row.keys if key.type == "guid")
    asked = IdentityKey(type="guid", value=stored.replace("\ufffd", NUL))

    (known,) = await store.known(feed.id, [asked], ())

    assert asked in known.keys
    assert known.entry_id == row.entry_id
    await store.close()


async def test_a_comment_on_a_removal_may_hold_anything(emptied_dsn: str) -> None:
    store = await PostgresStore.open(emptied_dsn)
    feed, _ = await store.add_feed(new_feed())
    feed = await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
    row = (await store.current_document(feed.id))[0]
    changes = await read(store, feed, [an_entry("b")])
    gone = Removed(known=row, reason="tombstone", comment=f"{NUL}{HALF}")
    refresh = a_refresh(feed, 2, at=NOON + HOUR, changes=changes)

    await store.commit(replace(refresh, removed=(gone,)))

    removed = await store.entry(row.entry_uid)
    assert removed is not None
    assert removed.removed_at == NOON + HOUR
    await store.close()


async def test_guids_and_addresses_of_ten_thousand_characters_are_unique_like_short_ones(
    emptied_dsn: str,
) -> None:
    store = await PostgresStore.open(emptied_dsn)
    feed, _ = await store.add_feed(new_feed())
    # No repetition: what compresses well would fit into an index after all.
    noise = "".join(f"{number * 7_919 % 99_991:05d}" for number in range(2_000))
    long = [
        replace(
            an_entry(name),
            guid=f"{noise}{name}",
            link=f"https://blog.example/{noise}{name}",
            canonical_link=f"https://blog.example/{noise}{name}",
            categories=(f"{noise}{name}",),
        )
        for name in "ab"
    ]
    aliases = tuple(f"https://alias.example/{noise}{name}" for name in "ab")

    changes = await read(store, feed, long)
    refresh = a_refresh(feed, 1, at=NOON, changes=changes)
    await store.commit(replace(refresh, aliases=aliases))
    again = await read(store, feed, [replace(one, slice=None) for one in long])

    assert (changes.summary.added, again.summary.added) == (2, 0)
    found = await store.find_feed([aliases[1]])
    assert found is not None
    assert found.id == feed.id
    assert await store.find_feed([f"{aliases[1]}c"]) is None
    assert await store.problems() == ()
    await store.close()
