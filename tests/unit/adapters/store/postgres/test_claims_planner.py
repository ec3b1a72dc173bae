"""Where a process looks for due lanes: its own shards first, from their mark on."""

import pytest

from feedmill.adapters.store.postgres.claims import (
    SLACK_MICROS,
    SWEEP_CLAIMS,
    SWEEP_MICROS,
    ClaimPlanner,
    shards_of_worker,
)
from feedmill.adapters.store.postgres.lanes import host_of_lane, is_split, lane_keys, lane_number
from feedmill.adapters.store.tables.lanes import SHARDS

NOW = 1_772_366_400_000_000
SECOND = 1_000_000
WORKERS = ("one", "two", "three", "four")


def begun() -> ClaimPlanner:
    """A frontier that has swept at NOW."""
    frontier = ClaimPlanner()
    (search,) = frontier.searches(NOW)
    assert search.is_sweep
    return frontier


def test_every_shard_belongs_to_exactly_one_live_worker() -> None:
    shares = [shards_of_worker(name, WORKERS) for name in WORKERS]

    assert sum(map(len, shares)) == SHARDS
    assert frozenset().union(*shares) == frozenset(range(SHARDS))
    assert min(map(len, shares)) > SHARDS / len(WORKERS) / 2


def test_who_leaves_hands_over_its_own_shards_and_no_others() -> None:
    before = {name: shards_of_worker(name, WORKERS) for name in WORKERS}

    after = {name: shards_of_worker(name, WORKERS[1:]) for name in WORKERS[1:]}

    assert all(before[name] <= after[name] for name in after)


def test_a_worker_alone_looks_everywhere_at_once() -> None:
    frontier = ClaimPlanner()
    frontier.share("one", ["one"])

    (search,) = frontier.searches(NOW)

    assert sorted(search.shards) == list(range(SHARDS))


def test_the_own_shards_come_first_and_all_others_afterwards() -> None:
    frontier = ClaimPlanner()
    frontier.share("one", WORKERS)

    own, others = frontier.searches(NOW)

    assert frozenset(own.shards) == shards_of_worker("one", WORKERS)
    assert sorted((*own.shards, *others.shards)) == list(range(SHARDS))


def test_a_worker_that_nobody_counts_among_the_live_still_has_shards_of_its_own() -> None:
    frontier = ClaimPlanner()
    frontier.share("unseen", WORKERS)

    own, _ = frontier.searches(NOW)

    assert frozenset(own.shards) == shards_of_worker("unseen", (*WORKERS, "unseen"))


def test_what_was_searched_to_its_end_is_searched_from_a_little_before_now() -> None:
    frontier = begun()
    (search,) = frontier.searches(NOW)

    frontier.searched(search, [NOW - 50 * SECOND], is_full=False, now=NOW)

    (again,) = frontier.searches(NOW)
    assert again.low == NOW - SLACK_MICROS


def test_a_search_that_was_full_moves_the_mark_of_what_it_took_from() -> None:
    frontier = ClaimPlanner()
    frontier.share("one", WORKERS)
    own, _ = frontier.searches(NOW)

    frontier.searched(own, [300, 100, 200], is_full=True, now=NOW)

    assert [search.low for search in frontier.searches(NOW)] == [300, 0]


def test_a_sweep_may_set_a_mark_back() -> None:
    frontier = begun()
    (search,) = frontier.searches(NOW)
    frontier.searched(search, [], is_full=False, now=NOW)
    (sweep,) = frontier.searches(NOW + SWEEP_MICROS)

    frontier.searched(sweep, [100], is_full=True, now=NOW + SWEEP_MICROS)

    assert frontier.searches(NOW + SWEEP_MICROS)[0].low == 100


def test_other_live_workers_make_every_mark_start_anew() -> None:
    frontier = begun()
    (search,) = frontier.searches(NOW)
    frontier.share("one", WORKERS)

    frontier.searched(search, [], is_full=False, now=NOW)  # one that was under way: of all shards
    frontier.share("one", WORKERS[:2])

    assert [search.low for search in frontier.searches(NOW)] == [0, 0]


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(SWEEP_MICROS, id="a few seconds later"),
        pytest.param(-1, id="the clock was set back"),
    ],
)
def test_time_makes_a_sweep(later: int) -> None:
    frontier = begun()
    assert not frontier.searches(NOW + SWEEP_MICROS - 1)[0].is_sweep

    (search,) = frontier.searches(NOW + later)

    assert search.is_sweep
    assert search.low == 0


def test_many_claims_make_a_sweep() -> None:
    frontier = begun()

    sweeps = [frontier.searches(NOW)[0].is_sweep for _ in range(SWEEP_CLAIMS * 2)]

    assert [n for n, is_sweep in enumerate(sweeps, start=1) if is_sweep] == [
        SWEEP_CLAIMS,
        SWEEP_CLAIMS * 2,
    ]


def test_only_the_own_shards_are_swept_by_time() -> None:
    frontier = ClaimPlanner()
    frontier.share("one", WORKERS)

    own, others = frontier.searches(NOW)

    assert (own.is_sweep, others.is_sweep) == (True, False)


def test_a_claim_that_finds_nothing_looks_below_all_marks_but_ever_less_often_in_vain() -> None:
    frontier = begun()
    looked: list[int] = []

    for n in range(1, 40):
        doubt = frontier.doubt()
        if doubt is not None:
            looked.append(n)
            assert sorted(doubt.shards) == list(range(SHARDS))
            assert doubt.low == 0
            frontier.searched(doubt, [], is_full=False, now=NOW)

    assert looked == [1, 3, 7, 15, 31]


def test_a_doubt_that_was_right_makes_the_next_one_come_at_once() -> None:
    frontier = begun()
    for _ in range(8):
        if (doubt := frontier.doubt()) is not None:
            frontier.searched(doubt, [], is_full=False, now=NOW)
    while (doubt := frontier.doubt()) is None:
        pass

    frontier.searched(doubt, [100], is_full=False, now=NOW)

    assert frontier.doubt() is not None


def test_a_host_has_one_lane_of_its_name_or_several_with_numbers() -> None:
    assert lane_keys("a.example", 1) == ("a.example",)
    assert lane_keys("a.example:8080", 3) == (
        "a.example:8080#0",
        "a.example:8080#1",
        "a.example:8080#2",
    )


@pytest.mark.parametrize(
    ("key", "host", "split"),
    [
        ("a.example", "a.example", False),
        ("a.example:8080", "a.example:8080", False),
        ("a.example#0", "a.example", True),
        ("[2001:db8::1]:81#12", "[2001:db8::1]:81", True),
        ("not a url#part", "not a url#part", False),
        ("#1", "#1", False),
    ],
)
def test_the_host_of_a_lane_is_in_its_name(key: str, host: str, split: bool) -> None:
    assert (host_of_lane(key), is_split(key)) == (host, split)


def test_the_feeds_of_a_big_host_are_spread_and_each_stays_in_its_lane() -> None:
    numbers = [lane_number(f"feed-{n}", 4) for n in range(400)]

    assert numbers == [lane_number(f"feed-{n}", 4) for n in range(400)]
    assert all(60 < numbers.count(lane) < 140 for lane in range(4))
