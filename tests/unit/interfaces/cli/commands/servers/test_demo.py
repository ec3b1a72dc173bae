"""The last words of the demonstration: commands that work in the shell that started it."""

from pathlib import Path

import pytest

from feedmill.interfaces.cli.commands.servers import demo


@pytest.mark.parametrize(
    ("is_on_path", "name"),
    [(True, "feedmill"), (False, ".venv/bin/feedmill")],
    ids=["installed", "after make run"],
)
def test_next_commands_are_called_as_this_shell_finds_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    *,
    is_on_path: bool,
) -> None:
    if is_on_path:
        (tmp_path / "feedmill").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", [".venv/bin/feedmill", "demo"])

    demo.say_goodbye(None)

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith(f"{name} add https://example.com/feed && {name} sync")
