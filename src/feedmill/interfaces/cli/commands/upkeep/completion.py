"""`feedmill completion`: install completion of commands and options for a shell, or print its script."""
# Tested in tests/integration/interfaces/cli/commands/upkeep/test_completion.py

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from feedmill.engine.run.atomic_file import write_file
from feedmill.interfaces.cli.command import Answer, command, print_answer
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.options import flag

# Where each shell looks for the completion of a command, below the folder that its variable names.
_FILES: Final = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/feedmill"),
    "zsh": ("ZDOTDIR", "", ".zfunc/_feedmill"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/feedmill.fish"),
}
_NEXT: Final = {
    "bash": "it is loaded by new shells where the package bash-completion is installed",
    "zsh": "add to ~/.zshrc, once: fpath+=(~/.zfunc); autoload -Uz compinit && compinit",
    "fish": "it is loaded by new shells",
}


@command()
@click.argument("shell", type=click.Choice(tuple(_FILES)), required=False)
@flag("--print", "to_stdout", "Print the script instead of installing it.")
def completion(shell: str | None, *, to_stdout: bool) -> None:
    """Install completion of commands and options for SHELL; default: the shell of $SHELL.

    \b
    Examples:
      feedmill completion
      feedmill completion zsh
      feedmill completion bash --print
    """
    shell = shell or Path(os.environ.get("SHELL", "")).name
    if shell not in _FILES:
        message = f"no completion for the shell {shell!r}; name one of: {', '.join(_FILES)}"
        exit_with_error("usage", message, status=2)
    script = _script(shell)
    if to_stdout:
        click.echo(script, nl=False)
        return
    variable, folder, name = _FILES[shell]
    base = os.environ.get(variable)
    path = (Path(base) if base else Path.home() / folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, script.encode())
    words = f"installed completion for {shell}: {path}\n{_NEXT[shell]}"
    print_answer(Answer({"shell": shell, "path": str(path)}, words))


def _script(shell: str) -> str:
    from feedmill.interfaces.cli.main import cli  # noqa: PLC0415  # which imports this module

    kind = get_completion_class(shell)
    assert kind is not None
    return kind(cli, {}, "feedmill", "_FEEDMILL_COMPLETE").source()
