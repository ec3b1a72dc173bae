"""How often a feed publishes, measured from its own entries (002 §6.3, D21)."""

from collections.abc import Iterable
from datetime import datetime
from heapq import nlargest
from itertools import pairwise

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Cadence


def measure_cadence(
    publications: Iterable[datetime], *, now: datetime, config: ScheduleConfig
) -> Cadence | None:
    """The cadence over the newest publication times; None when there are fewer than two.

    A time that lies ahead of the clock is a promise or a mistake, and never counts (002 §7).
    """
    past = nlargest(config.ewma_window, (at for at in publications if at <= now))
    ewma_sec = ewma_of_gaps(past, alpha=config.ewma_alpha, window=config.ewma_window)
    return None if ewma_sec is None else Cadence(ewma_sec=ewma_sec, last_published_at=past[0])


def ewma_of_gaps(
    publications: Iterable[datetime], *, alpha: float, window: int = 20
) -> float | None:
    """The EWMA in seconds of the gaps between the newest times, oldest gap first.

    Equal times are kept: entries that came out together are a gap of nought.
    """
    times = sorted(nlargest(window, publications))
    ewma: float | None = None
    for earlier, later in pairwise(times):
        gap = (later - earlier).total_seconds()
        ewma = gap if ewma is None else alpha * gap + (1 - alpha) * ewma
    return ewma


def silence_sec(cadence: Cadence, *, now: datetime) -> float | None:
    """The open gap since the last entry, once it is longer than the usual one."""
    if cadence.last_published_at is None:
        return None
    gap = (now - cadence.last_published_at).total_seconds()
    return gap if gap > cadence.ewma_sec else None


def expected_gap_sec(cadence: Cadence, *, now: datetime, alpha: float) -> float:
    """The EWMA with the silence counted in, so that a feed which stops is asked less (D21)."""
    silence = silence_sec(cadence, now=now)
    if silence is None:
        return cadence.ewma_sec
    return alpha * silence + (1 - alpha) * cadence.ewma_sec
