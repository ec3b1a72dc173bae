"""Traces of polls: a seam of our own, which costs nothing while traces are off.

One poll is one trace: `poll` holds `schedule`, `http` (with `dns`, `connect`, `tls`, `wait`, `body`), `keep`, `parse`,
`normalise`, `identify`, `compare`, `decide`, `events` and `store`. Spans are collected in memory while the poll
runs. At its end the whole trace is exported or dropped: an error is always exported, of the rest a
ratio by trace id, so that several processes agree on a trace (tail sampling within one poll). As soon as a poll
that the ratio leaves out is known to have gone well (`settle`), its further steps are no longer collected.

`span("parse")` opens a span of the trace that the current task works on; without one it returns an object
that does nothing. What sends traces elsewhere is an `Export` function (adapters/otlp.py).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from random import getrandbits  # noqa: TID251  (ids: no decision depends on them)
from time import perf_counter_ns as _now
from time import time_ns
from typing import Any, Final, NamedTuple, Self

Fact = str | int | float | bool
Facts = Mapping[str, Fact | None]
Export = Callable[["Trace"], None]

_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_LOW_BITS: Final = 2**64 - 1
# What a note in a trace's log says; a name in this place begins a span.
_END, _FACTS, _REQUEST, _LATER, _ROOT_FACTS, _ROOT_REQUEST, _ROOT_ERROR = range(7)
_OF_ROOT: Final = (_ROOT_FACTS, _ROOT_REQUEST, _ROOT_ERROR)
_current: Final[ContextVar["Trace | None"]] = ContextVar("feedmill_trace", default=None)


class Parent(NamedTuple):
    """A span of another process or of an earlier time, by its W3C trace context."""

    trace_id: int
    span_id: int


@dataclass(slots=True)
class Span:
    """One step of a finished trace, as an exporter sees it."""

    name: str
    parent: int  # its place in the trace's list; -1: none
    start_ns: int  # of the monotonic clock
    end_ns: int
    facts: dict[str, Fact] = field(default_factory=dict)  # under the names of OpenTelemetry
    error: str | None = None
    is_request: bool = False  # to another program


class OpenSpan:
    """The step of the current trace that is open; this one does nothing, for when there is no trace."""

    __slots__ = ()
    trace: "Trace | None" = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the step; an exception marks it and the trace as failed."""

    def describe(self, facts: Callable[..., Facts], *of: object) -> None:
        """Add the facts that the function gives, if the trace is exported at all."""

    def requested(self, error: str | None, facts: Callable[..., Facts], *of: object) -> None:
        """The step was a request to another program, how it failed if it did, and the facts that are added later."""


class _TracedSpan(OpenSpan):
    """The same for a trace: one object serves all its spans, because they are nested."""

    __slots__ = ("_log", "trace")

    def __init__(self, trace: "Trace") -> None:
        self.trace: Trace | None = trace
        self._log = trace.log

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._log += (_END, _now(), None)
        else:
            self._log += (_END, _now(), kind.__name__)
            if self.trace is not None:
                self.trace.is_kept = True

    def describe(self, facts: Callable[..., Facts], *of: object) -> None:
        self._log += (_FACTS, facts, of)

    def requested(self, error: str | None, facts: Callable[..., Facts], *of: object) -> None:
        self._log += (_REQUEST, error, None, _FACTS, facts, of)


_NO_SPAN: Final = OpenSpan()


