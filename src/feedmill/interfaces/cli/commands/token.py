"""Tokens for the API: create, list, rotate, revoke. A secret is printed once, when it is made."""

from datetime import timedelta
from typing import Any

import click

from feedmill.engine.run.services import World
from feedmill.engine.service.auth import Issued, issue_token, revoke_token, rotate_token
from feedmill.errors import NotFoundError, UsageError
from feedmill.interfaces.cli.durations import lasting
from feedmill.interfaces.cli.output import json_option, show_json, show_table
from feedmill.interfaces.cli.run_command import in_world
from feedmill.model.token import Scope, Token
from feedmill.publish.to_json import instant, token_wire


@click.group()
def token() -> None:
    """Make and revoke tokens for the API."""


@token.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(("read", "write", "admin")),
    multiple=True,
    default=("read",),
    show_default="read",
    help="What it allows: write includes read, admin includes both.",
)
@click.option("--expires", type=lasting, metavar="SPAN", help="Good for this long, as in 90d.")
@json_option
@click.pass_context
def create(
    ctx: click.Context,
    name: str,
    scopes: tuple[Scope, ...],
    expires: timedelta | None,
    *,
    as_json: bool,
) -> None:
    """Make a token and print its secret, which is shown now and never again."""

    async def story(world: World) -> Issued:
        return await issue_token(name, scopes, world, expires_in=expires)

    _show_secret(in_world(ctx, story, as_json=as_json), as_json=as_json)


@token.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, *, as_json: bool) -> None:
    """List tokens, with those that have expired or were revoked."""

    async def story(world: World) -> tuple[list[Token], list[str]]:
        tokens = list(await world.store.tokens())
        return tokens, [_state(one, world) for one in tokens]

    tokens, states = in_world(ctx, story, as_json=as_json)
    if as_json:
        items = [
            {**token_wire(one), "state": state} for one, state in zip(tokens, states, strict=True)
        ]
        show_json({"items": items, "next": None})
    elif not tokens:
        click.echo("no tokens yet; try: feedmill token create my-reader --scope read")
    else:
        rows = [_row(one, state) for one, state in zip(tokens, states, strict=True)]
        show_table(("id", "name", "scopes", "state", "expires", "last used"), rows)


@token.command()
@click.argument("token", metavar="TOKEN")
@json_option
@click.pass_context
def revoke(ctx: click.Context, token: str, *, as_json: bool) -> None:
    """End a token at once (TOKEN is an id, its start, or a name)."""

    async def story(world: World) -> Token:
        return await revoke_token((await _named(token, world)).id, world)

    revoked = in_world(ctx, story, as_json=as_json)
    if as_json:
        show_json(token_wire(revoked))
    else:
        click.echo(f"revoked {revoked.id}  {revoked.name}")


@token.command()
@click.argument("token", metavar="TOKEN")
@click.option(
    "--overlap",
    type=lasting,
    default="1d",
    show_default=True,
    metavar="SPAN",
    help="How long the secret before is still good; 0 ends it now.",
)
@json_option
@click.pass_context
def rotate(ctx: click.Context, token: str, overlap: timedelta, *, as_json: bool) -> None:
    """Give a token another secret and print it, once."""

    async def story(world: World) -> Issued:
        return await rotate_token((await _named(token, world)).id, overlap, world)

    _show_secret(in_world(ctx, story, as_json=as_json), as_json=as_json)


def _show_secret(issued: Issued, *, as_json: bool) -> None:
    if as_json:
        show_json({**token_wire(issued.token), "secret": issued.secret})
        return
    click.echo(f"token {issued.token.id}  {issued.token.name}", err=True)
    click.echo("keep the secret below; it is not shown again", err=True)
    click.echo(issued.secret)


async def _named(name: str, world: World) -> Token:
    """The token with this id, the start of an id, or this name."""
    tokens = await world.store.tokens()
    found = [one for one in tokens if one.id == name] or [
        one for one in tokens if one.id.startswith(name) or one.name == name
    ]
    if not found:
        message = f"there is no token {name!r}"
        raise NotFoundError(message, "`feedmill token list` shows all")
    if len(found) > 1:
        message = f"{name!r} fits {len(found)} tokens; use more of the id"
        raise UsageError(message)
    return found[0]


def _state(token: Token, world: World) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "good" if token.holds(world.clock.now()) else "expired"


def _row(token: Token, state: str) -> tuple[Any, ...]:
    return (
        token.id,
        token.name,
        ",".join(token.scopes),
        state,
        instant(token.expires_at) or "never",
        instant(token.last_used_at) or "never",
    )
