"""Learns how often a feed publishes from what a poll shows: the state that the schedule carries."""
# Tested in tests/integration/engine/poll/

from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.documents.read_document import ComparedDocument, NotAFeed
from feedmill.engine.poll.fetch_record import Reading
from feedmill.engine.run.services import Services
from feedmill.model.feed import Feed
from feedmill.model.fetch import Fresh, Unchanged
from feedmill.model.schedule import ScheduleState
from feedmill.schedule.decide import learn_entries, learn_stored

_STORED_ARRIVALS: Final = 2_000  # entries of a feed that its pace is learnt from


async def learn_pace(
    feed: Feed, answer: Answer, reading: Reading, services: Services
) -> tuple[ScheduleState, tuple[float, ...]]:
    """The schedule's state with what the answer shows of the feed's pace, and when entries came out.

    A feed that was polled before this was remembered is learnt from what is stored of it, once.
    """
    state, config = feed.schedule, services.config.schedule
    if not isinstance(answer.verdict, Fresh | Unchanged) or isinstance(reading, NotAFeed):
        return state, ()
    known: tuple[float, ...] = ()
    if state.arrivals is None and feed.last_success_at is not None:
        stored = await services.store.stored_arrivals(feed.id, _STORED_ARRIVALS)
        window = feed.new_entries_last_fetch
        state, known = learn_stored(state, stored, now=answer.at, window=window, config=config)
    if not isinstance(reading, ComparedDocument):
        return state, known
    if state.arrivals is not None and not reading.new_dates:
        if state.arrivals.window != reading.seen:
            state = replace(state, arrivals=replace(state.arrivals, window=reading.seen))
        return state, known
    state, new = learn_entries(
        state,
        reading.new_dates,
        previous_at=feed.last_success_at,
        now=answer.at,
        window=reading.seen,
        config=config,
    )
    return state, known + new
