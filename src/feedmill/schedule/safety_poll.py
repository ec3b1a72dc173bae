"""Stretches the wait of a feed whose hub delivers: the poll is a safety check, never left out (D41)."""

from datetime import timedelta
from typing import Literal

from msgspec.structs import replace

from feedmill.model.schedule import Decision, Step


def stretch_for_push(
    decision: Decision, *, wait_sec: float, code: Literal["push-trusted", "push-only"]
) -> Decision:
    """The decision with at least this wait. The interval that is carried on stays, so that the feed
    returns to its own pace when trust ends."""
    if decision.delay_sec >= wait_sec:
        return decision
    step = Step(code=code, of="delay", before=decision.delay_sec, after=float(wait_sec))
    return replace(
        decision,
        steps=(*decision.steps, step),
        delay_sec=float(wait_sec),
        next_poll_at=decision.inputs.now + timedelta(seconds=wait_sec),
    )
