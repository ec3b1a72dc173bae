"""Store protocol: heartbeats of workers; for people and for affinity, no decision relies on them."""

from typing import Protocol

from feedmill.model.worker import Worker, WorkerView


class WorkerStore(Protocol):
    """Heartbeats of workers; for people and for affinity, no decision relies on them."""

    async def note_worker(self, worker: Worker) -> None: ...  # a sign of life
    async def forget_worker(self, name: str) -> None: ...
    async def workers(self) -> tuple[WorkerView, ...]: ...  # with the lanes they hold, by name
