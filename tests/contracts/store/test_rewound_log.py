"""A log that went back says so, once, with a number that no reader has seen."""

from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, new_feed

from feedmill.engine.deliver.read_log import tell_if_rewound
from feedmill.engine.ports.entries import NewestEvent
from feedmill.engine.ports.store import Store
from feedmill.publish.events import REWOUND_LEAP, event_of_new_feed


async def add(store: Store, *numbers: int) -> None:
    for number in numbers:
        new = new_feed(number)
        await store.add_feed(new, [event_of_new_feed(new)])
        await store.last_seq()  # on PostgreSQL, it gets its number


def test_log_that_has_what_was_told_says_nothing(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await add(store, 1, 2, 3)
        second = (await store.events(after=1, limit=1))[0]

        for told in (None, NewestEvent(seq=0), NewestEvent(seq=2, id=second.id)):
            assert not await tell_if_rewound(store, told, NOON)
        assert not await tell_if_rewound(store, NewestEvent(seq=2), NOON)

        assert await store.last_seq() == 3

    tell(story)


def test_log_that_is_shorter_than_what_was_told_leaps_and_says_so_once(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await add(store, 1, 2, 3)
        told = NewestEvent(seq=7, id="an event of before")

        assert await tell_if_rewound(store, told, NOON)
        assert not await tell_if_rewound(store, told, NOON)
        assert not await store.append_rewound(told, NOON)
        await add(store, 4)

        rewound, after = await store.events(after=3)
        assert (rewound.seq, rewound.type, rewound.feed_id) == (7 + REWOUND_LEAP, "log.rewound", "")
        assert rewound.data == {"delivered_seq": 7, "log_ended_at": 3}
        assert (after.seq, after.type) == (rewound.seq + 1, "feed.added")
        assert await store.events(after=5) == (rewound, after)  # whoever had read further
        assert await store.last_seq() == after.seq
        assert await store.problems() == ()

    tell(story)


def test_log_with_another_event_under_a_told_number_says_so_once(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await add(store, 1, 2, 3)
        told = NewestEvent(seq=2, id="another event")

        assert await tell_if_rewound(store, told, NOON)
        assert not await tell_if_rewound(store, told, NOON)

        (rewound,) = await store.events(after=3)
        assert (rewound.seq, rewound.type) == (3 + REWOUND_LEAP, "log.rewound")

    tell(story)
