"""Taps in the envelope of CloudEvents: the same events, once each, also when the form changes."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest
from tests.support.sinks_under_test import Files, events

from feedmill.adapters.sinks import NdjsonSink, StdoutSink
from feedmill.app.services import stdout_sink
from feedmill.config import Config, StoreConfig
from feedmill.publish.ndjson import cloudevent_line, position_of_line

ENVELOPED = partial(cloudevent_line, source="urn:mill")


def test_a_tap_that_is_opened_again_goes_on_without_repeating(tmp_path: Path) -> None:
    asyncio.run(NdjsonSink(tmp_path, line=ENVELOPED).deliver(events(1, 3)))
    asyncio.run(NdjsonSink(tmp_path, line=ENVELOPED).deliver(events(2, 5)))

    lines = [json.loads(line) for line in Files(tmp_path).lines()]

    assert [int(line["sequence"]) for line in lines] == [1, 2, 3, 4, 5]
    assert {line["source"] for line in lines} == {"urn:mill"}


def test_the_form_can_change_in_the_middle_of_a_file(tmp_path: Path) -> None:
    asyncio.run(NdjsonSink(tmp_path).deliver(events(1, 2)))
    asyncio.run(NdjsonSink(tmp_path, line=ENVELOPED).deliver(events(1, 4)))
    asyncio.run(NdjsonSink(tmp_path).deliver(events(3, 6)))

    assert [position_of_line(line)[0] for line in Files(tmp_path).lines()] == [1, 2, 3, 4, 5, 6]


def test_standard_output_has_the_same_choice() -> None:
    said: list[bytes] = []

    asyncio.run(StdoutSink(write=said.append, line=ENVELOPED).deliver(events(1, 2)))

    kinds = [json.loads(line)["type"] for line in b"".join(said).splitlines()]
    assert kinds == ["feedmill.new_entry", "feedmill.new_entry"]


@pytest.mark.parametrize(("form", "key"), [("plain", "seq"), ("cloudevents", "specversion")])
def test_the_settings_choose(
    form: str, key: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    config = Config(store=StoreConfig(tap_format=form))  # type: ignore[arg-type]

    asyncio.run(stdout_sink(config).deliver(events(1, 1)))

    assert key in json.loads(capfdbinary.readouterr().out)
