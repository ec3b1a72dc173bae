"""Simulates another scheduling policy on what was recorded, or on a file of publication times (D23).

Every recorded decision is first made again from its stored inputs under its stored settings: if one came
out otherwise, the record would not be worth simulating on. Then the times at which entries came out are
replayed under the candidate, from the first recorded poll of each feed on.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Final

import msgspec
from msgspec.structs import asdict, replace

from feedmill.config import ScheduleConfig
from feedmill.engine.run.services import Services, each_page
from feedmill.engine.service.feed_lookup import all_feeds
from feedmill.engine.service.queries import check_intervals
from feedmill.errors import UsageError
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value, filled
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.schedule import StoredArrival
from feedmill.publish.figure_shapes import PolicyFigures, SimulatedFeed, SimulationShape, Timeline
from feedmill.publish.mistakes import mistake_in_words
from feedmill.schedule import simulation
from feedmill.schedule.arrivals import event_times
from feedmill.schedule.decide import config_of, decide_again, own_schedule, settings_of

DEFAULT_DAYS: Final = 30
MAX_FEEDS: Final = 500  # of a whole store; more say the same
_SHOWN: Final = 200
_BEFORE: Final = timedelta(days=120)  # what is learnt from before the first poll
_PAGE: Final = 1_000
_MAX_ENTRIES: Final = 5_000


class SeriesFile(msgspec.Struct):
    """A file of publication times."""

    series: list[simulation.Series]


class SimulatedPast(Value):
    """One feed: what was recorded of it, and the same time under the candidate."""

    feed: Feed
    series: simulation.Series
    recorded: simulation.Simulation
    most_delays: tuple[float, ...]  # of the recorded entries, if each came out right after a poll
    candidate: simulation.Simulation
    decisions: int
    reproduced: int


class SimulationResult(Value):
    """The figures, and what a plot of one feed needs."""

    shape: SimulationShape
    title: str
    series: simulation.Series | None = None
    timelines: tuple[Timeline, ...] = ()


def candidate_config(
    base: ScheduleConfig, policy: str | None, settings: Sequence[str]
) -> ScheduleConfig:
    """The settings in force with some of them changed by `key=value`; UsageError names what is wrong."""
    pairs = [one.partition("=") for one in settings]
    wrong = [key for key, sign, _ in pairs if not sign]
    if wrong:
        message = f"{wrong[0]!r} is not a setting and its value, as in price_sec=900"
        raise UsageError(message)
    given = {key.strip(): value.strip() for key, _, value in pairs}
    if policy and given.setdefault("policy", policy) != policy:
        message = f"the policy is both {policy} and {given['policy']}; give one of them"
        raise UsageError(message)
    known = ScheduleConfig.__struct_fields__
    unknown = sorted(set(given) - set(known))
    if unknown:
        message = f"[schedule] has no setting {', '.join(unknown)}; it has: {', '.join(known)}"
        raise UsageError(message)
    try:
        config = msgspec.convert({**asdict(base), **given}, ScheduleConfig, strict=False)
    except msgspec.ValidationError as problem:
        message = f"invalid setting: {mistake_in_words(problem, ScheduleConfig)}"
        raise UsageError(message) from problem
    check_intervals(config)
    return config


async def simulate_store(
    services: Services,
    config: ScheduleConfig,
    *,
    feeds: Sequence[Feed] | None = None,
    days: int = DEFAULT_DAYS,
) -> SimulationResult:
    """The recorded past of feeds under another policy; None: of the whole store, or an even sample of it."""
    chosen = await all_feeds(services) if feeds is None else list(feeds)
    if len(chosen) > MAX_FEEDS:
        chosen = chosen[:: -(-len(chosen) // MAX_FEEDS)]
    until = services.clock.now()
    since = until - timedelta(days=days)
    found = [await _simulate_feed(feed, services, config, since, until) for feed in chosen]
    pasts = [one for one in found if one is not None]
    return _result(pasts, config)


def simulate_series(data: bytes, config: ScheduleConfig) -> SimulationResult:
    """A file of publication times under a policy; UsageError when it is not one."""
    try:
        given = msgspec.json.decode(data, type=SeriesFile).series
    except msgspec.DecodeError as problem:
        message = (
            f"this is not a file of series: {problem}; expected"
            ' {"series": [{"id", "times", "start", "end", "window", "ttl_sec"}]}'
        )
        raise UsageError(message) from problem
    series = [replace(one, times=tuple(sorted(one.times)), dates=None) for one in given]
    runs = [simulation.simulate(one, simulation.own_policy(one, config)) for one in series]
    shape = SimulationShape(
        feeds=len(series),
        entries=sum(len(run.delays) + run.missed for run in runs),
        since=_at(min((one.start for one in series), default=None)),
        until=_at(max((one.end for one in series), default=None)),
        settings=settings_of(config),
        policies=(_figures(config.policy, simulation.summarise(runs)),),
        items=tuple(_item(run.id, run) for run in runs[:_SHOWN]),
    )
    alone = len(series) == 1
    return SimulationResult(
        shape=shape,
        title=series[0].id if alone else f"{len(series)} series",
        series=series[0] if alone else None,
        timelines=(Timeline(policy=config.policy, polls=runs[0].polls),) if alone else (),
    )


async def _simulate_feed(
    feed: Feed, services: Services, config: ScheduleConfig, since: datetime, until: datetime
) -> SimulatedPast | None:
    """None when the feed was not polled in that time."""
    fetches = await _fetches(feed, services, since)
    if not fetches:
        return None
    start = fetches[0].fetched_at
    arrivals = feed.schedule.arrivals
    ttl = feed.hints.ttl_sec or feed.hints.update_period_sec
    series = simulation.Series(
        id=feed.id,
        times=await services.store.arrival_times(feed.id, start - _BEFORE),
        start=start.timestamp(),
        end=until.timestamp(),
        window=(arrivals.window if arrivals else 0) or simulation.USUAL_WINDOW,
        ttl_sec=ttl.value if ttl else None,
    )
    stored = await services.store.stored_arrivals(feed.id, _MAX_ENTRIES)
    delays, most = _recorded_delays(stored, start)
    recorded = simulation.Simulation(
        id=feed.id,
        days=(series.end - series.start) / 86_400,
        polls=tuple(one.fetched_at.timestamp() for one in fetches),
        unchanged=sum(one.http_status == 304 for one in fetches),
        delays=delays,
        missed=0,
    )
    decisions = [
        one
        for one in await services.store.decisions(feed.id, limit=_PAGE)
        if one.settings is not None
    ]
    own = own_schedule(feed.overrides, config)
    return SimulatedPast(
        feed=feed,
        series=series,
        recorded=recorded,
        most_delays=most,
        candidate=simulation.simulate(series, simulation.own_policy(series, own)),
        decisions=len(decisions),
        reproduced=sum(decide_again(one.inputs, config_of(one)) == one for one in decisions),
    )


async def _fetches(feed: Feed, services: Services, since: datetime) -> list[FetchRecord]:
    """The feed's fetches since then, the oldest first."""
    read = services.store.fetches
    found: list[FetchRecord] = []
    async for page in each_page(lambda after: read(feed.id, after=after, limit=_PAGE)):
        found += [one for one in page.items if one.fetched_at >= since]
        if len(found) % _PAGE:
            break
    return found[::-1]


