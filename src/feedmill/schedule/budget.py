"""The budget policy: poll when the entries not seen yet have together waited for the price (D34).

A request has a price in seconds of waiting. It is higher for a feed that sends its whole document each
time, and while the lane of its host is late: then every request delays those behind it.
"""

from typing import Final

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Arrivals, Inputs, Step, StepCode
from feedmill.schedule.arrivals import Forecast, forecast

_QUIET_SHARE: Final = 0.1  # of the silence so far: how long a quiet feed may wait


def known_arrivals(inputs: Inputs, config: ScheduleConfig) -> Arrivals | None:
    """What the policy forecasts from; None under `seed`, and while no event of the feed is known."""
    arrivals = inputs.state.arrivals
    return arrivals if config.policy == "budget" and arrivals and arrivals.events else None


def wait_for_price(
    interval: float, arrivals: Arrivals, inputs: Inputs, config: ScheduleConfig
) -> Step:
    """The interval after which a poll is worth its price, within the floor and the ceiling."""
    expected = forecast_of(arrivals, inputs, config)
    ceiling = ceiling_sec(inputs, config)
    wait = max(expected.wait_sec, config.min_interval_sec)
    if expected.limit != "window" and wait < ceiling and ceiling > config.max_interval_sec:
        return _step("quiet-ceiling", interval, ceiling)
    return _step(expected.limit, interval, min(wait, ceiling))


def forecast_of(arrivals: Arrivals, inputs: Inputs, config: ScheduleConfig) -> Forecast:
    """What is expected of the feed from now on, at the price that holds for this decision."""
    return forecast(
        arrivals,
        now=inputs.now.timestamp(),
        price_sec=price_sec(inputs, config),
        ceiling_sec=config.max_interval_sec,
    )


def price_sec(inputs: Inputs, config: ScheduleConfig) -> float:
    """The price of a request, with what makes this one dearer."""
    price = config.price_sec
    if inputs.whole_documents:
        price *= config.whole_document_price
    return price * late_factor(inputs, config)


def late_factor(inputs: Inputs, config: ScheduleConfig) -> float:
    """By how much a late lane raises the price: so that the wait grows by the time it was late.

    At a constant rate the wait grows with the root of the price.
    """
    if inputs.late_sec <= 0:
        return 1.0
    usual = max(inputs.state.interval_sec, config.min_interval_sec)
    return min((1.0 + inputs.late_sec / usual) ** 2, config.late_price_max)


def ceiling_sec(inputs: Inputs, config: ScheduleConfig) -> float:
    """The longest interval: longer for a feed that has been silent for long, where that is set."""
    usual = float(config.max_interval_sec)
    arrivals = known_arrivals(inputs, config)
    if arrivals is None or config.quiet_max_interval_sec <= usual:
        return usual
    silence = inputs.now.timestamp() - arrivals.last
    return max(usual, min(silence * _QUIET_SHARE, config.quiet_max_interval_sec))


def _step(code: StepCode, before: float, after: float) -> Step:
    return Step(code=code, of="interval", before=float(before), after=float(after))
