"""Where a feed may have moved to, in shapes and in sentences."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from feedmill.config import MovesConfig
from feedmill.model.feed import Move, MoveCandidate
from feedmill.publish.move_shapes import candidate_in_words, candidate_shape, move_in_words

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MOVES = MovesConfig()
FRESH = MoveCandidate(
    url="https://new.example/feed",
    source="redirect",
    first_seen_at=NOON,
    last_seen_at=NOON + timedelta(hours=12),
    sightings=2,
)
RIPE = replace(FRESH, sightings=3, last_seen_at=NOON + timedelta(hours=50))


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        pytest.param(
            replace(FRESH, sightings=1),
            "Missing: 2 more sightings, 36 more hours.",
            id="hardly seen",
        ),
        pytest.param(FRESH, "Missing: 1 more sighting, 36 more hours.", id="young"),
        pytest.param(RIPE, "Nothing is missing: the next poll moves it.", id="ripe"),
        pytest.param(
            replace(RIPE, source="self"),
            "Missing: a proof that it is the same feed.",
            id="unproven",
        ),
        pytest.param(
            replace(RIPE, reason="not-the-same-feed", retry_at=NOON + timedelta(days=9)),
            "It is not adopted: what is served there is not the same feed; looked at again"
            " 2026-03-10 12:00Z.",
            id="refuted",
        ),
        pytest.param(
            replace(RIPE, reason="timeout-connect"),
            "It is not adopted: it could not be fetched (timeout-connect).",
            id="out of reach",
        ),
    ],
)
def test_a_candidate_says_what_is_missing(candidate: MoveCandidate, words: str) -> None:
    first, last = candidate_in_words(candidate, MOVES)

    assert candidate.url in first
    assert last == words


def test_a_candidate_counts_what_is_missing() -> None:
    shape = candidate_shape(FRESH, MOVES)

    missing = shape.missing
    assert (missing.sightings, missing.hours, missing.proof) == (1, 36.0, False)
    assert (shape.sightings, shape.first_seen_at, shape.reason) == (2, NOON, "")


def test_a_move_is_one_sentence_and_says_that_it_was_undone() -> None:
    move = Move(
        from_url="http://a.example/",
        to_url="https://a.example/",
        source="https",
        proof="content",
        moved_at=NOON,
    )

    told = move_in_words(move)

    assert told.startswith("2026-03-01 12:00Z: from http://a.example/ to https://a.example/")
    assert told.endswith("(by an answer by https, proof: content)")
    undone = move_in_words(replace(move, undone_at=NOON))
    assert undone == f"{told}; undone 2026-03-01 12:00Z"


def test_no_sentence_shows_a_token() -> None:
    url = "https://a.example/?token=hidden"
    candidate = replace(FRESH, url=url)
    move = Move(from_url=url, to_url=url, source="https", proof="content", moved_at=NOON)

    told = [
        *candidate_in_words(candidate, MOVES),
        *candidate_in_words(replace(candidate, reason="no-feed-found"), MOVES),
        move_in_words(move),
    ]

    assert "hidden" not in " ".join(told)
    assert " ".join(told).count("?token=***") == 4


@pytest.mark.parametrize("is_tried_again", [True, False])
def test_a_lost_feed_whose_site_leads_nowhere_says_so(is_tried_again: bool) -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    candidate = MoveCandidate(
        url="https://paper.example/",
        source="site",
        first_seen_at=at,
        last_seen_at=at,
        retry_at=at if is_tried_again else None,
        reason="no-feed-found",
    )

    (words,) = candidate_in_words(candidate, MOVES)

    assert "its site https://paper.example/ leads to no other feed" in words
    assert ("and again" in words) is is_tried_again
