"""Taps never write through a link that somebody else put into their folder."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedmill.adapters.sinks import NdjsonSink
from feedmill.errors import SinkError
from feedmill.model.event import Event

NOON = datetime(2025, 10, 14, 12, tzinfo=UTC)


def test_file_that_is_a_link_is_refused_and_its_target_is_left_alone(tmp_path: Path) -> None:
    target, folder = tmp_path / "target", tmp_path / "out" / "events"
    target.write_bytes(b"mine\n")
    folder.mkdir(parents=True)
    (folder / "2025-10-14.ndjson").symlink_to(target)
    event = Event(seq=1, id="e1", type="new_entry", feed_id="f", occurred_at=NOON)

    with pytest.raises(SinkError, match="is a symbolic link, which is not followed") as refused:
        asyncio.run(NdjsonSink(tmp_path / "out").deliver([event]))

    assert refused.value.reason == "cannot-open"
    assert target.read_bytes() == b"mine\n"


def test_new_file_is_private(tmp_path: Path) -> None:
    event = Event(seq=1, id="e1", type="new_entry", feed_id="f", occurred_at=NOON)

    asyncio.run(NdjsonSink(tmp_path / "out").deliver([event]))

    (file,) = (tmp_path / "out" / "events").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
