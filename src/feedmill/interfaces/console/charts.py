"""Charts: values in, SVG out. Colours come from the style sheet by class, so both themes work.

Every chart has a name and a description for screen readers; the page shows the figures as a table too.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from html import escape
from math import floor, log10
from typing import Final, NamedTuple

from markupsafe import Markup

from feedmill.publish.figure_shapes import FiguresShape
from feedmill.schedule.explain import duration_in_words

WIDTH: Final = 760
_LEFT: Final = 48  # for the figures of the vertical axis
_RIGHT: Final = 12
_TOP: Final = 8
_BOTTOM: Final = 20
_STRIP: Final = 34  # the height of one strip
_LINES: Final = (4, 5, 2, 1)  # of a scale: the first that divides it into whole numbers
_LABELS: Final = 6
_MIDNIGHT: Final = time()
_SECOND: Final = timedelta(seconds=1)
_MIN_BAR: Final = 1.0
_MAX_BAR: Final = 60.0
_SINGLE: Final = '<circle class="point" cx="{:.1f}" cy="{:.1f}" r="4"/>'
_DURATIONS: Final = (1, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_592_000, 31_536_000)


_OUTCOMES: Final = (
    ("ok", "new content", "fresh"),
    ("same", "unchanged", "unchanged"),
    ("same", "same body", "same_body"),
    ("theirs", "failed, theirs", "failed_theirs"),
    ("host", "failed, host", "failed_host"),
    ("ours", "failed, ours", "failed_ours"),
)


class Series(NamedTuple):
    """One series of a stacked chart; `kind` is a class of the style sheet."""

    kind: str
    name: str
    values: Sequence[float]


class Dot(NamedTuple):
    """A point of a scatter chart."""

    x: float
    y: float
    name: str = ""
    link: str = ""


class PollMark(NamedTuple):
    """One poll of a timeline."""

    at: datetime
    interval_sec: float
    kind: str  # ok, same, theirs, ours
    words: str
    new_entries: int = 0


class HintMark(NamedTuple):
    """An interval that a publisher asked for, from when it was last heard."""

    name: str
    seconds: float


def stacked_bars(title: str, starts: Sequence[datetime], series: Sequence[Series]) -> Markup:
    """Counts over time: one bar per period, one colour per series."""
    height = 200
    totals = [sum(column) for column in zip(*(one.values for one in series), strict=True)]
    if not totals or max(totals) <= 0:
        return _empty(title, height)
    top = nice_ceiling(max(totals))
    room, wide = height - _TOP - _BOTTOM, (WIDTH - _LEFT) / len(totals)
    parts: list[str] = []
    for at, start in enumerate(starts):
        y = float(height - _BOTTOM)
        told = ", ".join(f"{one.values[at]:,.0f} {one.name}" for one in series if one.values[at])
        parts.append(f"<g><title>{_label(start, starts)}: {escape(told) or 'none'}</title>")
        for one in series:
            if not one.values[at]:
                continue
            tall = max(one.values[at] / top * room, _MIN_BAR)
            y -= tall
            parts.append(
                f'<rect class="{one.kind}" x="{_LEFT + at * wide:.1f}" y="{y:.1f}"'
                f' width="{min(max(wide * 0.8, _MIN_BAR), _MAX_BAR):.1f}" height="{tall:.1f}"/>'
            )
        parts.append("</g>")
    sums = ", ".join(f"{sum(one.values):,.0f} {one.name}" for one in series)
    body = _scale(top, height) + "".join(parts) + _times(starts, height)
    return _svg(title, f"In all {sums}.", body, height, zoom=True)


def polls_by_outcome(
    title: str, starts: Sequence[datetime], figures: Sequence[FiguresShape | None]
) -> Markup:
    """Polls over time by how they ended; None: there were none."""
    series = [
        Series(kind, name, [0 if one is None else getattr(one, field) for one in figures])
        for kind, name, field in _OUTCOMES
    ]
    return stacked_bars(title, starts, series)


def line(
    title: str,
    starts: Sequence[datetime],
    values: Sequence[float],
    *,
    height: int = 140,
    unit: str = "",
) -> Markup:
    """One value over time, with its area."""
    if not values or max(values) <= 0:
        return _empty(title, height)
    top = nice_ceiling(max(values))
    room, step = height - _TOP - _BOTTOM, (WIDTH - _LEFT) / max(len(values) - 1, 1)
    points = [
        (_LEFT + at * step, height - _BOTTOM - value / top * room)
        for at, value in enumerate(values)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    base = height - _BOTTOM
    body = (
        _scale(top, height, unit)
        + f'<polygon class="area" points="{points[0][0]:.1f},{base} {path} {points[-1][0]:.1f},{base}"/>'
        + f'<polyline class="line" points="{path}"/>'
        + (_SINGLE.format(*points[0]) if len(points) == 1 else "")
        + _times(starts, height)
    )
    words = f"From {values[0]:,.0f} to {values[-1]:,.0f}{unit}, at most {max(values):,.0f}{unit}."
    return _svg(title, words, body, height, zoom=True)


def scatter(title: str, dots: Sequence[Dot], *, x_name: str, y_name: str) -> Markup:
    """Two durations of many things against each other, both on logarithmic scales."""
    height = 380
    shown = [dot for dot in dots if dot.x > 0 and dot.y > 0]
    if not shown:
        return _empty(title, height)
    across, upwards = _ticks([dot.x for dot in shown]), _ticks([dot.y for dot in shown])
    # Three lines of text below: the lowest duration, those across, and the names.
    room, wide = height - _TOP - 3 * _BOTTOM, WIDTH - _LEFT - 8
    parts = [_durations(upwards, room)]
    parts += [
        f'<text x="{_LEFT + _share(tick, across) * wide:.1f}" y="{height - 2 * _BOTTOM + 6}"'
        f' text-anchor="{"middle" if tick != across[0] else "start"}">{duration_in_words(tick)}</text>'
        for tick in across
    ]
    for dot in shown:
        x, y = _LEFT + _share(dot.x, across) * wide, _height_of(dot.y, upwards, room)
        point = (
            f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(dot.name)}: '
            f"{escape(x_name)} {duration_in_words(dot.x)}, {escape(y_name)} {duration_in_words(dot.y)}"
            "</title></circle>"
        )
        # Hundreds of stops for the keyboard are of no use; lists of the same feeds are elsewhere.
        linked = f'<a href="{escape(dot.link)}" tabindex="-1">{point}</a>'
        parts.append(linked if dot.link else point)
    parts.append(
        f'<text x="{WIDTH}" y="{height - 6}" text-anchor="end">{escape(x_name)} →</text>'
        f'<text x="0" y="{height - 6}">↑ {escape(y_name)}</text>'
    )
    words = f"{len(shown)} points: {x_name} across, {y_name} upwards, both logarithmic."
    return _svg(title, words, "".join(parts), height, role="group")


def timeline(title: str, polls: Sequence[PollMark], hints: Sequence[HintMark] = ()) -> Markup:
    """The polls of a feed: when, with which interval after each, and what publishers asked for."""
    height = 220
    if not polls:
        return _empty(title, height)
    ordered = sorted(polls, key=lambda one: one.at)
    first, last = ordered[0].at, ordered[-1].at
    seconds = [one.interval_sec for one in ordered] + [one.seconds for one in hints]
    ticks, room = _ticks(seconds), height - _TOP - _BOTTOM
    parts = [_durations(ticks, room)]
    for hint in hints:
        y = _height_of(hint.seconds, ticks, room)
        parts.append(
            f'<line class="hint" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"><title>'
            f"{escape(hint.name)}: {duration_in_words(hint.seconds)}</title></line>"
            f'<text x="{WIDTH}" y="{y - 4:.1f}" text-anchor="end">{escape(hint.name)}</text>'
        )
    places = [
        (_place_of(one.at, first, last), _height_of(one.interval_sec, ticks, room))
        for one in ordered
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline class="line" points="{path}"/>')
    for one, (x, y) in zip(ordered, places, strict=True):
        radius = 4 + min(one.new_entries, 10) * 0.4
        parts.append(
            f'<line class="stem" x1="{x:.1f}" x2="{x:.1f}" y1="{height - _BOTTOM}" y2="{y:.1f}"/>'
            f'<circle class="{one.kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
            f"<title>{_exact(one.at)}: {escape(one.words)}</title></circle>"
        )
    body = "".join(parts) + _times_between(first, last, height)
    words = (
        f"{len(ordered)} polls from {_exact(first)} to {_exact(last)}; height is the interval after "
        f"each, now {duration_in_words(ordered[-1].interval_sec)}."
    )
    return _svg(title, words, body, height, zoom=True)


def strips(title: str, rows: Sequence[tuple[str, Sequence[datetime]]]) -> Markup:
    """Instants of several kinds under each other: one strip each, a line per instant."""
    every = [at for _, instants in rows for at in instants]
    height = _TOP + _STRIP * len(rows) + _BOTTOM
    if not every:
        return _empty(title, height)
    first, last = min(every), max(every)
    parts = []
    for number, (name, instants) in enumerate(rows):
        y = _TOP + _STRIP * number
        parts.append(f'<text x="0" y="{y + _STRIP / 2 + 4:.0f}">{escape(name)}</text>')
        parts += [
            f'<line class="{"stem" if number else "hint"}" y1="{y + 4}" y2="{y + _STRIP - 4}"'
            f' x1="{x:.1f}" x2="{x:.1f}"/>'
            for x in (_place_of(at, first, last) for at in instants)
        ]
    body = "".join(parts) + _times_between(first, last, height)
    words = ", ".join(f"{len(instants):,} {name}" for name, instants in rows)
    return _svg(title, f"{words}.", body, height, zoom=True)


def nice_ceiling(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    if value <= 1:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value)


def short_number(value: float) -> str:
    """1234567 as 1.2 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            text = f"{value / size:.1f}"
            return text.removesuffix(".0") + unit
    return f"{value:g}" if value < 10 else f"{value:.0f}"


