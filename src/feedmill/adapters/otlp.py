"""Sends traces to an OpenTelemetry collector by OTLP over HTTP; the SDK's own thread does it (extra `otel`).

Headers, certificates, compression, timeouts and the size of batches are the SDK's: it reads OTEL_EXPORTER_OTLP_* and
OTEL_BSP_* itself. A collector that does not answer costs spans, never a poll: the queue is bounded.
"""
# Tested in tests/integration/observe/test_traces.py

import logging
import threading
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from feedmill.config import ObserveConfig
from feedmill.observe import log
from feedmill.observe.traces import Parent, Span, Trace
from feedmill.version import __version__

_PATH: Final = "/v1/traces"
_CLOSE_SEC: Final = 5.0  # for what is in the queue when the process ends
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_NO_ERROR: Final = Status(StatusCode.UNSET)


class _Resource(Resource):
    """The SDK's groups spans by its hash, which it computes for each span by writing it as JSON."""

    __hash__ = object.__hash__


class OtlpExporter:
    """Exports finished traces; `close` sends what is left, within a limit."""

    def __init__(self, config: ObserveConfig, *, instance: str) -> None:
        named = Resource.create(
            {
                "service.name": config.service_name,
                "service.version": __version__,
                "service.instance.id": instance,
            }
        )
        self._resource = _Resource(named.attributes, named.schema_url)
        self._scope = InstrumentationScope("feedmill", __version__)
        _report_export_errors()
        self._exporter = OTLPSpanExporter(endpoint=traces_url(config.otlp_endpoint or ""))
        self._processor = BatchSpanProcessor(self._exporter)

    def export(self, trace: Trace) -> None:
        """Put the spans of a trace into the queue."""
        spans, first, origin_ns = trace.spans(), trace.first_id, trace.origin_ns
        contexts = [
            _context(Parent(trace.trace_id, first + number)) for number in range(len(spans))
        ]
        outside = _context(trace.remote_parent, remote=True)
        for span, context in zip(spans, contexts, strict=True):
            self._processor.on_end(
                ReadableSpan(
                    name=span.name,
                    context=context,
                    parent=outside if span.parent < 0 else contexts[span.parent],
                    resource=self._resource,
                    attributes=span.facts,
                    links=_links(trace) if span.parent < 0 else (),
                    kind=SpanKind.CLIENT if span.is_request else SpanKind.INTERNAL,
                    status=_status(span),
                    start_time=origin_ns + span.start_ns,
                    end_time=origin_ns + span.end_ns,
                    instrumentation_scope=self._scope,
                )
            )

    def close(self) -> None:
        """Send what is left; a collector that does not answer holds the process up for seconds at most."""
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(_CLOSE_SEC)
        if ending.is_alive():
            self._exporter.shutdown()  # type: ignore[no-untyped-call]  # half typed; it stops retrying


def traces_url(endpoint: str) -> str:
    """The address for traces below the base address of a collector; one that names it stays."""
    return endpoint if endpoint.endswith(_PATH) else endpoint.rstrip("/") + _PATH


def _context(parent: Parent | None, *, remote: bool = False) -> SpanContext | None:
    if parent is None:
        return None
    return SpanContext(parent.trace_id, parent.span_id, is_remote=remote, trace_flags=_SAMPLED)


def _links(trace: Trace) -> tuple[Link, ...]:
    contexts = (_context(parent, remote=True) for parent in trace.links)
    return tuple(Link(context) for context in contexts if context is not None)


def _status(span: Span) -> Status:
    return _NO_ERROR if span.error is None else Status(StatusCode.ERROR, span.error)


class _LogHandler(logging.Handler):
    """What the SDK logs about failed exports, as lines of our own log."""

    def emit(self, record: logging.LogRecord) -> None:
        log.logger("traces").warning("traces were not exported", detail=record.getMessage()[:300])


def _report_export_errors() -> None:
    sdk = logging.getLogger("opentelemetry")
    if not any(isinstance(handler, _LogHandler) for handler in sdk.handlers):
        sdk.addHandler(_LogHandler(level=logging.WARNING))
        sdk.propagate = False
