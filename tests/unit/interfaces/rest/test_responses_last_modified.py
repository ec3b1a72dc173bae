"""Last-Modified never calls two different answers the same."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from feedmill.interfaces.rest.responses import ChangeTimes

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_an_answer_keeps_its_date_until_it_changes() -> None:
    noticed = ChangeTimes()
    first = noticed.since("/a", "one", NOON)

    later = noticed.since("/a", "one", NOON + timedelta(hours=5))
    changed = noticed.since("/a", "two", NOON + timedelta(hours=6))

    assert first == later == NOON - SECOND
    assert changed == NOON + timedelta(hours=6) - SECOND


def test_addresses_do_not_know_each_other() -> None:
    noticed = ChangeTimes()
    noticed.since("/a", "one", NOON)

    assert noticed.since("/b", "one", NOON + SECOND) == NOON


def test_what_was_not_asked_for_lately_is_forgotten_and_counts_as_changed() -> None:
    noticed = ChangeTimes(most=2)
    for address in ("/a", "/b", "/a", "/c"):
        noticed.since(address, "one", NOON)
    later = NOON + timedelta(hours=1)

    assert noticed.since("/a", "one", later) == NOON - SECOND
    assert noticed.since("/b", "one", later) == later - SECOND


@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(-2, 3, allow_nan=False)), max_size=60
    )
)
def test_no_two_answers_in_a_row_share_a_date_whatever_the_clock_does(
    steps: list[tuple[str, float]],
) -> None:
    noticed, now, given_out = ChangeTimes(), NOON, dict[datetime, int]()
    version, last = 0, ""
    for tag, step in steps:
        now += timedelta(seconds=step)
        version += tag != last
        last = tag

        moment = noticed.since("/a", tag, now)

        assert moment is None or moment <= now
        if moment is not None:
            assert given_out.setdefault(moment, version) == version
