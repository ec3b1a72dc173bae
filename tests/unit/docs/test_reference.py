"""The reference is complete: every name, setting, code, field and dependency, and nothing else."""

import inspect
import re
import tomllib
import typing
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

import feedmill
from feedmill.adapters.settings import environment_name, fields_of, section_names
from feedmill.interfaces.cli.main import cli
from feedmill.model import (
    candidate,
    canonical,
    entry,
    event,
    feed,
    fetch,
    identity,
    parsed,
    schedule,
)
from feedmill.model.running import webhook, worker
from feedmill.observe.metrics import Metrics

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"

CODES = {
    "Unreadable": parsed.UnreadableReason,
    "Repairs": parsed.RepairCode,
    "Findings": entry.FindingCode,
    "Refusals": fetch.RefusalReason,
    "Failures": fetch.FailureReason,
    "Decisions": schedule.DecisionReason,
    "Steps": schedule.StepCode,
    "Hint sources": schedule.HintSource,
    "Health": schedule.Health,
    "Identity keys": identity.KeyType,
    "Matches": identity.MatchedBy,
    "Articles": identity.ArticleFate,
    "Published": entry.PublishedSource,
    "Canonical": canonical.CanonicalReason,
    "Moves": feed.MoveReason,
    "Move sources": feed.MoveSource,
    "Move proofs": feed.MoveProof,
    "Discovery": canonical.FoundReason,
    "Scopes": webhook.Scope,
    "Webhook pauses": webhook.PauseReason,
    "Readiness": worker.UnreadyReason,
    "Questions": candidate.QuestionState,
    "Tickets": candidate.TicketReason,
    "Candidates": candidate.CandidateReason,
    "Events": event.EventType,
}
TABLED_VALUES = (parsed.ParsedFeed, parsed.ParsedEntry, entry.NormalisedFeed, entry.Entry)


def sections(page: Path) -> dict[str, str]:
    """The text under each heading of the second level, by the heading up to its colon."""
    pieces = re.split(r"^## (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    titles = [title.partition(":")[0] for title in pieces[1::2]]
    return dict(zip(titles, pieces[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """The cells of each table row that begins with a name in backticks."""
    lines = (line for line in text.splitlines() if line.startswith("| `"))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def names(text: str) -> list[str]:
    """The name that each table row begins with."""
    return [row[0].strip("`") for row in rows(text)]


def shown(default: object) -> str:
    """A default as the page spells it: lists as in the environment."""
    if isinstance(default, tuple):
        return ",".join(default) or "empty"
    if isinstance(default, bool):
        return str(default).lower()
    return "none" if default is None else str(default)


def commands(group: click.Group, above: str = "") -> dict[str, click.Command]:
    """Every command by its whole name, those of groups included."""
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[f"{above}{name}"] = command
        if isinstance(command, click.Group):
            found |= commands(command, f"{above}{name} ")
    return found


@pytest.mark.parametrize("part", section_names())
def test_every_setting_is_documented_with_its_default_and_its_variable(part: str) -> None:
    expected = [
        [f"`{field.name}`", f"`{shown(field.default)}`", f"`{environment_name(part, field.name)}`"]
        for field in fields_of(part)
    ]

    documented = rows(sections(REFERENCE / "settings.md")[part])

    assert [row[:3] for row in documented] == expected


def test_no_part_of_the_settings_is_documented_that_does_not_exist() -> None:
    assert tuple(sections(REFERENCE / "settings.md")) == section_names()


@pytest.mark.parametrize("section", CODES)
def test_every_stable_code_is_documented_in_its_order(section: str) -> None:
    documented = names(sections(REFERENCE / "reasons.md")[section])

    assert tuple(documented) == typing.get_args(CODES[section])


def test_every_public_function_has_a_section_with_all_its_parameters() -> None:
    pages = sections(REFERENCE / "library.md")

    missing = [
        (name, parameter)
        for name in feedmill.__all__
        for parameter in inspect.signature(getattr(feedmill, name)).parameters
        if not re.search(rf"^`{name}\(.*\b{parameter}\b.*`$", pages.get(name, ""), re.MULTILINE)
    ]

    assert missing == []


def test_no_function_is_documented_that_is_not_public() -> None:
    assert set(sections(REFERENCE / "library.md")) - {"Exceptions"} == set(feedmill.__all__)


@pytest.mark.parametrize("value", TABLED_VALUES, ids=lambda value: value.__name__)
def test_every_field_of_the_main_values_is_documented_in_its_order(
    value: type[msgspec.Struct],
) -> None:
    documented = names(sections(REFERENCE / "model.md")[value.__name__])

    assert tuple(documented) == value.__struct_fields__


def test_every_smaller_value_is_documented_with_its_fields() -> None:
    expected = {
        name: ", ".join(f"`{field}`" for field in value.__struct_fields__)
        for module in (parsed, entry)
        for name, value in vars(module).items()
        if _is_own_value(value, module.__name__) and value not in TABLED_VALUES
    }

    documented = rows(sections(REFERENCE / "model.md")["The smaller values"])

    assert {row[0].strip("`"): row[1] for row in documented} == expected


def test_every_command_has_a_section_with_all_its_options() -> None:
    pages = sections(REFERENCE / "cli.md")
    found = commands(cli)

    missing = [
        (name, option)
        for name, command in found.items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden  # an earlier name
        for option in (*parameter.opts, *parameter.secondary_opts)
        if not re.search(rf"`{option}[` ]", pages.get(name, ""))
    ]

    assert missing == []
    assert set(pages) == set(found)


def test_every_direct_dependency_has_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    wanted = [
        *project["project"]["dependencies"],
        *(requirement for extra in extras.values() for requirement in extra),
        *project["build-system"]["requires"],
    ]
    expected = {re.split(r"[\[<>=;, ]", requirement)[0] for requirement in wanted}

    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text("utf-8")

    assert {row[0].strip("`") for row in rows(page)} == expected
    assert all(len(row[1]) > 20 for row in rows(page))


def test_every_numbered_decision_that_the_code_cites_is_explained() -> None:
    files = [path for path in (ROOT / "src").rglob("*.py") if path.is_file()]
    source = "\n".join(path.read_text("utf-8") for path in files)
    cited = set(re.findall(r"\b[DHG][0-9]{1,2}\b", source))

    explained = names((ROOT / "docs" / "decisions" / "README.md").read_text("utf-8"))

    assert cited <= set(explained)


def _is_own_value(value: Any, module: str) -> bool:
    return (
        inspect.isclass(value) and issubclass(value, msgspec.Struct) and value.__module__ == module
    )


def test_monitoring_names_every_metric_and_no_other() -> None:
    page = (ROOT / "docs" / "how-to" / "monitoring.md").read_text("utf-8")

    named = set(re.findall(r"^\| (`.+?`) \|", page, re.MULTILINE))
    names = {name for cell in named for name in re.findall(r"`(feedmill_[a-z_]+)", cell)}

    told = re.findall(r"^# HELP (\w+) ", Metrics().page().decode(), re.MULTILINE)
    assert names == set(told)
