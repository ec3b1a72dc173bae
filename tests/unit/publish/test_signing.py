"""Signatures: what is signed, what a receiver accepts, and everything it must not."""

import hmac
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.publish.signing import sign, verify

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
SECONDS = int(NOON.timestamp())
BODY = b'[{"seq":1}]'


def test_the_header_is_what_any_hmac_library_computes() -> None:
    expected = hmac.new(b"secret", b"%d." % SECONDS + BODY, sha256).hexdigest()

    assert sign(BODY, ["secret"], NOON) == f"t={SECONDS},v1={expected}"


def test_a_receiver_with_the_secret_accepts_it() -> None:
    assert verify(sign(BODY, ["secret"], NOON), BODY, ["secret"], now=NOON)


def test_while_secrets_change_the_old_and_the_new_one_are_both_accepted() -> None:
    header = sign(BODY, ["new", "old"], NOON)

    assert header.count("v1=") == 2
    assert verify(header, BODY, ["old"], now=NOON)
    assert verify(header, BODY, ["new"], now=NOON)
    assert verify(sign(BODY, ["old"], NOON), BODY, ["new", "old"], now=NOON)


@pytest.mark.parametrize(
    ("late", "accepted"),
    [
        (timedelta(0), True),
        (timedelta(seconds=300), True),
        (timedelta(seconds=301), False),
        (timedelta(seconds=-300), True),  # clocks differ both ways
        (timedelta(seconds=-301), False),
    ],
)
def test_a_recorded_delivery_is_good_for_five_minutes_only(late: timedelta, accepted: bool) -> None:
    header = sign(BODY, ["secret"], NOON)

    assert verify(header, BODY, ["secret"], now=NOON + late) is accepted


def test_a_receiver_may_tolerate_more() -> None:
    header = sign(BODY, ["secret"], NOON)

    assert verify(header, BODY, ["secret"], now=NOON + timedelta(hours=1), tolerance_sec=3600)


def test_another_time_in_the_header_breaks_the_signature() -> None:
    digest = sign(BODY, ["secret"], NOON).partition(",")[2]
    later = NOON + timedelta(hours=1)

    assert not verify(f"t={SECONDS + 3600},{digest}", BODY, ["secret"], now=later)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        "v1=" + "0" * 64,  # no time
        f"t={SECONDS}",  # no signature
        f"t={SECONDS},v1=",
        f"t={SECONDS},v1=" + "g" * 64,
        f"t={SECONDS},v1=" + "0" * 64,
        f"t={SECONDS},v1=" + "ö" * 64,
        f"t={SECONDS},t={SECONDS},v1=" + "0" * 64,  # which of them?
        "t=-1,v1=" + "0" * 64,
        "t=1e9,v1=" + "0" * 64,
        f"t={'9' * 400},v1=" + "0" * 64,
        f"t={SECONDS},v1=" + "0" * 4_000,
    ],
)
def test_a_header_of_any_other_kind_is_refused_and_never_a_surprise(header: str) -> None:
    assert not verify(header, BODY, ["secret"], now=NOON)


def test_no_secret_accepts_nothing() -> None:
    assert not verify(sign(BODY, ["secret"], NOON), BODY, [], now=NOON)
    assert not verify(sign(BODY, [], NOON), BODY, ["secret"], now=NOON)


@given(body=st.binary(max_size=200), other=st.binary(max_size=200))
def test_a_signature_belongs_to_one_body(body: bytes, other: bytes) -> None:
    assert verify(sign(body, ["secret"], NOON), other, ["secret"], now=NOON) is (body == other)
