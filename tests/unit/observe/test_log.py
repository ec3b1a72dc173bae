"""One record is one line, whatever strangers put into it."""

import json

import pytest

from feedmill.observe import log

EVIL = "a\nlevel=error event=forged\r\x1b[31m\u2028\u202e\x00\x85 \U000e0001"


def logged(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("as_json", [False, True])
def test_no_value_can_begin_a_line_or_write_to_a_terminal(
    capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    log.set_up("info", as_json=as_json)

    log.logger("engine").info("refreshed", title=EVIL)

    (line,) = logged(capsys)
    assert line.isprintable()
    assert "forged" in line


def test_lines_for_people_begin_with_time_level_and_event(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log.set_up("info")

    log.logger("engine").info("refreshed", new=3, nothing=None)

    (line,) = logged(capsys)
    assert line.startswith("timestamp=")
    assert "level=info event=refreshed component=engine new=3" in line
    assert "nothing" not in line


def test_lines_for_machines_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("debug", as_json=True)

    log.logger("engine").debug("looked", url="https://example.com/ü")

    (line,) = logged(capsys)
    record = json.loads(line)
    assert (record["event"], record["level"]) == ("looked", "debug")
    assert record["url"] == "https://example.com/ü"


def test_what_is_below_the_level_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("warning")

    log.logger("engine").info("refreshed")
    log.logger("engine").warning("trouble")

    assert len(logged(capsys)) == 1


def test_the_trace_of_a_surprise_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("error")

    try:
        raise ValueError(EVIL)  # noqa: TRY301
    except ValueError as problem:
        log.logger("engine").error("unexpected error", exc_info=problem)

    (line,) = logged(capsys)
    assert "ValueError" in line
    assert line.isprintable()
