"""Opens the export of traces where the settings name a collector."""
# Tested in tests/integration/observe/test_traces.py

from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING

from feedmill.app.settings import owner_name
from feedmill.config import Config
from feedmill.errors import MissingExtraError
from feedmill.observe.traces import Trace, Traces

if TYPE_CHECKING:
    from feedmill.adapters.otlp import OtlpExporter


def open_traces(config: Config, stack: AsyncExitStack) -> Traces | None:
    """Traces that go to the configured collector until the stack closes; None: they are off."""
    if config.observe.otlp_endpoint is None:
        return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        extra, part = "otel", "sending traces to [observe] otlp_endpoint"
        raise MissingExtraError(extra, part)
    export = _LazyExport(config)
    stack.callback(export.close)
    return Traces(export, ratio=config.observe.trace_ratio)


class _LazyExport:
    """The exporter, loaded at the first trace: most commands poll nothing."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._exporter: OtlpExporter | None = None

    def __call__(self, trace: Trace) -> None:
        if self._exporter is None:
            from feedmill.adapters.otlp import OtlpExporter  # noqa: PLC0415  # an extra

            self._exporter = OtlpExporter(self._config.observe, instance=owner_name())
        self._exporter.export(trace)

    def close(self) -> None:
        if self._exporter is not None:
            self._exporter.close()
