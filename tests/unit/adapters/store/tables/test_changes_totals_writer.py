"""One writer's row of totals: what is in it when transactions count, fail, and pass an hour."""

from datetime import datetime

import msgspec
from tests.support.sample_refreshes import HOUR, NOON, a_refresh, new_feed

from feedmill.adapters.store.tables.codec import feed_of_new, micros
from feedmill.adapters.store.tables.running.figures import TotalsWriter
from feedmill.fetch.figures import poll_values
from feedmill.model.running.figures import Totals


def add(writer: TotalsWriter, at: datetime = NOON) -> None:
    refresh = a_refresh(feed_of_new(new_feed()), 1, at=at)
    writer.add(refresh.fetch, poll_values(refresh.fetch))


def polls(row: tuple[object, ...]) -> int:
    return msgspec.json.decode(str(row[3]), type=Totals).figures.polls


def test_a_transaction_without_polls_writes_nothing() -> None:
    writer = TotalsWriter()
    writer.begin()

    assert writer.rows() == []


def test_the_sum_grows_in_one_row() -> None:
    writer = TotalsWriter()
    writer.begin()
    add(writer)
    (first,) = writer.rows()
    writer.committed()
    writer.begin()
    add(writer)
    add(writer)

    (second,) = writer.rows()

    assert first[:3] == second[:3]
    assert (polls(first), polls(second)) == (1, 3)


def test_a_transaction_that_may_not_have_counted_leaves_its_row_alone() -> None:
    writer = TotalsWriter()
    writer.begin()
    add(writer)
    (lost,) = writer.rows()
    writer.begin()
    add(writer)

    (again,) = writer.rows()

    assert again[2] != lost[2]
    assert polls(again) == 1


def test_each_hour_has_a_row() -> None:
    writer = TotalsWriter()
    writer.begin()
    add(writer, NOON)
    add(writer, NOON + HOUR)

    before, after = writer.rows()

    assert (before[0], after[0]) == (micros(NOON), micros(NOON + HOUR))
    assert (polls(before), polls(after)) == (1, 1)
