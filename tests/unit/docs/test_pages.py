"""The pages are true: their links lead somewhere, their code runs, their commands print what they say."""

import doctest
import re
import shlex
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

from feedmill.interfaces.cli.main import cli

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

# Also inside a list, where a block is indented.
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

in_every_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix()
)


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.findall(page.read_text("utf-8"))
    return [dedent(code) for _, kind, code in found if kind == language]


def anchors(page: Path) -> set[str]:
    """The headings as a link names them: lower case, hyphens, no punctuation."""
    prose = BLOCK.sub("", page.read_text("utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(prose))
    return {heading.strip().replace(" ", "-") for heading in plain}


def dead_links(page: Path) -> list[str]:
    prose = BLOCK.sub("", page.read_text("utf-8"))
    inside = [link for link in LINK.findall(prose) if "://" not in link]
    return [link for link in inside if not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return target.exists() and (not anchor or anchor in anchors(target))


@in_every_page
def test_every_internal_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


@in_every_page
def test_every_python_block_runs_and_shows_what_it_says(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    code = "\n".join(blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
    said: list[str] = []

    result = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=said.append)

    assert result.failed == 0, "".join(said)


@in_every_page
def test_every_python_block_is_written_with_prompts(page: Path) -> None:
    silent = [code for code in blocks(page, "python") if ">>> " not in code]

    assert silent == []


@in_every_page
def test_every_command_prints_what_the_page_shows(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shown = [_command(block) for block in blocks(page, "console")]

    printed = [(words, _printed(words)) for words, _ in shown]

    assert printed == shown


def test_decisions_are_named_by_number_only_where_the_numbers_are_explained() -> None:
    citing = [page for page in PAGES if re.search(r"\bD[0-9]{1,2}\b", page.read_text("utf-8"))]

    assert citing == [ROOT / "docs" / "decisions" / "README.md"]


def _command(block: str) -> tuple[str, list[str]]:
    first, *rest = block.splitlines()
    return first.removeprefix("$ feedmill "), rest


def _printed(words: str) -> list[str]:
    result = CliRunner().invoke(cli, shlex.split(words), prog_name="feedmill")
    lines = [line.rstrip() for line in result.output.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines
