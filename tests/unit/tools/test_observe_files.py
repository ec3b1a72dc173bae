"""The rules and dashboards of deploy/observe: up to date, and only about metrics that exist."""

import json
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tools.observe_files import (
    DASHBOARDS,
    FOLDER,
    alert_expressions,
    built_files,
    expressions,
    recorded,
)

from feedmill.observe.metrics import Metrics

_NAME = re.compile(r"\bfeedmill[_:][a-zA-Z0-9_:]+")
_EXPRESSIONS = {
    **{f"{place} #{number}": expr for number, (place, expr) in enumerate(expressions())},
    **recorded(),
    **alert_expressions(),
}


def known_names() -> set[str]:
    """Everything that /metrics may show, and what the rules record."""
    names = set(recorded())
    for family in text_string_to_metric_families(Metrics().page().decode()):
        suffixes = {
            "counter": ("_total",),
            "histogram": ("_bucket", "_count", "_sum"),
        }.get(family.type, ("",))
        names |= {f"{family.name}{suffix}" for suffix in suffixes}
    return names


@pytest.mark.parametrize("name", built_files())
def test_a_file_is_what_the_script_builds(name: str) -> None:
    kept = (FOLDER / name).read_text(encoding="utf-8")

    assert kept == built_files()[name], "run `python -m tools.observe_files`"


def test_nothing_else_lies_beside_the_dashboards() -> None:
    found = {path.stem for path in (FOLDER / "dashboards").iterdir()}

    assert found == set(DASHBOARDS)


@pytest.mark.parametrize("place", _EXPRESSIONS)
def test_an_expression_uses_only_metrics_that_exist(place: str) -> None:
    used = set(_NAME.findall(_EXPRESSIONS[place]))

    assert used <= known_names()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_have_titles_and_expressions_of_their_own(name: str) -> None:
    board = json.loads((FOLDER / f"dashboards/{name}.json").read_text(encoding="utf-8"))

    assert all(panel["title"] for panel in board["panels"])
    for panel in board["panels"]:
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs) > 0
