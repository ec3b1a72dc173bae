"""`feedmill status` and `feedmill stats`: the whole engine on one screen, and counts."""
# Tested in tests/integration/interfaces/cli/commands/figures/test_top_and_status.py

from feedmill.engine.run.services import Services
from feedmill.engine.service.hosts import host_in_words
from feedmill.engine.service.queries import counts
from feedmill.engine.service.status import status as engine_status
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.output import format_bytes, show_line
from feedmill.publish.figure_shapes import FailureShape, LevelShape, StatusShape


@command()
async def status(services: Services) -> Answer:
    """Show feeds by health, recent polls, resting hosts, sizes, service levels, and what to do next."""
    found = await engine_status(services)
    return Answer(found, lambda: _show(found))


def _show(found: StatusShape) -> None:
    _line("feeds", _feeds(found))
    _line("due", _due(found))
    _line(f"since {found.since:%H:%M}", _recent(found))
    for failure in found.failures[:5]:
        _line("  failed today", _failure(failure))
    for host in found.resting_hosts:
        _line("resting host", f"{host.host}: {host_in_words(host)}")
    sizes = found.sizes
    _line(
        "stored",
        f"database {format_bytes(sizes.database_bytes)}, raw {format_bytes(sizes.raw_bytes)}"
        f" in {sizes.raw_documents:,} documents",
    )
    for level in found.levels:
        _line("service level", _level(level))
    for advice in found.advice:
        _line("next", advice)


def _line(name: str, text: str) -> None:
    show_line(name, text, width=16, bold=True)


def _feeds(found: StatusShape) -> str:
    feeds = found.feeds
    parts = {
        "active": feeds.active,
        "backing off": feeds.backing_off,
        "suspect": feeds.suspect,
        "gone": feeds.gone,
        "paused": feeds.paused,
        "never polled": feeds.never_polled,
        "with an open circuit": feeds.circuit_open,
    }
    shown = ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)
    return f"{feeds.feeds:,}" + (f": {shown}" if shown else "")


def _due(found: StatusShape) -> str:
    feeds = found.feeds
    held = f" ({feeds.held:,} of them are held for their host)" if feeds.held else ""
    return f"{feeds.due:,} now{held}, {feeds.late:,} late by more than their interval"


def _recent(found: StatusShape) -> str:
    recent = found.recent
    if not recent.polls:
        return "no polls"
    return (
        f"{recent.polls:,} polls: {recent.fresh:,} changed, {recent.unchanged:,} not modified,"
        f" {recent.failed:,} failed ({recent.failed_ours:,} ours, {recent.failed_theirs:,} theirs,"
        f" {recent.failed_host:,} host); {recent.entries_new:,} new entries,"
        f" {format_bytes(recent.bytes_in)} received, {format_bytes(recent.bytes_saved)} saved"
    )


def _failure(failure: FailureShape) -> str:
    status = f" {failure.status}" if failure.status is not None else ""
    return f"{failure.count:,} × {failure.outcome}{status} at {failure.host} ({failure.fault})"


def _level(level: LevelShape) -> str:
    return f"{'met   ' if level.met else 'MISSED'} {level.words}"


@command()
async def stats(services: Services) -> Answer:
    """Count feeds, entries, fetches and events."""
    found = (await counts(services)).counts
    return Answer(found, "\n".join(f"{key:<28}{value:>12,}" for key, value in found.items()))
