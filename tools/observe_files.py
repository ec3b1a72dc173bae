"""Builds deploy/observe: Prometheus rules and alerts, and the Grafana dashboards of 002 §10.

    python -m tools.observe_files            # write the files
    python -m tools.observe_files --check    # say whether they are what would be written

Dashboards are made with grafana-foundation-sdk, so that their JSON is what Grafana reads; the expressions
are below. `python -m tools.observe_check` runs every one of them against a real Prometheus.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    prometheus,
    stat,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    LegendDisplayMode,
    LegendPlacement,
    StackingMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import DataSourceRef

FOLDER: Final = Path(__file__).parents[1] / "deploy" / "observe"
RULES: Final = "rules/recording.yml"
ALERTS: Final = "rules/alerts.yml"
TESTS: Final = "rules/tests.yml"

_NOTE: Final = "# Written by `python -m tools.observe_files`; change that file instead.\n"
_WINDOWS: Final = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
_SMALL: Final = 'payload=~"none|100kB|1MB"'

# Service levels (docs/reference/figures.md) as the share of bad events in a window, and the share allowed.
_LEVELS: Final = {
    "failed_ours": (
        ('(sum(rate(feedmill_fetches_total{{fault="ours"}}[{w}])) or vector(0))'
         ' / sum(rate(feedmill_fetches_total{{fault=~"none|ours"}}[{w}]))'),
        0.02,
        "polls fail through our own fault: settings, limits or requests of ours",
    ),
    "slow_fetches": (
        (f'1 - sum(rate(feedmill_fetch_seconds_bucket{{{{{_SMALL}, le="5.0"}}}}[{{w}}]))'
         f" / sum(rate(feedmill_fetch_seconds_count{{{{{_SMALL}}}}}[{{w}}]))"),
        0.01,
        "answers with a body up to 1 MB take longer than 5 s",
    ),
    "late_polls": (
        ('1 - sum(rate(feedmill_lag_intervals_bucket{{le="1.0"}}[{w}]))'
         " / sum(rate(feedmill_lag_intervals_count[{w}]))"),
        0.05,
        "polls come later than twice the interval of their feed",
    ),
}  # fmt: skip
# How quickly a budget of 30 days is used up: factor, long window, short window, severity.
_BURNS: Final = (
    (14.4, "1h", "5m", "page"),
    (6, "6h", "30m", "page"),
    (3, "1d", "2h", "ticket"),
    (1, "3d", "6h", "ticket"),
)
_RECORDED: Final = {
    "feedmill:polls:rate5m": "sum(rate(feedmill_fetches_total[5m]))",
    "feedmill:polls_by_outcome:rate5m": "sum by (outcome, fault) (rate(feedmill_fetches_total[5m]))",
    "feedmill:success:ratio5m": 'sum(rate(feedmill_fetches_total{fault="none"}[5m])) / sum(rate(feedmill_fetches_total[5m]))',
    "feedmill:not_modified:ratio5m": 'sum(rate(feedmill_fetches_total{outcome="unchanged"}[5m])) / sum(rate(feedmill_fetches_total{fault="none"}[5m]))',
    "feedmill:bytes_saved:ratio5m": "sum(rate(feedmill_bytes_saved_total[5m])) / (sum(rate(feedmill_bytes_saved_total[5m])) + sum(rate(feedmill_bytes_in_total[5m])))",
    "feedmill:fetch_seconds:p99_5m": "histogram_quantile(0.99, sum by (payload, le) (rate(feedmill_fetch_seconds_bucket[5m])))",
    "feedmill:feeds_on_time:ratio": '1 - max(feedmill_feeds{state="late"}) / clamp_min(max(feedmill_feeds{state="feeds"}) - max(feedmill_feeds{state="paused"}), 1)',
}
# Name, expression, how long it has to hold, severity, what it means, what to do.
_ALERTS: Final = (
    ("FeedmillDown", 'up{job="feedmill"} == 0', "5m", "page",
     "A feedmill process does not answer on /metrics.", "See its log and `feedmill workers`."),
    ("FeedmillPollsStopped", "max(feedmill_due_lanes) > 0 and sum(rate(feedmill_fetches_total[15m])) == 0", "15m",
     "page", "Hosts are due and nothing is polled.", "See `feedmill status` and the log of the workers."),
    ("FeedmillFeedsLate", "feedmill:feeds_on_time:ratio < 0.95", "30m", "ticket",
     "Less than 95 % of the feeds are polled within twice their interval.",
     "See `feedmill status` and `feedmill top --by lag`; add workers when hosts do not hold the feeds up."),
    ("FeedmillOwnErrors", "increase(feedmill_surprises_total[1h]) > 0", "0m", "ticket",
     "An unexpected error in feedmill.", "The log has a traceback; please report it."),
    ("FeedmillStoreTrouble", "sum by (reason) (rate(feedmill_troubles_total[10m])) > 0", "10m", "page",
     "The store or a disk fails again and again ({{ $labels.reason }}).", "See /readyz of the role and its log."),
    ("FeedmillDeadLetters", "increase(feedmill_webhook_dead_letters_total[1h]) > 0", "0m", "ticket",
     "A webhook was given up after all attempts.", "See `feedmill webhook dead`, repair the receiver, then replay."),
    ("FeedmillDeliveryLag", "max by (consumer) (feedmill_relay_lag) > 10000", "30m", "ticket",
     "{{ $labels.consumer }} is more than 10,000 events behind.", "See the log of the relay and the receiver."),
)  # fmt: skip


class Query(NamedTuple):
    """One expression, and the name of its series."""

    expr: str
    legend: str = ""


class Panel(NamedTuple):
    """One panel: how it is drawn, its unit, and its expressions."""

    kind: Literal["lines", "stacked", "bars", "number"]
    title: str
    unit: str
    queries: Sequence[Query]
    about: str = ""
    wide: bool = False


_RATE: Final = "$__rate_interval"
DASHBOARDS: Final[dict[str, tuple[str, Sequence[Panel]]]] = {
    "outcomes": (
        "Success, 304 and errors",
        (
            Panel("stacked", "Polls by result", "reqps", (
                Query(f'sum(rate(feedmill_fetches_total{{outcome=~"fresh|same-body"}}[{_RATE}]))', "success"),
                Query(f'sum(rate(feedmill_fetches_total{{outcome="unchanged"}}[{_RATE}]))', "304"),
                Query(f'sum by (fault) (rate(feedmill_fetches_total{{fault!="none"}}[{_RATE}]))', "error: {{fault}}"),
            ), "Errors by whose fault they are: ours, theirs (the publisher's) or the host's.", wide=True),
            Panel("number", "Success rate", "percentunit", (Query("feedmill:success:ratio5m"),)),
            Panel("number", "304 rate", "percentunit", (Query("feedmill:not_modified:ratio5m"),)),
            Panel("number", "Feeds polled on time", "percentunit", (Query("feedmill:feeds_on_time:ratio"),)),
            Panel("number", "Failed through our fault, 1 h", "percentunit", (Query("feedmill:failed_ours:ratio1h"),)),
            Panel("lines", "p99 of fetches by payload", "s", (Query("feedmill:fetch_seconds:p99_5m", "{{payload}}"),),
                  "The target is 5 s for bodies up to 1 MB."),
            Panel("lines", "Feeds by state", "short", (
                Query('max by (state) (feedmill_feeds{state!~"feeds|active"})', "{{state}}"),
            )),
        ),
    ),
    "intervals": (
        "Interval against rate of publication",
        (
            Panel("lines", "Interval chosen and cadence seen", "s", (
                Query(f"histogram_quantile(0.5, sum by (le) (rate(feedmill_interval_seconds_bucket[{_RATE}])))", "interval p50"),
                Query(f"histogram_quantile(0.9, sum by (le) (rate(feedmill_interval_seconds_bucket[{_RATE}])))", "interval p90"),
                Query(f"histogram_quantile(0.5, sum by (le) (rate(feedmill_ewma_interval_seconds_bucket[{_RATE}])))", "EWMA p50"),
                Query(f"histogram_quantile(0.9, sum by (le) (rate(feedmill_ewma_interval_seconds_bucket[{_RATE}])))", "EWMA p90"),
            ), wide=True),
            Panel("lines", "Interval by feed", "s", (
                Query('max by (title) (feedmill_feed_figures{figure="interval_sec"})', "{{title}}"),
            ), "Feeds with the most new entries; needs observe.metrics_top_feeds."),
            Panel("lines", "EWMA by feed", "s", (
                Query('max by (title) (feedmill_feed_figures{figure="ewma_sec"})', "{{title}}"),
            ), "Feeds with the most new entries; needs observe.metrics_top_feeds."),
            Panel("lines", "Decisions by reason", "reqps", (
                Query(f"sum by (reason) (rate(feedmill_decisions_total[{_RATE}]))", "{{reason}}"),
            )),
            Panel("lines", "Lag in intervals", "short", (
                Query(f"histogram_quantile(0.95, sum by (le) (rate(feedmill_lag_intervals_bucket[{_RATE}])))", "p95"),
                Query(f"histogram_quantile(0.99, sum by (le) (rate(feedmill_lag_intervals_bucket[{_RATE}])))", "p99"),
            ), "Above 1 is later than twice the interval."),
        ),
    ),
    "top-feeds": (
        "Top feeds by new entries",
        (
            Panel("bars", "New entries today", "short", (
                Query('topk(20, max by (title) (feedmill_feed_figures{figure="entries_new"}))', "{{title}}"),
            ), "Needs observe.metrics_top_feeds.", wide=True),
            Panel("lines", "Entries", "cps", (
                Query(f"sum by (change) (rate(feedmill_entries_total[{_RATE}]))", "{{change}}"),
            )),
            Panel("lines", "New entries of one poll", "short", (
                Query(f"sum(rate(feedmill_new_entries_per_fetch_sum[{_RATE}])) / sum(rate(feedmill_new_entries_per_fetch_count[{_RATE}]))", "mean"),
                Query(f"histogram_quantile(0.95, sum by (le) (rate(feedmill_new_entries_per_fetch_bucket[{_RATE}])))", "p95"),
            )),
        ),
    ),
    "errors": (
        "Top error codes and hosts",
        (
            Panel("bars", "Reasons of failures, 1 h", "short", (
                Query('topk(15, sum by (outcome, fault) (increase(feedmill_fetches_total{fault!="none"}[1h])))', "{{outcome}} ({{fault}})"),
            )),
            Panel("bars", "Statuses, 1 h", "short", (
                Query('topk(15, sum by (status) (increase(feedmill_http_statuses_total{status!~"2..|304"}[1h])))', "{{status}}"),
            )),
            Panel("bars", "Failed polls by host today", "short", (
                Query("topk(20, max by (host, outcome, status) (feedmill_host_failures))", "{{host}} {{outcome}} {{status}}"),
            ), "Needs observe.metrics_top_feeds.", wide=True),
            Panel("lines", "Hosts that rest", "short", (
                Query("max by (reason) (feedmill_resting_hosts)", "{{reason}}"),
            ), "Left alone after a 429, a Retry-After or an incident."),
            Panel("lines", "Retries of connections", "cps", (
                Query(f"sum(rate(feedmill_retries_total[{_RATE}]))", "retries"),
            )),
        ),
    ),
    "bytes": (
        "Bytes saved by conditional requests",
        (
            Panel("stacked", "Bodies received and saved", "Bps", (
                Query(f"sum(rate(feedmill_bytes_in_total[{_RATE}]))", "received"),
                Query(f"sum(rate(feedmill_bytes_saved_total[{_RATE}]))", "saved by 304"),
            ), wide=True),
            Panel("number", "Share saved", "percentunit", (Query("feedmill:bytes_saved:ratio5m"),)),
            Panel("number", "Compression ratio", "short", (
                Query(f"sum(rate(feedmill_bytes_decoded_total[{_RATE}])) / sum(rate(feedmill_bytes_in_total[{_RATE}]))"),
            )),
            Panel("lines", "304 rate", "percentunit", (Query("feedmill:not_modified:ratio5m", "304"),)),
        ),
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    checking = parser.parse_args().check
    stale = [name for name, text in built_files().items() if _read(name) != text]
    if checking:
        sys.exit(
            f"not up to date: {', '.join(stale)}; run python -m tools.observe_files" if stale else 0
        )
    for name, text in built_files().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote deploy/observe/{name}")


def built_files() -> dict[str, str]:
    """What the script writes, by name."""
    boards = {f"dashboards/{uid}.json": _board(uid, *parts) for uid, parts in DASHBOARDS.items()}
    return {RULES: _recording_rules(), ALERTS: _alert_rules(), TESTS: _rule_tests(), **boards}


def expressions() -> Iterator[tuple[str, str]]:
    """Every expression of a panel, with where it stands."""
    for uid, (_, panels) in DASHBOARDS.items():
        for panel in panels:
            for query in panel.queries:
                yield f"{uid}: {panel.title}", query.expr


def recorded() -> dict[str, str]:
    """Every recording rule."""
    levels = {
        f"feedmill:{name}:ratio{window}": expr.format(w=window)
        for name, (expr, _, _) in _LEVELS.items()
        for window in _WINDOWS
    }
    return {**_RECORDED, **levels}


def alert_expressions() -> dict[str, str]:
    """Every alert."""
    return {name: expr for name, expr, *_ in _all_alerts()}


def _recording_rules() -> str:
    lines = [_NOTE, "groups:", "  - name: feedmill", "    interval: 30s", "    rules:"]
    for name, expr in recorded().items():
        lines += [f"      - record: {name}", f"        expr: {expr}"]
    return "\n".join(lines) + "\n"


def _alert_rules() -> str:
    lines = [_NOTE, "groups:", "  - name: feedmill-alerts", "    rules:"]
    for name, expr, hold, severity, summary, todo in _all_alerts():
        lines += [
            f"      - alert: {name}",
            f"        expr: {expr}",
            f"        for: {hold}",
            f"        labels: {{severity: {severity}}}",
            "        annotations:",
            f'          summary: "{summary}"',
            f'          description: "{todo}"',
        ]
    return "\n".join(lines) + "\n"


def _rule_tests() -> str:
    """Tests for `promtool test rules`: what happens for four hours, and which alerts follow."""
    lines = [_NOTE, "rule_files: [recording.yml, alerts.yml]", "evaluation_interval: 1m", "tests:"]
    for title, series, firing in _TESTS:
        lines += [f"  - name: {title}", "    interval: 1m", "    input_series:"]
        for one, values in series.items():
            lines += [f"      - series: '{one}'", f"        values: '{values}'"]
        lines.append("    alert_rule_test:")
        for name, _, _, severity, summary, todo in _all_alerts():
            if name.startswith(_TESTED):
                lines += [f"      - alertname: {name}", "        eval_time: 4h"]
                labels = firing.get(name)
                if labels is None:
                    lines.append("        exp_alerts: []")
                    continue
                lines += [
                    f"        exp_alerts: [{{exp_labels: {{severity: {severity}{labels}}},",
                    f'          exp_annotations: {{summary: "{summary}", description: "{todo}"}}}}]',
                ]
    return "\n".join(lines) + "\n"


_POLLS: Final = 'feedmill_fetches_total{outcome="fresh", fault="none"}'
_LARGE: Final = 'feedmill_fetch_seconds_%s{payload="1MB"%s}'
_TESTED: Final = ("FeedmillFailedOurs", "FeedmillSlowFetches", "FeedmillLatePolls", "FeedmillDown")
_EVERY_BURN: Final = ("Burn1h", "Burn6h", "Burn1d", "Burn3d")
# A story, its series over four hours, and which alerts fire with which further labels.
_TESTS: Final[Sequence[tuple[str, dict[str, str], dict[str, str]]]] = (
    (
        "all is well, and hosts fail",
        {
            _POLLS: "0+60x240",
            'feedmill_fetches_total{outcome="server-error", fault="host"}': "0+60x240",
            _LARGE % ("bucket", ', le="5.0"'): "0+60x240",
            _LARGE % ("count", ""): "0+60x240",
            'feedmill_lag_intervals_bucket{le="1.0"}': "0+60x240",
            "feedmill_lag_intervals_count": "0+60x240",
            'up{job="feedmill", instance="a"}': "1x240",
        },
        {},
    ),
    (
        "half of the polls fail through our own fault",
        {
            _POLLS: "0+60x240",
            'feedmill_fetches_total{outcome="too-large", fault="ours"}': "0+60x240",
        },
        dict.fromkeys([f"FeedmillFailedOurs{one}" for one in _EVERY_BURN], ""),
    ),
    (
        "every twentieth large answer is slow",
        {
            _LARGE % ("bucket", ', le="5.0"'): "0+57x240",
            _LARGE % ("count", ""): "0+60x240",
        },
        dict.fromkeys([f"FeedmillSlowFetches{one}" for one in ("Burn1d", "Burn3d")], ""),
    ),
    (
        "most polls are late, and a process does not answer",
        {
            'feedmill_lag_intervals_bucket{le="1.0"}': "0+6x240",
            "feedmill_lag_intervals_count": "0+60x240",
            'up{job="feedmill", instance="a"}': "0x240",
        },
        {
            **dict.fromkeys([f"FeedmillLatePolls{one}" for one in _EVERY_BURN], ""),
            "FeedmillDown": ", job: feedmill, instance: a",
        },
    ),
)


def _all_alerts() -> Iterator[tuple[str, str, str, str, str, str]]:
    yield from _ALERTS
    for level, (_, budget, meaning) in _LEVELS.items():
        words = "".join(part.title() for part in level.split("_"))
        for factor, long, short, severity in _BURNS:
            limit = round(factor * budget, 4)
            yield (
                f"Feedmill{words}Burn{long}",
                f"feedmill:{level}:ratio{long} > {limit} and feedmill:{level}:ratio{short} > {limit}",
                "2m",
                severity,
                (
                    f"Over {long}, more than {limit:.1%} of the {meaning}: the budget of {budget:.0%} is used up"
                    f" {factor} times too quickly."
                ),
                "See `feedmill status` and docs/how-to/monitoring.md.",
            )


def _board(uid: str, title: str, panels: Sequence[Panel]) -> str:
    board = (
        dashboard.Dashboard(f"feedmill: {title}")
        .uid(f"feedmill-{uid}")
        .tags(["feedmill"])
        .refresh("30s")
        .time("now-6h", "now")
        .timezone("browser")
        .with_variable(
            dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
        )
    )
    for panel in panels:
        board = board.with_panel(_drawn(panel))
    return JSONEncoder(sort_keys=True, indent=2).encode(board.build()) + "\n"


def _drawn(panel: Panel) -> Any:  # noqa: ANN401  # one of three builders
    source = DataSourceRef(type_val="prometheus", uid="${datasource}")
    drawn: Any
    last = common.ReduceDataOptions().calcs(["lastNotNull"])
    if panel.kind == "bars":
        horizontal = VizOrientation.HORIZONTAL
        drawn = bargauge.Panel().reduce_options(last).orientation(horizontal)
    elif panel.kind == "number":
        drawn = stat.Panel().reduce_options(last)
    else:
        legend = common.VizLegendOptions().show_legend(show_legend=True)
        legend = legend.display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
        drawn = timeseries.Panel().legend(legend)
        if panel.kind == "stacked":
            drawn = drawn.fill_opacity(40).stacking(
                common.StackingConfig().mode(StackingMode.NORMAL)
            )
    width = 24 if panel.wide else 6 if panel.kind == "number" else 12
    drawn = drawn.title(panel.title).unit(panel.unit).datasource(source).height(8).span(width)
    if panel.about:
        drawn = drawn.description(panel.about)
    for ref_id, query in zip("ABCDEF", panel.queries, strict=False):
        target = prometheus.Dataquery().expr(query.expr).datasource(source).ref_id(ref_id)
        if query.legend:
            target = target.legend_format(query.legend)
        drawn = drawn.with_target(target.instant() if panel.kind == "bars" else target)
    return drawn


def _read(name: str) -> str | None:
    path = FOLDER / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    main()
