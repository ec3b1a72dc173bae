"""Structured lines on standard error: key=value for people, JSON for machines.

One wide line per refresh. Never a body, never a credential, never a raw newline: values are
quoted, so that one record is always one line.
"""

import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from functools import partialmethod
from typing import Any, Final, TextIO, cast

from feedmill.model.addresses import mask_address
from feedmill.observe.traces import kept_trace_id

LOG_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class _Choice:
    """What the process has chosen, and whether structlog was told."""

    threshold, as_json, is_applied = LOG_LEVELS["warning"], False, False


def set_up(level: str = "warning", *, as_json: bool = False) -> None:
    """Configure logging once, at the edge of the process; structlog is imported for the first line.

    It imports rich: a tenth of a second that a command without a warning does without.
    """
    _Choice.threshold, _Choice.as_json, _Choice.is_applied = LOG_LEVELS[level], as_json, False


class Logger:
    """A logger with the name of a component; a line below the level costs a comparison."""

    __slots__ = ("_component",)

    def __init__(self, component: str) -> None:
        self._component = component

    def is_enabled_for(self, level: int) -> bool:
        """True when a line of this level is written."""
        return level >= _Choice.threshold

    def log(self, level: int, event: str, **values: object) -> None:
        """Write one line with a level as a number."""
        if level < _Choice.threshold:
            return
        import structlog  # noqa: PLC0415  # see set_up

        if not _Choice.is_applied:
            _configure()
        structlog.get_logger(component=self._component).log(level, event, **values)

    debug = partialmethod(log, LOG_LEVELS["debug"])
    info = partialmethod(log, LOG_LEVELS["info"])
    warning = partialmethod(log, LOG_LEVELS["warning"])
    error = partialmethod(log, LOG_LEVELS["error"])


def logger(component: str) -> Logger:
    """A logger with the name of a component."""
    return Logger(component)


def _configure() -> None:
    import structlog  # noqa: PLC0415  # see set_up

    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=True)
        if _Choice.as_json
        else structlog.processors.LogfmtRenderer(
            key_order=["timestamp", "level", "event"], bool_as_flag=False
        )
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _with_trace,
            _one_line,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_Choice.threshold),
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", _Stderr())),
        cache_logger_on_first_use=False,
    )
    _Choice.is_applied = True


class _Stderr:
    """Standard error that never raises: a full disk must not end a run."""

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


def _with_trace(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Name the trace that the line belongs to, when it is exported."""
    if (trace_id := kept_trace_id()) is not None:
        event["trace_id"] = trace_id
    return event


def _one_line(_: object, __: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Escape line ends and control characters: a feed cannot write our log (xss-d008)."""
    return {
        key: _escaped(mask_address(value)) if isinstance(value, str) else value
        for key, value in event.items()
        if value is not None
    }


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(ord(c)) for c in text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
