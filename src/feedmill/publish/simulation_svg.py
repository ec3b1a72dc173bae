"""A simulation as a picture: SVG that stands alone, for `feedmill simulate --plot`.

One feed is a timeline: entries above, the polls of each policy below. Several feeds are bars: requests per
feed-day and mean delay of each policy.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from feedmill.publish.figure_shapes import PolicyFigures, Timeline

_WIDTH: Final = 900
_LEFT: Final = 130
_ROW: Final = 40
_TICKS: Final = 6
_COLOURS: Final = ("#4c78a8", "#f58518", "#54a24b")


def timeline_svg(
    title: str, entries: Sequence[float], policies: Sequence[Timeline], start: float, end: float
) -> str:
    """Entries and polls over time, one row each."""
    span = max(end - start, 1.0)

    def x(at: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 20) * (at - start) / span

    rows = [("entries", "#333", entries)]
    rows += [
        (one.policy, colour, one.polls) for one, colour in zip(policies, _COLOURS, strict=False)
    ]
    parts = [_text(10, 24, title, size=15)]
    for number, (name, colour, times) in enumerate(rows):
        top = 45 + number * _ROW
        shown = [at for at in times if start <= at <= end]
        parts.append(_text(10, top + 18, f"{name} ({len(shown)})"))
        path = "".join(f"M{x(at):.1f} {top}v26" for at in shown)
        parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="1.2"/>')
    bottom = 45 + len(rows) * _ROW
    for number in range(_TICKS):
        at = start + span * number / (_TICKS - 1)
        when = datetime.fromtimestamp(at, UTC)
        parts.append(_text(x(at), bottom + 14, f"{when:%m-%d %H:%M}", anchor="middle", size=11))
    return _svg(bottom + 30, title, parts)


def bars_svg(title: str, policies: Sequence[PolicyFigures]) -> str:
    """Requests per feed-day and mean delay of each policy, as bars."""
    parts, top = [_text(10, 24, title, size=15)], 45
    groups = (
        ("requests per feed and day", [one.requests_per_day for one in policies], 1.0, ""),
        ("mean delay", [one.mean_delay_sec or 0.0 for one in policies], 60.0, " min"),
    )
    for name, values, unit, suffix in groups:
        parts.append(_text(10, top + 12, name, size=13))
        top += 22
        most = max([*values, 1e-9])
        for one, value, colour in zip(policies, values, _COLOURS, strict=False):
            width = (_WIDTH - _LEFT - 100) * value / most
            parts.append(_text(10, top + 14, one.policy))
            parts.append(
                f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="18" fill="{colour}"/>'
            )
            parts.append(_text(_LEFT + width + 6, top + 14, f"{value / unit:.2f}{suffix}"))
            top += 26
        top += 12
    return _svg(top, title, parts)


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height:.0f}" role="img"'
        f' viewBox="0 0 {_WIDTH} {height:.0f}" font-family="sans-serif"><title>{_clean(title)}</title>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{_clean(text)}</text>'


def _clean(text: str) -> str:
    return escape("".join(char for char in text[:90] if char.isprintable()))
