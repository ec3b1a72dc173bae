"""Spoiled, spliced and invented documents: the laws of tests/support/parser_invariants.py hold for all of them.

A bounded look with hypothesis; `make fuzz` goes on for as long as it is told to.
"""

from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import document_mutations as mutations
from tests.support.parser_invariants import check, check_slices_alone

from feedmill.model.parsed import ParsedFeed

SEEDS: Final = mutations.corpus()
CRASHERS: Final = sorted((Path(__file__).parent / "crashers").glob("*"))
POSITIONS: Final = st.integers(0, 5_000)
BODIES: Final = st.sampled_from(list(SEEDS.values()))
MARKUP: Final = st.lists(
    st.sampled_from(
        (*mutations.TOKENS, b"text", b" ", b"\n", "é".encode(), b"https://example.org/")
    ),
    max_size=60,
).map(b"".join)
bounded = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize("name", SEEDS)
def test_every_law_holds_for_the_seed_documents(name: str) -> None:
    feed = check(SEEDS[name])

    if isinstance(feed, ParsedFeed) and not feed.repairs:
        check_slices_alone(feed, SEEDS[name])


@pytest.mark.parametrize("path", CRASHERS, ids=lambda path: path.name)
def test_every_law_holds_for_what_once_broke_one(path: Path) -> None:
    check(path.read_bytes())


@bounded
@given(st.binary(max_size=2_000))
def test_every_law_holds_for_any_bytes(body: bytes) -> None:
    check(body)


@bounded
@given(MARKUP)
def test_every_law_holds_for_tag_soup(body: bytes) -> None:
    check(body)


@bounded
@given(MARKUP)
def test_every_law_holds_for_tag_soup_inside_a_feed(soup: bytes) -> None:
    check(b'<rss version="2.0"><channel><item><title>a</title>' + soup + b"</item></channel></rss>")


@bounded
@given(BODIES, st.lists(st.tuples(POSITIONS, st.integers(0, 255)), min_size=1, max_size=5))
def test_every_law_holds_when_bytes_are_flipped(body: bytes, flips: list[tuple[int, int]]) -> None:
    for at, value in flips:
        body = mutations.flip(body, at, value)

    check(body)


@bounded
@given(BODIES, POSITIONS)
def test_every_law_holds_when_the_document_is_cut(body: bytes, at: int) -> None:
    check(mutations.truncate(body, at))


@bounded
@given(BODIES, POSITIONS, POSITIONS)
def test_every_law_holds_when_a_range_is_lost(body: bytes, first: int, last: int) -> None:
    check(mutations.delete(body, first, last))


@bounded
@given(BODIES, POSITIONS, POSITIONS, st.integers(1, 4))
def test_every_law_holds_when_a_range_is_repeated(
    body: bytes, first: int, last: int, times: int
) -> None:
    check(mutations.duplicate(body, first, last, times))


@bounded
@given(BODIES, BODIES, POSITIONS, POSITIONS)
def test_every_law_holds_when_two_documents_are_spliced(
    body: bytes, other: bytes, at: int, there: int
) -> None:
    check(mutations.splice(body, other, at, there))


@bounded
@given(
    BODIES,
    st.lists(st.tuples(st.sampled_from(mutations.TOKENS), POSITIONS), min_size=1, max_size=4),
)
def test_every_law_holds_when_tokens_are_injected(
    body: bytes, tokens: list[tuple[bytes, int]]
) -> None:
    for token, at in tokens:
        body = mutations.inject(body, token, at)

    check(body)


@bounded
@given(
    BODIES,
    st.sampled_from(mutations.ENCODINGS),
    st.sampled_from(
        (None, "text/xml; charset=utf-16", "application/rss+xml; charset=gbk", "x;charset=")
    ),
)
def test_every_law_holds_in_another_encoding_than_the_declared_one(
    body: bytes, encoding: str, content_type: str | None
) -> None:
    check(mutations.recode(body, encoding), content_type)
