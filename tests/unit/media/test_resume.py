"""Resuming: what is asked for, and what an answer means for the bytes that are there."""

import pytest

from feedmill.media.resume import (
    Append,
    Complete,
    Mismatch,
    StartAnew,
    judge_answer,
    resume_fields,
)
from feedmill.model.derived.fetched import PartialState
from feedmill.model.fetch import Headers

STATE = PartialState(etag='"a"', last_modified="Mon", total=100, boot="b")


@pytest.mark.parametrize(("state", "size", "boot", "asked"), [
    pytest.param(STATE, 10, "b", (("Range", "bytes=10-"), ("If-Range", '"a"')), id="strong ETag"),
    pytest.param(PartialState(etag='W/"a"', last_modified="Mon", boot="b"), 10, "b",
                 (("Range", "bytes=10-"), ("If-Range", "Mon")), id="weak ETag, so the date"),
    pytest.param(PartialState(etag='W/"a"', boot="b"), 10, "b", (), id="weak ETag alone"),
    pytest.param(PartialState(boot="b"), 10, "b", (), id="no validator"),
    pytest.param(STATE, 0, "b", (), id="nothing there"),
    pytest.param(STATE, 10, "c", (), id="the machine was started anew"),
    pytest.param(None, 10, "b", (), id="nothing known"),
])  # fmt: skip
def test_rest_is_asked_for_with_a_strong_validator_only(
    state: PartialState | None, size: int, boot: str, asked: Headers
) -> None:
    assert resume_fields(state, size, boot=boot) == asked


def answer(
    status: int, *, state: PartialState | None = STATE, **fields: str
) -> Append | StartAnew | Complete | Mismatch:
    headers = tuple((name.replace("_", "-"), value) for name, value in fields.items())
    return judge_answer(status, headers, state, 10, boot="b")


def test_whole_file_begins_anew_with_its_own_validators() -> None:
    found = answer(200, etag='"z"', content_length="50")

    assert found == StartAnew(state=PartialState(etag='"z"', total=50, boot="b"))
    assert answer(200, content_length="x") == StartAnew(state=PartialState(boot="b"))


def test_rest_goes_on() -> None:
    assert answer(206, content_range="bytes 10-99/100", etag='"a"') == Append(state=STATE)
    assert answer(206, content_range="bytes 10-99/*") == Append(state=STATE)
    unknown = PartialState(etag='"a"', boot="b")
    found = answer(206, state=unknown, content_range="bytes 10-99/100")
    assert found == Append(state=PartialState(etag='"a"', total=100, boot="b"))


@pytest.mark.parametrize("found", [
    pytest.param(answer(206, content_range="bytes 0-99/100"), id="from elsewhere"),
    pytest.param(answer(206), id="no range"),
    pytest.param(answer(206, content_range="bytes 10-99/100", etag='"z"'), id="another ETag"),
    pytest.param(answer(206, content_range="bytes 10-99/120", etag='"a"'), id="another length"),
    pytest.param(answer(206, state=None, content_range="bytes 10-99/100"), id="nothing known"),
    pytest.param(answer(416, content_range="bytes */50"), id="behind the end"),
    pytest.param(answer(416), id="behind an end that is not named"),
])  # fmt: skip
def test_answer_that_does_not_fit_is_no_answer(found: object) -> None:
    assert isinstance(found, Mismatch)


def test_range_at_the_end_of_the_file_says_that_it_is_whole() -> None:
    assert answer(416, content_range="bytes */10") == Complete()
