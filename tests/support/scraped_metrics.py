"""The page of /metrics after the gauges of the store were updated once."""

from tests.support.engine_harness import Stage

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.report import run_counters
from feedmill.observe.metrics import Metrics


class _OneRound(Lifecycle):
    """A run that ends when its loop would sleep."""

    async def sleep_unless_stopping(self, seconds: float) -> None:  # noqa: ARG002  # it never sleeps
        """Stop instead."""
        self.stop()


async def scraped(stage: Stage) -> str:
    """The page of /metrics after the gauges of the store were updated once."""
    metrics = Metrics()
    await run_counters(stage.services.store, stage.clock, metrics, _OneRound("the test"))
    return metrics.page().decode()
