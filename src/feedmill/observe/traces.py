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
from typing import Final, NamedTuple, Self

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


class Span:
    """One step of a trace; used as a context manager, or added when it is over.

    Most spans are never exported, so they cost little: facts that take work are a function that is called
    at the export (`describe`).
    """

    error: str | None = None
    is_request = False  # to another program
    _facts: tuple[Facts, ...] = ()
    _later: tuple[tuple[Callable[..., Facts], tuple[object, ...]], ...] = ()

    def __init__(self, trace: "Trace | None", name: str, parent: int, start_ns: int) -> None:
        self.trace = trace
        self.name = name
        self.parent = parent  # its place in the trace's list; -1: none
        self.start_ns = start_ns  # of the monotonic clock
        self.end_ns = start_ns

    def set(self, **facts: Fact | None) -> None:
        """Add facts; two underscores become a dot, as OpenTelemetry names attributes. None says nothing."""
        self._facts += (facts,)

    def describe(self, facts: Callable[..., Facts], *of: object) -> None:
        """Add the facts that the function gives, if the trace is exported at all."""
        self._later += ((facts, of),)

    def facts(self) -> dict[str, Fact]:
        """Everything that was said about it, under the names of OpenTelemetry."""
        said = (*self._facts, *(function(*of) for function, of in self._later))
        return {
            name.replace("__", "."): value
            for facts in said
            for name, value in facts.items()
            if value is not None
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        trace = self.trace
        if trace is not None:
            self.end_ns = time.perf_counter_ns()
            trace.parent = self.parent
            if kind is not None:
                self.error = trace.error = kind.__name__


class _NoSpan(Span):
    """What `span` returns when there is no trace."""

    def set(self, **facts: Fact | None) -> None:
        """Do nothing."""

    def describe(self, facts: Callable[..., Facts], *of: object) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """Do nothing."""


_NO_SPAN: Final = _NoSpan(None, "", -1, 0)


class Trace:
    """The spans of one poll while it runs; a context manager that makes it the current trace."""

    __slots__ = (
        "_deferred", "_export", "_token", "error", "links", "origin_ns", "parent", "remote_parent", "root_id",
        "sampled", "spans", "trace_id",
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
        self.spans = [Span(self, name, -1, now if began_ns is None else began_ns)]
        self.parent = 0  # where the next span belongs
        self.remote_parent: Parent | None = None
        self.links: tuple[Parent, ...] = ()
        self._deferred: list[tuple[Callable[..., None], int, tuple[object, ...]]] = []
        self._export = export
        self._token: Token[Trace | None] | None = None

    @property
    def root(self) -> Span:
        """The span that holds all others."""
        return self.spans[0]

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

    def open(self, name: str) -> Span:
        """Begin a span inside the one that is open."""
        span = Span(self, name, self.parent, time.perf_counter_ns())
        self.parent = len(self.spans)
        self.spans.append(span)
        return span

    def add(self, name: str, start_ns: int, end_ns: int) -> Span:
        """Add a span that is over, inside the one that is open."""
        span = Span(self, name, self.parent, start_ns)
        span.end_ns = end_ns
        self.spans.append(span)
        return span

    def add_later(self, add: Callable[..., None], *of: object) -> None:
        """Let `add(trace, *of)` add spans that are over, inside the one that is open, if it is exported at all."""
        self._deferred.append((add, self.parent, of))

    def fail(self, reason: str) -> None:
        """Mark the trace as failed: it is exported whatever the ratio says."""
        self.error = self.root.error = reason

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
        self.root.end_ns = time.perf_counter_ns()
        if kind is not None:
            self.fail(kind.__name__)
        if self.is_kept:
            for add, parent, of in self._deferred:
                self.parent = parent
                add(self, *of)
            self._export(self)
        for span in self.spans:  # without a cycle the collector of garbage has nothing to do
            span.trace = None


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


def span(name: str) -> Span:
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
