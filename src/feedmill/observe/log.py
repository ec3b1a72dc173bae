"""Structured lines on standard error: key=value for people, JSON for machines.

One wide line per refresh. Never a body, never a credential, never a raw newline: values are
quoted, so that one record is always one line.

Masks passwords, tokens and keys in addresses, for logs, messages and `config show`.
"""

import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from functools import partialmethod
from typing import Any, Final, TextIO, cast
from urllib.parse import unquote

from feedmill.model.addresses import hide, mask_address, token_spans
from feedmill.observe.traces import kept_trace_id

LOG_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_WORD: Final = re.compile(r"\S++")
_USER: Final = re.compile(r"://[^:/?#@\s]*+:")
# Without a colon it is the name of a user, or a token, as NATS has them.
_TOKEN: Final = re.compile(r"(?<!postgresql)(?<!postgres)://([^:/?#@\s]++)(?=@)")
_PARAMETER: Final = re.compile(
    # Names of several words have dots in Kafka: sasl.password, ssl.key.pem.
    r"[?&;]([\w.%-]++)=([^&;\s]++)"
)
_SECRET_NAME: Final = re.compile("password|passphrase|pwd|secret|token|key", re.IGNORECASE)
# The callback of a subscription at a hub: who knows it can send pings.
_CALLBACK: Final = re.compile(r"(?<=/push/)[\w-]{20,}+")
_END_OF_PATH: Final = re.compile("[?#]|$")


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


def mask_secrets(text: str) -> str:
    """The text with every password and token in its addresses replaced by ***."""
    return hide(text, _secret_spans(text))


def secrets_in(url: str) -> tuple[str, ...]:
    """The passwords and tokens that `mask_secrets` hides in an address."""
    return tuple(url[start:end] for start, end in _secret_spans(url))


def database_address(url: str) -> str:
    """Scheme, user, host and database of a URL, without its password and parameters.

    A password may hold anything, also an unescaped "/" or "@": what is in doubt is left out.
    """
    scheme, found, rest = url.partition("://")
    if not found:
        return "the database"
    who, at, where = rest.rpartition("@")
    name = unquote(re.split("[:/?#@]", who, maxsplit=1)[0])
    return f"{scheme}://{name}{at}{re.split('[?#]', where, maxsplit=1)[0]}"


def mask_all_secrets(shape: Any) -> Any:  # noqa: ANN401  # whatever JSON can say
    """The same for every string in nested lists and mappings."""
    if isinstance(shape, str):
        return mask_secrets(shape) if "://" in shape else shape
    if isinstance(shape, dict):
        return {key: mask_all_secrets(value) for key, value in shape.items()}
    if isinstance(shape, list | tuple):
        return [mask_all_secrets(value) for value in shape]
    return shape


def _secret_spans(text: str) -> list[tuple[int, int]]:
    found = list(token_spans(text))
    found += (one.span(2) for one in _PARAMETER.finditer(text) if _SECRET_NAME.search(one[1]))
    if "://" in text:
        for word in _WORD.finditer(text):
            found += _spans_of_address(text, *word.span())
    return sorted(found)


def _spans_of_address(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    # A password may hold anything, also an unescaped "/" or "@": what is in doubt is hidden.
    at = text.rfind("@", start, end)
    user = _USER.search(text, start, at) if at >= 0 else None
    if user is not None:
        yield user.end(), at
    for token in _TOKEN.finditer(text, start, end):
        yield token.span(1)
    scheme = text.find("://", start, end)
    if scheme >= 0:
        path = _END_OF_PATH.search(text, scheme, end)
        for callback in _CALLBACK.finditer(text, scheme, path.start() if path else end):
            yield callback.span()
