"""A stream from a server that is no mill: nothing in it is for ever, and nothing surprises."""

import pytest

from feedmill.client import transport
from feedmill.client.transport import SseParser
from feedmill.errors import AnswerError


def test_a_wait_of_more_digits_than_a_number_may_have_is_a_wait() -> None:
    stream = SseParser()

    stream.feed(b"retry: " + b"9" * 5_000 + b"\n")

    assert stream.retry_sec == pytest.approx(999_999.999)


def test_a_message_of_empty_lines_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_MOST_BYTES", 1_000)

    with pytest.raises(AnswerError):
        SseParser().feed(b"data:\n" * 1_001)
