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
from feedmill.schedule.arrivals import event_times
from feedmill.schedule.decide import learn_stored, learn_times

_STORED_ARRIVALS: Final = 2_000  # entries of a feed that its pace is learnt from
_PUSHED_ARRIVALS: Final = 200  # of them, those that pings brought since the last poll


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
    pushed = () if known else await _pushed_times(feed, services)
    if not isinstance(reading, ComparedDocument):
        window = state.arrivals.window if state.arrivals else 0
        state = (
            learn_times(state, pushed, now=answer.at, window=window, config=config)
            if pushed
            else state
        )
        return state, known + pushed
    if state.arrivals is not None and not reading.new_dates and not pushed:
        if state.arrivals.window != reading.seen:
            state = replace(state, arrivals=replace(state.arrivals, window=reading.seen))
        return state, known
    found = event_times(reading.new_dates, previous_at=feed.last_success_at, now=answer.at)
    times = tuple(sorted((*pushed, *found)))
    state = learn_times(state, times, now=answer.at, window=reading.seen, config=config)
    return state, known + times


async def _pushed_times(feed: Feed, services: Services) -> tuple[float, ...]:
    """When entries came in since the last poll: a ping comes when its entry comes out."""
    if services.config.push.public_url is None or not feed.hubs or feed.last_success_at is None:
        return ()
    stored = await services.store.stored_arrivals(feed.id, _PUSHED_ARRIVALS)
    seen = (one.first_seen for one in stored if one.first_seen > feed.last_success_at)
    return tuple(sorted(at.timestamp() for at in seen))
