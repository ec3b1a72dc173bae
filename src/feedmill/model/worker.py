"""Who works on a store together, and what each of them holds."""

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value

WorkerRole = Literal["run", "worker", "api", "relay"]


class Worker(Value):
    """One process at work; a hint for people and for affinity, nothing relies on it being true."""

    name: str  # as lanes name their owner
    role: WorkerRole
    version: str
    started_at: datetime
    seen_at: datetime  # its last sign of life
    draining: bool = False


class HeldLane(Value):
    """A lane that somebody has leased."""

    key: str
    until: datetime  # when the lease ends
    epoch: int
    feeds: int  # that belong to it


class WorkerView(Value):
    """A worker with its lanes; `worker` is None when lanes are held by one that nobody knows."""

    name: str
    worker: Worker | None
    lanes: tuple[HeldLane, ...] = ()
