"""Server-sent events as they come off the wire: cut anywhere, with any line end."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.client import transport
from feedmill.client.transport import SseMessage, SseParser
from feedmill.errors import AnswerError

SAID = (
    b"retry: 1500\n\n"
    b": still here\n\n"
    b'id: 7\nevent: new_entry\ndata: {"a":\ndata: 1}\n\n'
    b"data:no space\nunknown: field\nid\n\n"
    b"event: nothing\n\n"
    b"id: 8\ndata: caf\xc3\xa9\n\n"
)
MEANT = [
    SseMessage(id="7", event="new_entry", data='{"a":\n1}'),
    SseMessage(id="", event="message", data="no space"),
    SseMessage(id="8", event="message", data="café"),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@given(cuts=st.lists(st.integers(0, 400), max_size=8))
def test_a_stream_means_the_same_however_it_is_cut(end: bytes, cuts: list[int]) -> None:
    said = SAID.replace(b"\n", end) + b": end"  # a lone CR is only known to end a line afterwards
    places = [0, *sorted(min(cut, len(said)) for cut in cuts), len(said)]
    stream = SseParser()

    messages = [
        message for begin, until in pairwise(places) for message in stream.feed(said[begin:until])
    ]

    assert messages == MEANT
    assert stream.retry_sec == 1.5


def test_what_is_not_finished_is_not_said() -> None:
    assert SseParser().feed(b"id: 1\ndata: half") == []
    assert SseParser().feed(b"id: 1\ndata: no empty line\n") == []


@pytest.mark.parametrize("field", [b"retry: soon\n\n", b"retry: \xc2\xb2\n\n", b"retry: -1\n\n"])
def test_a_wait_that_is_no_number_is_ignored(field: bytes) -> None:
    stream = SseParser()

    stream.feed(field)

    assert stream.retry_sec is None


def test_an_id_with_a_null_is_ignored() -> None:
    (message,) = SseParser().feed(b"id: 3\nid: a\0b\ndata: x\n\n")

    assert message.id == "3"


@pytest.mark.parametrize("chunk", [b"data: 0123456789\n", b"0123456789"])
def test_a_message_without_end_is_given_up(chunk: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_MOST_BYTES", 1_000)
    stream = SseParser()

    with pytest.raises(AnswerError, match="larger"):
        all(stream.feed(chunk) == [] for _ in range(200))
