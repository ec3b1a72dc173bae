"""Whether a process can do its work at the moment, and if not, why not."""

from typing import Literal

from feedmill.model.base import Value
from feedmill.model.worker import WorkerRole

UnreadyReason = Literal["starting", "draining", "stalled", "too-slow"]


class Unready(Value):
    """One reason: a word of its own, or the stable word of a store, a disk or a bus that fails."""

    reason: str
    part: str  # store, raw, polls, webhooks, bus, or what the run calls the part that waits
    detail: str = ""


class Readiness(Value):
    """What /readyz tells."""

    ready: bool
    role: WorkerRole
    name: str  # of the process, as lanes name their owner
    reasons: tuple[Unready, ...] = ()
