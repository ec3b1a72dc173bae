"""Which validators are sent to a server that does not answer 304."""

import pytest

from feedmill.fetch.validator_use import next_use, validators_to_send
from feedmill.model.feed import ValidatorUse
from feedmill.model.fetch import Validators

BOTH = Validators(etag='"1"', last_modified="Tue, 14 Oct 2025 08:00:00 GMT")


@pytest.mark.parametrize(
    ("useless", "sent"),
    [(0, (1, 1)), (2, (1, 1)), (3, (1, 0)), (5, (1, 0)), (6, (0, 1)), (8, (0, 1)), (9, (1, 1))],
)
def test_after_three_answers_with_nothing_new_each_is_tried_alone(
    useless: int, sent: tuple[int, int]
) -> None:
    found = validators_to_send(BOTH, useless, None)

    assert found is not None
    assert (found.etag is not None, found.last_modified is not None) == sent


def test_what_worked_is_sent_until_it_fails_again() -> None:
    assert next_use(0, "date") == "date"
    assert next_use(3, "date") == "etag"


def test_the_search_is_repeated_more_and_more_rarely() -> None:
    tried: list[ValidatorUse] = [next_use(3 * turn, None) for turn in range(48)]

    assert [turn for turn, use in enumerate(tried) if use == "date"] == [2, 5, 8, 14, 26]


@pytest.mark.parametrize("one", [None, Validators(etag='"1"'), Validators(last_modified="x")])
def test_a_single_validator_is_sent_as_it_is(one: Validators | None) -> None:
    assert validators_to_send(one, 4, None) is one
