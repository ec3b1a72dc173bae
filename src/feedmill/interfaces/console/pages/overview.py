"""Overview: the five dashboards as charts, service levels and error budgets, and what needs attention in words.

Adding up the figures of 100,000 feeds takes a moment, so they are kept for a few seconds: a page shows the last
ones, and those that are too old are replaced after the answer was sent.
"""
# Tested in tests/integration/interfaces/console/test_overview.py

import asyncio
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from litestar import Response, get
from litestar.background_tasks import BackgroundTask

from feedmill.engine.run.services import Services
from feedmill.engine.service.figures import top_feeds, total_figures
from feedmill.engine.service.status import Attention, needs_attention, service_levels
from feedmill.interfaces.console.charts import Dot, line, polls_by_outcome, scatter
from feedmill.interfaces.console.render import page
from feedmill.interfaces.console.session import SCOPE
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.model.addresses import mask_address
from feedmill.model.running.figures import Granularity
from feedmill.publish.figure_shapes import FiguresPoint, LevelShape, TopFeeds, TotalFigures

_FRESH_SEC: Final = 4.0  # younger figures are shown as they are; longer, where they cost a lot
_COST_RATIO: Final = 15  # figures are made for at most a fifteenth of the time
_STALE_SEC: Final = 900.0  # older ones are not shown at all
_DOTS: Final = 300
_TOP: Final = 10
_NO_HEALTH: Final = ("feeds", "paused", "circuit-open", "never-polled")


class Span(NamedTuple):
    """A range of time that the charts can show."""

    name: str
    lasts: timedelta
    granularity: Granularity


SPANS: Final = {
    "day": Span("24 hours", timedelta(days=1), "hour"),
    "week": Span("7 days", timedelta(days=7), "hour"),
    "month": Span("30 days", timedelta(days=30), "day"),
}


class Overview(NamedTuple):
    """Everything that the page shows, at one moment."""

    at: datetime
    states: dict[str, int]
    attention: tuple[Attention, ...]
    totals: TotalFigures
    newest: TopFeeds
    polled: TopFeeds
    levels: tuple[LevelShape, ...]


class _Kept(NamedTuple):
    overview: Overview
    made_at: float
    cost_sec: float


class OverviewCache:
    """The last overview of each span; one at a time is made."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._making = asyncio.Lock()

    async def get(self, name: str, services: Services) -> tuple[Overview, bool]:
        """The overview, and whether it should be made anew after the answer."""
        kept, now = self._kept.get(name), services.clock.monotonic()
        if kept is None or now - kept.made_at >= _STALE_SEC:
            return await self.make(name, services), False
        return kept.overview, now - kept.made_at >= max(_FRESH_SEC, _COST_RATIO * kept.cost_sec)

    async def make(self, name: str, services: Services) -> Overview:
        """Read all figures; a request that waits for another's gets the same."""
        asked = services.clock.monotonic()
        async with self._making:
            kept = self._kept.get(name)
            if kept is not None and kept.made_at > asked:
                return kept.overview
            began = services.clock.monotonic()
            found = await _read(SPANS[name], services)
            made_at = services.clock.monotonic()
            self._kept[name] = _Kept(found, made_at, made_at - began)
            return found


@get(["/", "/console"], opt={SCOPE: "read"})
async def overview(request: AnyRequest) -> Response[bytes]:
    """The first page."""
    services = services_of(request)
    cache = app_state_of(request).caches.setdefault("overview", OverviewCache())
    asked = str(request.query_params.get("span") or "day")
    name = asked if asked in SPANS else "day"
    found, is_old = await cache.get(name, services)
    answer = page(
        request,
        "overview.html",
        title="Overview",
        here="/",
        span=name,
        spans=SPANS,
        **_shown(found),
    )
    if is_old:
        answer.background = BackgroundTask(cache.make, name, services)
    return answer


async def _read(span: Span, services: Services) -> Overview:
    now = services.clock.now()
    since = now - span.lasts
    return Overview(
        at=now,
        states=await services.store.feed_states(),
        attention=await needs_attention(services),
        totals=await total_figures(
            services, since=since, granularity=span.granularity, failures=_TOP
        ),
        newest=await top_feeds("new", services, since=since, limit=_TOP),
        polled=await top_feeds("polls", services, limit=_DOTS),
        levels=(await service_levels(services)).levels,
    )


def _shown(found: Overview) -> dict[str, Any]:
    """What the template shows."""
    states, totals = found.states, found.totals
    unwell = {name: count for name, count in states.items() if name not in _NO_HEALTH}
    words = [f"{count:,} {name.replace('-', ' ')}" for name, count in unwell.items()]
    fresh, paused = states["never-polled"], states["paused"]
    words += [f"{fresh:,} not polled yet"] if fresh else []
    words += [f"{paused:,} paused"] if paused else []
    tripped = states["circuit-open"]
    words += [f"{tripped:,} with an open circuit"] if tripped else []
    points = _without_gaps(totals)
    return {
        "at": found.at,
        "attention": found.attention,
        "feeds": states["feeds"],
        "well": states["feeds"] - sum(unwell.values()) - fresh - paused,
        "states_in_words": " · ".join(words) or ("all are well" if states["feeds"] else "none yet"),
        "total": totals.total,
        "levels": [(one, _used(one)) for one in found.levels if one.measured],
        "points": points,
        "polls_chart": polls_by_outcome(
            "Polls by outcome",
            [start for start, _ in points],
            [None if one is None else one.figures for _, one in points],
        ),
        "saved_chart": line(
            "Bytes saved by conditional requests",
            [start for start, _ in points],
            [0 if one is None else one.figures.bytes_saved for _, one in points],
            unit="B",
            height=110,
        ),
        "interval_chart": scatter(
            "Interval of each feed against how often it publishes",
            [
                Dot(
                    one.figures.ewma_sec or 0,
                    one.figures.interval_sec or 0,
                    one.title or mask_address(one.url),
                    f"/console/feeds/{one.feed_id}",
                )
                for one in found.polled.items
            ],
            x_name="publishes every",
            y_name="polled every",
        ),
        "newest": found.newest.items,
        "failures": totals.failures,
    }


def _without_gaps(totals: TotalFigures) -> list[tuple[datetime, FiguresPoint | None]]:
    """Every hour or day of the range; those without polls have no figures."""
    step = timedelta(hours=1) if totals.granularity == "hour" else timedelta(days=1)
    known = {one.start: one for one in totals.points}
    count = int((totals.until - totals.since) / step)
    starts = [totals.since + step * at for at in range(count)]
    return [(start, known.get(start)) for start in starts]


def _used(level: LevelShape) -> float:
    """How much of a level's target is used up, 0 to 1; more than 1 is too much."""
    if level.value is None:
        return 0.0
    if level.name == "scheduler-freshness":
        return (1 - level.value) / (1 - level.target)
    return level.value / level.target
