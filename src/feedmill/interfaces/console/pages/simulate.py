"""Simulate: the recorded past of some feeds under another scheduling policy."""
# Tested in tests/integration/interfaces/console/test_simulate.py

from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup

from feedmill.engine.service.simulate import (
    SimulationResult,
    candidate_config,
    simulate_store,
)
from feedmill.interfaces.console.charts import strips
from feedmill.interfaces.console.render import view
from feedmill.interfaces.console.session import number_field, text_field
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.page import FeedFilter

HERE: Final = "/console/simulate"
_FEEDS: Final = 25  # of one simulation: more take longer than a page may
_MOST_DAYS: Final = 90
_USUAL_DAYS: Final = 30
_POLICIES: Final = ("budget", "seed")


@view("/console/simulate", "simulate.html", "Simulate")
async def simulate(request: AnyRequest) -> dict[str, Any]:
    """The form, and the result when a policy was chosen."""
    services, given = services_of(request), request.query_params
    chosen = {
        name: text_field(given, name) for name in ("text", "with_tag", "policy", "settings", "days")
    }
    days = min(number_field(chosen, "days", 0, digits=4) or _USUAL_DAYS, _MOST_DAYS)
    found: SimulationResult | None = None
    is_none = False
    if chosen["policy"] or chosen["settings"]:
        settings = [one.strip() for one in chosen["settings"].split(",") if one.strip()]
        policy = chosen["policy"] if chosen["policy"] in _POLICIES else None
        config = candidate_config(services.config.schedule, policy, settings)
        where = FeedFilter(
            text=chosen["text"] or None, tag=chosen["with_tag"] or None, order="name"
        )
        feeds = (await services.store.find_feeds(where, limit=_FEEDS)).items
        is_none = not feeds
        found = await simulate_store(services, config, feeds=feeds, days=days) if feeds else None
    return {
        "chosen": chosen,
        "days": days,
        "policies": _POLICIES,
        "most": _FEEDS,
        "found": found,
        "is_none": is_none,
        "chart": None if found is None else _chart(found),
    }


def _chart(found: SimulationResult) -> Markup | None:
    """When each policy polled, for one feed."""
    if not found.timelines:
        return None
    rows = [
        (one.policy, [datetime.fromtimestamp(at, UTC) for at in one.polls])
        for one in found.timelines
    ]
    if found.series is not None:
        rows.insert(0, ("entries", [datetime.fromtimestamp(at, UTC) for at in found.series.times]))
    return strips("When each policy polled, and when entries came out", rows)
