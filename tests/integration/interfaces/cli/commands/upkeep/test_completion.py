"""`feedmill completion`: the script is where the shell looks for it, and completes without imports."""

from pathlib import Path

import pytest
from tests.support.command_line import Mill


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", ".local/share/bash-completion/completions/feedmill"),
        ("zsh", ".zfunc/_feedmill"),
        ("fish", ".config/fish/completions/feedmill.fish"),
    ],
)
def test_the_script_is_installed_where_the_shell_looks_for_it(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str, place: str
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    mill.setenv(HOME=str(tmp_path), SHELL=f"/usr/bin/{shell}")

    said = mill.ok("completion")
    printed = mill.ok("completion", shell, "--print")

    assert str(tmp_path / place) in said.text
    assert (tmp_path / place).read_text() == printed.text
    assert "_FEEDMILL_COMPLETE" in printed.text
    assert not mill.home.exists()


def test_a_shell_without_completion_is_told_those_that_have_it(mill: Mill) -> None:
    mill.setenv(SHELL="/bin/tcsh")

    said = mill("completion", "--json")

    assert (said.status, said.error["code"]) == (2, "usage")
    assert "bash, zsh, fish" in said.error["message"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [("feedmill sta", ["status", "stats"]), ("feedmill list --fai", ["--failing"])],
)
def test_commands_and_options_are_completed(mill: Mill, line: str, expected: list[str]) -> None:
    mill.setenv(
        _FEEDMILL_COMPLETE="bash_complete",
        COMP_WORDS=line,
        COMP_CWORD=str(len(line.split()) - 1),
    )

    said = mill.ok()

    assert [one.partition(",")[2] for one in said.text.split()] == expected
