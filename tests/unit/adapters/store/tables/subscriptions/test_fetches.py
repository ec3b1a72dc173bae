"""Headers are kept once, and what differs beside them: nothing is lost."""

from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.store.tables.codec import json_text
from feedmill.adapters.store.tables.subscriptions.fetches import difference, restored

HEADERS = st.lists(
    st.tuples(st.sampled_from(["Date", "Age", "ETag", "Vary"]), st.text(max_size=3)), max_size=6
).map(tuple)


@given(HEADERS, HEADERS)
def test_a_block_and_a_difference_give_the_headers_back(
    base: tuple[tuple[str, str], ...], headers: tuple[tuple[str, str], ...]
) -> None:
    block = json_text(base)

    delta = difference(block, headers)

    assert delta is None or restored(block, delta) == headers


def test_only_the_values_that_differ_are_kept() -> None:
    base = (("Server", "nginx"), ("Date", "Monday"), ("ETag", "1"))

    delta = difference(json_text(base), (base[0], ("Date", "Tuesday"), base[2]))

    assert delta == '[[1,"Tuesday"]]'


def test_equal_headers_need_nothing_at_all() -> None:
    base = (("Server", "nginx"),)

    assert difference(json_text(base), base) == ""
    assert difference(None, base) is None


def test_other_names_or_mostly_other_values_are_another_block() -> None:
    block = json_text((("Server", "nginx"), ("Date", "Monday"), ("ETag", "1"), ("Age", "2")))

    assert difference(block, (("Server", "nginx"),)) is None
    assert difference(block, (("A", "1"), ("Date", "1"), ("ETag", "1"), ("Age", "2"))) is None
    assert difference(block, (("Server", "a"), ("Date", "b"), ("ETag", "c"), ("Age", "2"))) is None
