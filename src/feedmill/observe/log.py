"""Structured lines on standard error: key=value for people, JSON for machines.

One wide line per refresh. Never a body, never a credential, never a raw newline: values are
quoted, so that one record is always one line.
"""

import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final, TextIO, cast

import structlog

from feedmill.model.addresses import mask_address
from feedmill.observe.traces import kept_trace_id

LOG_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def set_up(level: str = "warning", *, as_json: bool = False) -> None:
    """Configure logging once, at the edge of the process."""
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=True)
        if as_json
        else structlog.processors.LogfmtRenderer(
            key_order=["timestamp", "level", "event"], bool_as_flag=False
        )
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _with_trace,
            _one_line,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LOG_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=cast("TextIO", _Stderr())),
        cache_logger_on_first_use=False,
    )


def logger(component: str) -> Any:  # noqa: ANN401  # structlog's own type
    """A logger with the name of a component."""
    return structlog.get_logger(component=component)


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
