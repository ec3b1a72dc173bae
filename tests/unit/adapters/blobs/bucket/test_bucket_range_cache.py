"""How ranges of an object are asked for."""

from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.blobs.bucket.bucket import AHEAD_BYTES, BEHIND_BYTES, RangeCache

_BLOCK = bytes(range(251))


class Recorded:
    """An object that remembers what was asked of it."""

    def __init__(self, size: int) -> None:
        self.data = (_BLOCK * (size // len(_BLOCK) + 1))[:size]
        self.asked: list[tuple[int, int]] = []

    def fetch(self, offset: int, length: int) -> bytes:
        self.asked.append((offset, length))
        return self.data[offset : offset + length]


def test_the_first_range_is_exactly_what_was_asked() -> None:
    object_ = Recorded(10_000_000)

    assert RangeCache(object_.fetch).read(5_000, 70) == object_.data[5_000:5_070]
    assert object_.asked == [(5_000, 70)]


def test_going_back_fetches_what_lies_before_in_one_step() -> None:
    object_ = Recorded(10_000_000)
    window = RangeCache(object_.fetch)
    ends = range(9_000_000, 9_000_000 - 200 * 4_000, -4_000)

    parts = [window.read(end - 4_000, 4_000) for end in ends]

    assert parts == [object_.data[end - 4_000 : end] for end in ends]
    assert object_.asked == [(8_996_000, 4_000), (8_996_000 - BEHIND_BYTES, BEHIND_BYTES)]


def test_going_forward_takes_large_steps_to_the_end_and_asks_nothing_behind_it() -> None:
    object_ = Recorded(AHEAD_BYTES + 1_000)
    window = RangeCache(object_.fetch)

    parts = [window.read(at, 500) for at in range(0, len(object_.data) + 2_000, 500)]

    assert b"".join(parts) == object_.data
    assert len(object_.asked) == 3
    assert window.read(len(object_.data) + 9, 500) == b""
    assert len(object_.asked) == 3


def test_a_large_range_before_the_window_comes_whole() -> None:
    object_ = Recorded(3 * BEHIND_BYTES)
    window = RangeCache(object_.fetch)
    window.read(3 * BEHIND_BYTES - 10, 10)

    assert window.read(5, 2 * BEHIND_BYTES) == object_.data[5 : 5 + 2 * BEHIND_BYTES]


@given(
    size=st.integers(0, 400),
    asks=st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), max_size=12),
)
def test_whatever_is_asked_the_bytes_are_those_of_the_object(
    size: int, asks: list[tuple[int, int]]
) -> None:
    object_ = Recorded(size)
    window = RangeCache(object_.fetch)

    for offset, length in asks:
        assert window.read(offset, length) == object_.data[offset : offset + length]
