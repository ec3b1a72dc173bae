"""`feedmill workers`: list the processes that use the store, with heartbeat and leases."""
# Tested in tests/integration/interfaces/cli/

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

import click

from feedmill.engine.run.readiness import SILENT_AFTER_SEC
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Printer, command
from feedmill.interfaces.cli.options import flag, list_options
from feedmill.interfaces.cli.output import format_duration, show_list, show_table
from feedmill.model.base import fields_of
from feedmill.model.running.worker import WorkerView

_KEYS = 3  # hosts that a row names; the rest is counted


@command()
@flag("--lanes", "each", "List every leased host.")
@list_options()
async def workers(services: Services, *, each: bool) -> Printer:
    """List the processes that use the store, with their last heartbeat and the hosts they lease.

    A host is leased by one process at a time. The hosts of a killed process are free again when
    their leases end; no action is needed.

    \b
    Examples:
      feedmill workers
      feedmill workers --lanes           # every host, and when its lease ends
      feedmill workers --json | jq .due_lanes
    """
    now = services.clock.now()
    found, due = await services.store.workers(), await services.store.due_lanes(now)
    items = [{"state": worker_state(one, now), **_shape(one)} for one in found]
    head: tuple[str, ...] = ("WORKER", "ROLE", "STATE", "LAST HEARTBEAT", "VERSION", "HOLDS")
    rows = [_row(one, now) for one in found]
    if each:
        head = ("WORKER", "HOST", "LEASE ENDS IN", "FEEDS")
        rows = [row for one in found for row in _lane_rows(one, now)]

    def show() -> None:
        show_table(head, rows)
        _sum_up(found, now, due)

    whole = {"items": items, "next": None, "due_lanes": due}
    return partial(show_list, items, head, rows, whole=whole, show=show)


def _sum_up(found: Sequence[WorkerView], now: datetime, due: int) -> None:
    held = sum(len(one.lanes) for one in found)
    silent = sum(worker_state(one, now) in ("silent", "unknown") for one in found)
    gone = f", {silent} silent" if silent else ""
    click.echo(
        f"{len(found) - silent} working{gone}, {held} hosts leased, {due} hosts due and free"
    )
    if not found:
        click.echo("no worker is running; start one: feedmill worker, or feedmill run")


def worker_state(one: WorkerView, now: datetime) -> str:
    """working, draining, silent (heartbeat overdue), or unknown (lanes without a worker)."""
    if one.worker is None:
        return "unknown"
    if now - one.worker.seen_at > timedelta(seconds=SILENT_AFTER_SEC):
        return "silent"
    return "draining" if one.worker.draining else "working"


def _shape(one: WorkerView) -> dict[str, object]:
    known = fields_of(one.worker, "role version started_at seen_at")
    return {"name": one.name, **known, "lanes": one.lanes}


def _row(one: WorkerView, now: datetime) -> tuple[str, ...]:
    state, known = worker_state(one, now), one.worker
    sign = f"{format_duration(now - known.seen_at)} ago" if known else "-"
    keys = ", ".join(lane.key for lane in one.lanes[:_KEYS])
    more = f" and {len(one.lanes) - _KEYS} more" if len(one.lanes) > _KEYS else ""
    role, version = (known.role, known.version) if known else ("-", "-")
    return (one.name, role, state, sign, version, f"{keys}{more}" or "-")


def _lane_rows(one: WorkerView, now: datetime) -> list[tuple[str, ...]]:
    return [
        (one.name, lane.key, format_duration(lane.until - now), str(lane.feeds))
        for lane in one.lanes
    ]
