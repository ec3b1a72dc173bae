"""Charts: values in, well-formed SVG out, with words for those who do not see it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lxml import etree

from feedmill.engine.service.figures import figures_shape
from feedmill.interfaces.console.charts import (
    Dot,
    HintMark,
    PollMark,
    Series,
    line,
    nice_ceiling,
    polls_by_outcome,
    scatter,
    short_number,
    stacked_bars,
    strips,
    timeline,
)
from feedmill.model.running.figures import Figures

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
HOURS = [NOON + timedelta(hours=at) for at in range(24)]


def parsed(svg: str) -> Any:
    root = etree.fromstring(svg)
    assert root.tag == "svg"
    assert root.get("role") in ("img", "group")  # a picture has no links in it
    assert (root.get("role") == "group") or root.find(".//a") is None
    assert "style" not in svg  # the content policy refuses inline styles
    return root


def test_stacked_bars_are_as_tall_as_their_values() -> None:
    svg = stacked_bars(
        "Polls", HOURS[:2], [Series("ok", "new", [10, 0]), Series("same", "unchanged", [10, 5])]
    )

    root = parsed(svg)
    tall = {one.get("class"): float(one.get("height")) for one in root.iter("rect")}
    assert len(root.findall(".//rect")) == 3  # a value of 0 has no bar
    assert tall["ok"] == pytest.approx(2 * tall["same"], rel=0.01)
    assert "10 new, 15 unchanged" in root.get("aria-label")


def test_a_line_ends_where_its_values_end() -> None:
    root = parsed(line("Saved", HOURS[:3], [0, 5, 10], unit=" B"))

    points = [one.split(",") for one in root.find(".//polyline").get("points").split()]
    assert len(points) == 3
    assert float(points[2][1]) < float(points[1][1]) < float(points[0][1])


def test_points_of_a_scatter_chart_lead_to_their_feeds() -> None:
    root = parsed(
        scatter(
            "Interval",
            [Dot(60, 3600, "a <feed>", "/console/feeds/1"), Dot(1, 1), Dot(0, 9)],
            x_name="publishes every",
            y_name="polled every",
        )
    )

    assert len(root.findall(".//circle")) == 2  # 0 has no place on a logarithmic scale
    assert root.find(".//a").get("href") == "/console/feeds/1"
    assert "a <feed>" in "".join(root.itertext())


def test_no_label_of_a_scatter_chart_covers_another() -> None:
    chart = scatter("Interval", [Dot(90, 5), Dot(9e5, 50)], x_name="across", y_name="upwards")

    size = 17  # of the text in a narrow panel (console.css)
    boxes = []
    for one in parsed(chart).findall("text"):
        x, y, wide = float(one.get("x")), float(one.get("y")), len(one.text) * size * 0.55
        left = x - {"end": wide, "middle": wide / 2}.get(one.get("text-anchor"), 0)
        boxes.append((one.text, left, left + wide, y))
    for at, (_, left, right, y) in enumerate(boxes):
        over = [
            one[0]
            for one in boxes[at + 1 :]
            if abs(one[3] - y) < size and one[1] < right and left < one[2]
        ]
        assert over == []


def test_a_timeline_shows_polls_intervals_and_hints() -> None:
    polls = [
        PollMark(NOON + timedelta(hours=at), 900.0 * 2**at, kind, f"poll {at} & more", at)
        for at, kind in enumerate(("ok", "same", "theirs"))
    ]

    root = parsed(timeline("Polls", polls, [HintMark("ttl", 3600.0)]))

    circles = root.findall(".//circle")
    assert [one.get("class") for one in circles] == ["ok", "same", "theirs"]
    assert float(circles[2].get("cy")) < float(circles[0].get("cy"))  # longer is higher
    assert root.find('.//line[@class="hint"]') is not None
    assert "now 1 h" in root.get("aria-label")


def test_strips_show_instants_of_several_kinds_under_each_other() -> None:
    root = parsed(
        strips("When", [("entries & more", HOURS[:1]), ("seed", HOURS[:3]), ("none", [])])
    )

    assert len(root.findall('.//line[@class="stem"]')) == 3
    assert len(root.findall('.//line[@class="hint"]')) == 1
    assert "3 seed" in root.get("aria-label")


def test_one_poll_is_a_timeline_too() -> None:
    root = parsed(timeline("Polls", [PollMark(NOON, 0.0, "ok", "first")]))

    assert len(root.findall(".//circle")) == 1
    assert len(root.findall('.//text[@class="when"]')) == 1  # not the same time six times


@pytest.mark.parametrize(
    "svg",
    [
        stacked_bars("t", [], [Series("ok", "new", [])]),
        stacked_bars("t", HOURS, [Series("ok", "new", [0] * 24)]),
        line("t", [], []),
        line("t", HOURS[:1], [0]),
        scatter("t", [], x_name="x", y_name="y"),
        timeline("t", []),
        strips("t", [("none", [])]),
    ],
)
def test_without_figures_a_chart_says_so(svg: str) -> None:
    assert "no figures yet" in "".join(parsed(svg).itertext())


def test_hostile_names_stay_text() -> None:
    name = '"><script>alert(1)</script>'

    svg = stacked_bars(name, HOURS[:1], [Series("ok", name, [1])])
    svg += scatter(name, [Dot(1, 1, name, f'javascript:"{name}')], x_name=name, y_name=name)

    assert "<script" not in svg


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 1), (0.2, 1), (1, 1), (1.5, 2), (3, 5), (7, 10), (10, 10), (123, 200)],
)
def test_scales_end_at_a_round_number(value: float, expected: float) -> None:
    assert nice_ceiling(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (2.5, "2.5"), (12.4, "12"), (1000, "1 k"), (1_250_000, "1.2 M"), (3e9, "3 G")],
)
def test_figures_of_a_scale_are_short(value: float, expected: str) -> None:
    assert short_number(value) == expected


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (timedelta(minutes=5), "12:00:00"),
        (timedelta(hours=5), "12:00"),
        (timedelta(days=5), "14 Oct"),
    ],
)
def test_labels_of_time_suit_the_span(span: timedelta, expected: str) -> None:
    svg = line("t", [NOON, NOON + span], [1, 2])

    assert expected in "".join(parsed(svg).itertext())


FIGURES = figures_shape(Figures(polls=6, unchanged=2, failed_ours=1))


def test_a_single_day_is_labelled_as_a_day_and_its_value_can_be_seen() -> None:
    root = parsed(line("t", [NOON.replace(hour=0)], [7]))

    assert "14 Oct" in "".join(root.itertext())
    assert len(root.findall(".//circle")) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, ["0", "1"]),
        (2, ["0", "1", "2"]),
        (29, ["0", "10", "20", "30", "40", "50"]),
        (80, ["0", "25", "50", "75", "100"]),
    ],
)
def test_a_scale_has_whole_numbers(value: int, expected: list[str]) -> None:
    root = parsed(line("t", [NOON, NOON], [0, value]))

    texts = [one.text for one in root.findall(".//text") if one.get("class") != "when"]
    assert texts == expected


def test_polls_are_drawn_by_their_outcome() -> None:
    svg = polls_by_outcome("Polls", [NOON, NOON], [FIGURES, None])

    assert (
        "3 new content, 2 unchanged, 0 same body, 0 failed, theirs, 0 failed, host, 1 failed, ours"
        in svg
    )
