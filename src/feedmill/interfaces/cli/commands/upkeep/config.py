"""`feedmill config`: show the settings."""
# Tested in tests/integration/interfaces/cli/

import shutil
from typing import Any

import click
import msgspec

from feedmill.app.settings import config_reference
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_json, style_text
from feedmill.interfaces.cli.run_command import config_of
from feedmill.observe.masking import mask_all_secrets


@click.group()
def config() -> None:
    """Show the settings."""


@config.command("show")
@click.option("--reference", is_flag=True, help="List every setting with its variable and default.")
@json_option
def show_config(*, reference: bool) -> None:
    """Show the settings in force."""
    settings = config_of()
    if reference:
        rows = config_reference()
        if is_json():
            show_json({"items": rows, "next": None})
        else:
            for row in rows:
                click.echo(
                    f"[{row['part']}] {row['field']:<28}{row['variable']:<44}{row['default']}"
                    f"   # {row['allowed']}"
                )
        return
    given: dict[str, Any] = msgspec.to_builtins(settings)
    shape: dict[str, Any] = mask_all_secrets(given)
    if is_json():
        show_json(shape)
        return
    defaults: dict[str, Any] = msgspec.to_builtins(type(settings)())
    for part, fields in shape.items():
        click.echo(style_text(f"[{part}]", bold=True))
        for field, value in fields.items():
            changed = "" if given[part][field] == defaults[part][field] else "   # changed"
            text = msgspec.json.encode(value).decode()
            click.echo(f"{field} = {text}{changed}"[: shutil.get_terminal_size().columns * 4])
