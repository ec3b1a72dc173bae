"""Worker processes that share a store: their lanes and their readiness."""
# Tested in tests/contracts/store/test_workers.py

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value

WorkerRole = Literal["run", "worker", "api", "relay"]


class Worker(Value):
    """A running process; for display and lane affinity only, nothing relies on it being true."""

    name: str  # as lanes name their owner
    role: WorkerRole
    version: str
    started_at: datetime
    seen_at: datetime  # its last sign of life
    draining: bool = False


class HeldLane(Value):
    """A lane that a worker has leased."""

    key: str
    until: datetime  # when the lease ends
    epoch: int
    feeds: int  # that belong to it


class WorkerView(Value):
    """A worker with its lanes; `worker` is None when the holder of the lanes is not registered."""

    name: str
    worker: Worker | None
    lanes: tuple[HeldLane, ...] = ()


UnreadyReason = Literal["starting", "draining", "stalled", "too-slow"]


class Unready(Value):
    """One reason why a process is not ready: an UnreadyReason, or the reason of a failing store, disk or bus."""

    reason: str
    part: str  # store, raw, polls, webhooks, bus, or what the run calls the part that waits
    detail: str = ""


class Readiness(Value):
    """The answer of /readyz."""

    ready: bool
    role: WorkerRole
    name: str  # of the process, as lanes name their owner
    reasons: tuple[Unready, ...] = ()