def _svg(
    title: str, words: str, body: str, height: int, *, zoom: bool = False, role: str = "img"
) -> Markup:
    label = f"{escape(title)}. {escape(words)}"
    wanted = ' data-zoom="x"' if zoom else ""
    return Markup(  # noqa: S704  # made of numbers, names of ours and escaped texts
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="{role}" aria-label="{label}"{wanted}>'
        f"{body}</svg>"
    )


def _empty(title: str, height: int) -> Markup:
    text = (
        f'<text x="{WIDTH / 2:.0f}" y="{height / 2:.0f}" text-anchor="middle">no figures yet</text>'
    )
    return _svg(title, "No figures yet.", text, height)


def _scale(top: float, height: int, unit: str = "") -> str:
    """Horizontal lines with their values, and the axis."""
    room = height - _TOP - _BOTTOM
    lines = next(one for one in _LINES if (top / one).is_integer())
    parts = []
    for step in range(lines + 1):
        y = height - _BOTTOM - room * step / lines
        kind = "grid-line" if step else "axis"
        parts.append(
            f'<line class="{kind}" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">'
            f"{short_number(top * step / lines)}{escape(unit)}</text>"
        )
    return "".join(parts)


def _durations(ticks: Sequence[int], room: float) -> str:
    """Horizontal lines at durations, with their names."""
    parts = []
    for tick in ticks:
        y = _height_of(tick, ticks, room)
        parts.append(
            f'<line class="grid-line" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{duration_in_words(tick)}</text>'
        )
    return "".join(parts)


