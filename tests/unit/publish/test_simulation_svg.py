"""Plots of a simulation: well-formed SVG with a name, safe against what feeds call themselves."""

from lxml import etree

from feedmill.publish.figure_shapes import PolicyFigures, Timeline
from feedmill.publish.simulation_svg import bars_svg, timeline_svg

SVG = "{http://www.w3.org/2000/svg}"


def test_a_timeline_shows_entries_and_the_polls_of_each_policy() -> None:
    policies = (
        Timeline(policy="recorded", polls=(0.0, 50.0, 200.0)),
        Timeline(policy="budget", polls=(0.0,)),
    )

    drawn = timeline_svg("<Gazette> \x07& Sons", (10.0, 60.0), policies, 0.0, 100.0)
    picture = etree.fromstring(drawn.encode())

    texts = [one.text or "" for one in picture.iter(f"{SVG}text")]
    assert texts[0] == "<Gazette> & Sons"
    assert {"entries (2)", "recorded (2)", "budget (1)"} <= set(texts)
    assert len(list(picture.iter(f"{SVG}path"))) == 3


def test_bars_show_requests_and_delays_of_each_policy() -> None:
    figures = (
        PolicyFigures(policy="recorded", requests=10, requests_per_day=2.0, mean_delay_sec=3_600.0),
        PolicyFigures(policy="seed", requests=20, requests_per_day=4.0),
    )

    picture = etree.fromstring(bars_svg("2 feeds", figures).encode())

    texts = [one.text or "" for one in picture.iter(f"{SVG}text")]
    assert {"2.00", "4.00", "60.00 min", "0.00 min"} <= set(texts)
    widths = [float(one.get("width") or 0) for one in picture.iter(f"{SVG}rect") if one.get("x")]
    assert widths[0] * 2 == widths[1]
