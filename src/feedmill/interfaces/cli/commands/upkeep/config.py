"""`feedmill config`: show the settings."""
# Tested in tests/integration/interfaces/cli/

import shutil
from typing import Any

import click
import msgspec

from feedmill.app.settings import config_reference
from feedmill.config import Config
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import flag
from feedmill.interfaces.cli.output import style_text
from feedmill.observe.log import mask_all_secrets


@click.group()
def config() -> None:
    """Show the settings."""


@command("show", of=config)
@flag("--reference", "List every setting with its variable and default.")
async def show_config(config: Config, *, reference: bool) -> Answer:
    """Show the settings in force."""
    return _reference() if reference else _in_force(config)


def _reference() -> Answer:
    rows = config_reference()
    lines = [
        f"[{row['part']}] {row['field']:<28}{row['variable']:<44}{row['default']}   # {row['allowed']}"
        for row in rows
    ]
    return Answer({"items": rows, "next": None}, "\n".join(lines))


def _in_force(settings: Config) -> Answer:
    given: dict[str, Any] = msgspec.to_builtins(settings)
    shape: dict[str, Any] = mask_all_secrets(given)
    defaults: dict[str, Any] = msgspec.to_builtins(Config())
    lines, most = [], shutil.get_terminal_size().columns * 4
    for part, fields in shape.items():
        lines.append(style_text(f"[{part}]", bold=True))
        for field, value in fields.items():
            changed = "" if given[part][field] == defaults[part][field] else "   # changed"
            lines.append(f"{field} = {msgspec.json.encode(value).decode()}{changed}"[:most])
    return Answer(shape, "\n".join(lines))