class Trace:
    """The spans of one poll while it runs; a context manager that makes it the current trace.

    Most traces are never exported. So what happens is only noted, three values at a time in one list, and the spans
    are made of it when they are exported: many small objects that live as long as a poll would keep the collector
    of garbage busy, which cost more than the spans themselves.
    """

    __slots__ = (
        "_export", "_token", "began_ns", "is_kept", "is_recording", "log", "open_span", "trace_id",
    )  # fmt: skip
    remote_parent: Parent | None = None
    links: tuple[Parent, ...] = ()

    def __init__(
        self, export: Export, name: str, trace_id: int, *, sampled: bool, began_ns: int | None
    ) -> None:
        self.trace_id = trace_id
        self.is_kept = sampled  # it will be exported, as far as is known now
        self.is_recording = True
        self.began_ns = _now() if began_ns is None else began_ns
        # A name begins a span; a number is a note to the open one.
        self.log: list[Any] = [name, self.began_ns, None]
        self.open_span = _TracedSpan(self)
        self._export = export

    @property
    def first_id(self) -> int:
        """The id of the root span; the other spans count on from it."""
        return (self.trace_id >> 65) + 1

    @property
    def origin_ns(self) -> int:
        """What the monotonic clock lacks to the time of day."""
        return time_ns() - _now()

    @property
    def hex_id(self) -> str:
        """The trace id as logs, fetch records and exemplars show it."""
        return f"{self.trace_id:032x}"

    @property
    def traceparent(self) -> str:
        """The W3C trace context of the root span."""
        return traceparent_of(Parent(self.trace_id, self.first_id))

    def add(self, name: str, start_ns: int, end_ns: int, **facts: Fact | None) -> None:
        """Add a span that is over, inside the one that is open; two underscores become a dot."""
        self.log += (name, start_ns, None, _FACTS, _given, (facts,), _END, end_ns, None)

    def add_later(self, add: Callable[..., None], *of: object) -> None:
        """Let `add(trace, *of)` add spans that are over, inside the one that is open, if it is exported at all."""
        self.log += (_LATER, add, of)

    def describe(self, facts: Callable[..., Facts], *of: object) -> None:
        """Add facts to the root span, if the trace is exported at all."""
        self.log += (_ROOT_FACTS, facts, of)

    def requested(self) -> None:
        """The root span is a request to another program."""
        self.log += (_ROOT_REQUEST, None, None)

    def settle(self) -> None:
        """Collect no further steps unless the trace is exported: all went well so far."""
        self.is_recording = self.is_kept

    def fail(self, reason: str) -> None:
        """Mark the trace as failed: it is exported whatever the ratio says."""
        self.is_kept = self.is_recording = True
        self.log += (_ROOT_ERROR, reason, None)

    def spans(self) -> list[Span]:
        """All spans, each behind the one that holds it."""
        spans: list[Span] = []
        self._read(self.log, spans, [])
        return spans

    def _read(self, log: list[Any], spans: list[Span], inside: list[int]) -> None:
        """Make spans of what was noted; `inside` are the places of the spans that are open."""
        for what, value, more in zip(*[iter(log)] * 3, strict=True):
            at = inside[-1] if inside else -1
            if isinstance(what, str):
                inside.append(len(spans))
                spans.append(Span(what, at, value, value))
            elif what == _END:
                spans[at].end_ns, spans[at].error = value, spans[at].error or more
                inside.pop()
            elif what == _LATER:
                self.log = []
                value(self, *more)
                self._read(self.log, spans, inside)
                self.log = log
            else:
                one = spans[0 if what in _OF_ROOT else at]
                if what in (_FACTS, _ROOT_FACTS):
                    one.facts |= {
                        name: fact for name, fact in value(*more).items() if fact is not None
                    }
                else:
                    one.error = value or one.error
                    one.is_request = one.is_request or what in (_REQUEST, _ROOT_REQUEST)

    def __enter__(self) -> Self:
        self._token: Token[Trace | None] = _current.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _current.reset(self._token)
        self.open_span.trace = None  # no cycle, nothing for the collector
        if kind is not None:
            self.fail(kind.__name__)
        if self.is_kept:
            self.log += (_END, _now(), None)
            self._export(self)


class _JoinedTrace(Trace):
    """A part of a trace that began elsewhere."""

    def __init__(self, export: Export, name: str, parents: Sequence[Parent]) -> None:
        super().__init__(export, name, parents[0].trace_id, sampled=True, began_ns=None)
        self._root_id = getrandbits(63) + 1
        self.remote_parent, self.links = parents[0], tuple(parents[1:])

    @property
    def first_id(self) -> int:
        return self._root_id


def _given(facts: Mapping[str, Fact | None]) -> Facts:
    return {name.replace("__", "."): value for name, value in facts.items()}


class Traces:
    """Begins traces; `ratio` is the share of polls without an error that are exported."""

    def __init__(self, export: Export, *, ratio: float) -> None:
        self._export = export
        self._below = round(ratio * 2**64)

    def begin(self, name: str, *, began_ns: int | None = None) -> Trace:
        """A new trace; `began_ns` of the monotonic clock when it began before now."""
        trace_id = getrandbits(128) or 1
        # The rule of OpenTelemetry's TraceIdRatioBased.
        sampled = (trace_id & _LOW_BITS) < self._below
        return Trace(self._export, name, trace_id, sampled=sampled, began_ns=began_ns)

    def join(self, name: str, parents: Sequence[Parent]) -> Trace:
        """A part of the first parent's trace that another process or task adds; linked to the others."""
        return _JoinedTrace(self._export, name, parents)


def span(name: str) -> OpenSpan:
    """Begin a span of the current trace; does nothing without one, and once it is settled."""
    trace = _current.get()
    if trace is None or not trace.is_recording:
        return _NO_SPAN
    trace.log += (name, _now(), None)
    return trace.open_span


def current_trace() -> Trace | None:
    """The trace that this task works on."""
    return _current.get()


def recorded_trace() -> Trace | None:
    """The trace that this task works on while its steps are collected."""
    trace = _current.get()
    return trace if trace is not None and trace.is_recording else None


def kept_trace_id() -> str | None:
    """The id of the current trace when it will be exported: an id that leads somewhere."""
    trace = _current.get()
    return trace.hex_id if trace is not None and trace.is_kept else None


def traceparent_of(parent: Parent) -> str:
    """The W3C trace context as a header has it; what is passed on was sampled."""
    return f"00-{parent.trace_id:032x}-{parent.span_id:016x}-01"


def read_traceparent(text: object) -> Parent | None:
    """The W3C trace context in a text; None when it is none."""
    found = _TRACEPARENT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    parent = Parent(int(found[1], 16), int(found[2], 16))
    return parent if parent.trace_id and parent.span_id else None
