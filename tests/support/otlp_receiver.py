"""An OpenTelemetry collector on loopback: it takes OTLP over HTTP and keeps the spans."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class OtlpReceiver:
    """What was exported, as the collector reads it."""

    def __init__(self) -> None:
        self.url = ""
        self.paths: list[str] = []
        self.resources: list[dict[str, str]] = []
        self.spans: list[Any] = []

    def take(self, path: str, body: bytes) -> None:
        """Keep the spans of one request."""
        self.paths.append(path)
        for part in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append({a.key: a.value.string_value for a in part.resource.attributes})
            self.spans += [span for scope in part.scope_spans for span in scope.spans]

    def traces(self) -> dict[str, dict[str, Any]]:
        """The spans by trace id and name."""
        found: dict[str, dict[str, Any]] = {}
        for span in self.spans:
            found.setdefault(span.trace_id.hex(), {})[span.name] = span
        return found


def facts_of(span: Any) -> dict[str, Any]:
    """The attributes of an exported span."""
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


@contextmanager
def receiving_traces() -> Iterator[OtlpReceiver]:
    """A collector while the block runs."""
    receiver = OtlpReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
