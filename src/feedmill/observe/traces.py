"""Traces of polls: a seam of our own, which costs nothing while traces are off.

One poll is one trace: `poll` holds `schedule`, `http` (with `dns`, `connect`, `tls`, `wait`, `body`), `keep`, `parse`,
`normalise`, `identify`, `compare`, `decide`, `events` and `store`. Spans are collected in memory while the poll
runs. At its end the whole trace is exported or dropped: an error is always exported, of the rest a
ratio by trace id, so that several processes agree on a trace (tail sampling within one poll).

`span("parse")` opens a span of the trace that the current task works on; without one it returns an object
that does nothing. What sends traces elsewhere is an `Export` function (adapters/otlp.py).
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from os import urandom
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

Fact = str | int | float | bool
Facts = Mapping[str, Fact | None]
Export = Callable[["Trace"], None]

_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_LOW_BITS: Final = 2**64 - 1
_current: Final[ContextVar["Trace | None"]] = ContextVar("feedmill_trace", default=None)


class Parent(NamedTuple):
    """A span of another process or of an earlier time, by its W3C trace context."""

    trace_id: int
    span_id: int


class Span(NamedTuple):
    """One step of a finished trace, as an exporter sees it."""

    name: str
    parent: int  # its place in the trace's list; -1: none
    start_ns: int  # of the monotonic clock
    end_ns: int
    facts: dict[str, Fact]  # under the names of OpenTelemetry
    error: str | None
    is_request: bool  # to another program


class OpenSpan:
    """The step of the current trace that is open; this one does nothing, for when there is no trace."""

    trace: "Trace | None" = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """End the step; an exception marks it and the trace as failed."""

    def describe(self, facts: Callable[..., Facts], *of: object) -> None:
        """Add the facts that the function gives, if the trace is exported at all."""

    def requested(self, error: str | None) -> None:
        """The step was a request to another program, and how it failed if it did."""


class _TracedSpan(OpenSpan):
    """The same for a trace: one object serves all its spans, because they are nested."""

    def __init__(self, trace: "Trace") -> None:
        self.trace = trace

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        trace = self.trace
        if trace is not None:
            at = trace.place
            trace.ends[at] = time.perf_counter_ns()
            trace.place = trace.parents[at]
            if kind is not None:
                trace.errors[at] = trace.error = kind.__name__

    def describe(self, facts: Callable[..., Facts], *of: object) -> None:
        if self.trace is not None:
            self.trace.notes += (self.trace.place, facts, of)

    def requested(self, error: str | None) -> None:
        if self.trace is not None:
            self.trace.requests.append(self.trace.place)
            if error is not None:
                self.trace.errors[self.trace.place] = error


_NO_SPAN: Final = OpenSpan()


class Trace:
    """The spans of one poll while it runs; a context manager that makes it the current trace.

    Most traces are never exported. So a span is a few numbers in lists and no object of its own: many small objects
    that live as long as a poll would keep the collector of garbage busy, which cost more than the spans themselves.
    """

    __slots__ = (
        "_export", "_later", "_open", "_token", "ends", "error", "errors", "links", "names", "notes",
        "origin_ns", "parents", "place", "remote_parent", "requests", "root_id", "sampled", "starts",
        "trace_id",
    )  # fmt: skip

    def __init__(
        self, export: Export, name: str, trace_id: int, *, sampled: bool, began_ns: int | None
    ) -> None:
        now = time.perf_counter_ns()
        self.trace_id = trace_id
        self.root_id = (trace_id >> 65) + 1  # the other spans count on from it
        self.sampled = sampled
        self.error: str | None = None
        self.origin_ns = time.time_ns() - now
        self.names, self.parents, self.ends = [name], [-1], [now]
        self.starts = [now if began_ns is None else began_ns]
        self.place = 0  # of the span that is open
        self.notes: list[Any] = []  # place, function, arguments, and so on
        self.errors: dict[int, str] = {}
        self.requests: list[int] = []
        self.remote_parent: Parent | None = None
        self.links: tuple[Parent, ...] = ()
        self._later: list[Any] = []  # place, function, arguments, and so on
        self._open = _TracedSpan(self)
        self._export = export
        self._token: Token[Trace | None] | None = None

    @property
    def is_kept(self) -> bool:
        """True when the trace will be exported, as far as is known now."""
        return self.sampled or self.error is not None

    @property
    def hex_id(self) -> str:
        """The trace id as logs, fetch records and exemplars show it."""
        return f"{self.trace_id:032x}"

    @property
    def traceparent(self) -> str:
        """The W3C trace context of the root span."""
        return traceparent_of(Parent(self.trace_id, self.root_id))

    def open(self, name: str) -> OpenSpan:
        """Begin a span inside the one that is open."""
        parent, self.place = self.place, len(self.names)
        now = time.perf_counter_ns()
        self.names.append(name)
        self.parents.append(parent)
        self.starts.append(now)
        self.ends.append(now)
        return self._open

    def add(self, name: str, start_ns: int, end_ns: int, **facts: Fact | None) -> None:
        """Add a span that is over, inside the one that is open; two underscores become a dot."""
        self.notes += (len(self.names), _given, (facts,))
        self.names.append(name)
        self.parents.append(self.place)
        self.starts.append(start_ns)
        self.ends.append(end_ns)

    def add_later(self, add: Callable[..., None], *of: object) -> None:
        """Let `add(trace, *of)` add spans that are over, inside the one that is open, if it is exported at all."""
        self._later += (self.place, add, of)

    def describe(self, facts: Callable[..., Facts], *of: object) -> None:
        """Add facts to the root span, if the trace is exported at all."""
        self.notes += (0, facts, of)

    def requested(self) -> None:
        """The root span is a request to another program."""
        self.requests.append(0)

    def fail(self, reason: str) -> None:
        """Mark the trace as failed: it is exported whatever the ratio says."""
        self.error = self.errors[0] = reason

    def spans(self) -> list[Span]:
        """All spans, each behind the one that holds it."""
        facts: list[dict[str, Fact]] = [{} for _ in self.names]
        for place, function, of in zip(*[iter(self.notes)] * 3, strict=True):
            found = function(*of).items()
            facts[place] |= {name: value for name, value in found if value is not None}
        columns = zip(self.names, self.parents, self.starts, self.ends, facts, strict=True)
        return [
            Span(*column, self.errors.get(at), at in self.requests)
            for at, column in enumerate(columns)
        ]

    def __enter__(self) -> Self:
        self._token = _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)
        self.ends[0] = time.perf_counter_ns()
        self._open.trace = None  # no cycle, nothing for the collector
        if kind is not None:
            self.fail(kind.__name__)
        if self.is_kept:
            for self.place, add, of in zip(*[iter(self._later)] * 3, strict=True):  # noqa: B020
                add(self, *of)
            self._export(self)


def _given(facts: Mapping[str, Fact | None]) -> Facts:
    return {name.replace("__", "."): value for name, value in facts.items()}


class Traces:
    """Begins traces; `ratio` is the share of polls without an error that are exported."""

    def __init__(self, export: Export, *, ratio: float) -> None:
        self._export = export
        self._below = round(ratio * 2**64)

    def begin(self, name: str, *, began_ns: int | None = None) -> Trace:
        """A new trace; `began_ns` of the monotonic clock when it began before now."""
        trace_id = int.from_bytes(urandom(16)) or 1
        # The rule of OpenTelemetry's TraceIdRatioBased.
        sampled = (trace_id & _LOW_BITS) < self._below
        return Trace(self._export, name, trace_id, sampled=sampled, began_ns=began_ns)

    def join(self, name: str, parents: Sequence[Parent]) -> Trace:
        """A part of the first parent's trace that another process or task adds; linked to the others."""
        trace = Trace(self._export, name, parents[0].trace_id, sampled=True, began_ns=None)
        trace.root_id = (int.from_bytes(urandom(8)) >> 1) + 1
        trace.remote_parent, trace.links = parents[0], tuple(parents[1:])
        return trace


def span(name: str) -> OpenSpan:
    """Begin a span of the current trace; does nothing without one."""
    trace = _current.get()
    return _NO_SPAN if trace is None else trace.open(name)


def current_trace() -> Trace | None:
    """The trace that this task works on."""
    return _current.get()


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