def _height_of(seconds: float, ticks: Sequence[int], room: float) -> float:
    return _TOP + (1 - _share(seconds, ticks)) * room


def _place_of(at: datetime, first: datetime, last: datetime) -> float:
    """Where an instant stands across, between the first and the last."""
    return _LEFT + 4 + (at - first) / max(last - first, _SECOND) * (WIDTH - _LEFT - _RIGHT)


def _times_between(first: datetime, last: datetime, height: int) -> str:
    starts = [first + (last - first) * at / (_LABELS - 1) for at in range(_LABELS)]
    return _times(starts, height, at_points=True)


def _times(starts: Sequence[datetime], height: int, *, at_points: bool = False) -> str:
    """Labels of the horizontal axis; `at_points` also names the last one, at the right edge."""
    every = max(1, -(-len(starts) // _LABELS))
    room = WIDTH - _LEFT - (_RIGHT if at_points else 0)
    wide = room / max(len(starts) - at_points, 1)
    parts: list[str] = []
    shown = ""
    for at in range(0, len(starts), every):
        if (label := _label(starts[at], starts)) == shown:  # all within a second or two
            continue
        shown = label
        is_last = at_points and at == len(starts) - 1
        anchor = "end" if is_last else "middle" if at_points and at else "start"
        parts.append(
            f'<text x="{_LEFT + at * wide:.1f}" y="{height - 5}" text-anchor="{anchor}" class="when">'
            f"{label}</text>"
        )
    return "".join(parts)


def _label(moment: datetime, all_of_them: Sequence[datetime]) -> str:
    """The time of day within two days, the day otherwise and where all begin at midnight."""
    at = moment.astimezone(UTC)
    is_day = all(one.astimezone(UTC).time() == _MIDNIGHT for one in all_of_them)
    if is_day or all_of_them[-1] - all_of_them[0] >= timedelta(days=2):
        return f"{at:%d %b}"
    is_short = all_of_them[-1] - all_of_them[0] < timedelta(minutes=10)
    return f"{at:%H:%M:%S}" if is_short else f"{at:%H:%M}"


def _exact(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _ticks(seconds: Sequence[float]) -> tuple[int, ...]:
    """Durations that people think in, around all of these; at least two."""
    low, high = min(seconds), max(seconds)
    below = [one for one in _DURATIONS if one <= low] or [_DURATIONS[0]]
    above = [one for one in _DURATIONS if one >= high] or [_DURATIONS[-1]]
    found = tuple(one for one in _DURATIONS if below[-1] <= one <= above[0])
    return found if len(found) > 1 else _DURATIONS[:2] if found[0] == 1 else (found[0] // 6, *found)


def _share(seconds: float, ticks: Sequence[int]) -> float:
    """Where a duration stands between the first and the last tick, on a logarithmic scale: 0 to 1."""
    low, high = log10(ticks[0]), log10(ticks[-1])
    return min(max((log10(max(seconds, 1e-3)) - low) / (high - low), 0.0), 1.0)