def _recorded_delays(
    stored: Sequence[StoredArrival], start: datetime
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """From when entries came out until they were found; the same if each came right after a poll."""
    delays: list[float] = []
    most: list[float] = []
    for one in stored:
        if one.first_seen <= start or one.previous_at is None:
            continue
        found = one.first_seen.timestamp()
        (came,) = event_times((one.stated_at,), previous_at=one.previous_at, now=one.first_seen)
        delays.append(found - came)
        most.append(found - one.previous_at.timestamp())
    return tuple(delays), tuple(most)


def _result(pasts: Sequence[SimulatedPast], config: ScheduleConfig) -> SimulationResult:
    recorded = simulation.summarise(one.recorded for one in pasts)
    most = [delay for one in pasts for delay in one.most_delays]
    line = _figures("recorded", recorded)
    shape = SimulationShape(
        feeds=len(pasts),
        entries=sum(len(one.candidate.delays) + one.candidate.missed for one in pasts),
        since=_at(min((one.series.start for one in pasts), default=None)),
        until=_at(max((one.series.end for one in pasts), default=None)),
        settings=settings_of(config),
        policies=(
            replace(line, missed=None, max_mean_delay_sec=fmean(most) if most else None),
            _figures(config.policy, simulation.summarise(one.candidate for one in pasts)),
        ),
        items=tuple(
            _item(one.feed.title or mask_address(one.feed.url), one.candidate, one.recorded)
            for one in pasts[:_SHOWN]
        ),
        decisions=sum(one.decisions for one in pasts),
        reproduced=sum(one.reproduced for one in pasts),
    )
    if len(pasts) != 1:
        return SimulationResult(shape=shape, title=f"{len(pasts)} feeds")
    (only,) = pasts
    return SimulationResult(
        shape=shape,
        title=only.feed.title or mask_address(only.feed.url),
        series=only.series,
        timelines=(
            Timeline(policy="recorded", polls=only.recorded.polls),
            Timeline(policy=config.policy, polls=only.candidate.polls),
        ),
    )


def _item(
    title: str, run: simulation.Simulation, recorded: simulation.Simulation | None = None
) -> SimulatedFeed:
    return SimulatedFeed(
        id=run.id,
        title=title,
        entries=len(run.delays) + run.missed,
        requests=len(run.polls),
        mean_delay_sec=_mean_delay(run),
        missed=run.missed,
        recorded_requests=None if recorded is None else len(recorded.polls),
        recorded_mean_delay_sec=None if recorded is None else _mean_delay(recorded),
    )


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _figures(policy: str, summary: simulation.Summary) -> PolicyFigures:
    """A simulated policy as one line."""
    return filled(
        PolicyFigures,
        summary,
        policy=policy,
        requests_per_day=round(summary.requests_per_day, 4),
        unchanged_share=round(summary.unchanged_share, 4),
    )


def _mean_delay(run: simulation.Simulation) -> float | None:
    """The mean delay of the entries that were found."""
    return sum(run.delays) / len(run.delays) if run.delays else None
