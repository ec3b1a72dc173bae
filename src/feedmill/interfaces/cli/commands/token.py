"""`feedmill token`: create, list, rotate and revoke API tokens. A secret is printed only once."""

from datetime import timedelta
from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import IssuedToken, issue_token, revoke_token, rotate_token
from feedmill.interfaces.cli.options import context_and_json, overlap_option, parse_duration
from feedmill.interfaces.cli.output import show_json, show_list, show_result
from feedmill.interfaces.cli.run_command import pick_one, with_services
from feedmill.model.token import Scope, Token
from feedmill.publish.to_json import format_instant, token_wire


@click.group()
def token() -> None:
    """Create, list, rotate and revoke API tokens."""


@token.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(("read", "write", "admin")),
    multiple=True,
    default=("read",),
    show_default="read",
    help="Permission: write includes read, admin includes both; repeatable.",
)
@click.option(
    "--expires",
    type=parse_duration,
    metavar="SPAN",
    help="Validity, such as 90d; default: unlimited.",
)
@context_and_json
def create_token_command(
    ctx: click.Context,
    name: str,
    scopes: tuple[Scope, ...],
    expires: timedelta | None,
    *,
    as_json: bool,
) -> None:
    """Create a token and print its secret, which is shown only once."""

    async def action(services: Services) -> IssuedToken:
        return await issue_token(name, scopes, services.store, services.clock, expires_in=expires)

    _show_secret(with_services(ctx, action, as_json=as_json), as_json=as_json)


@token.command("list")
@context_and_json
def list_tokens_command(ctx: click.Context, *, as_json: bool) -> None:
    """List tokens, including expired and revoked ones."""

    async def action(services: Services) -> list[tuple[Token, str]]:
        return [(one, _state(one, services)) for one in await services.store.tokens()]

    found = with_services(ctx, action, as_json=as_json)
    show_list(
        [{**token_wire(one), "state": state} for one, state in found],
        ("id", "name", "scopes", "state", "expires", "last used"),
        [_row(one, state) for one, state in found],
        empty="no tokens yet; try: feedmill token create my-reader --scope read",
        as_json=as_json,
    )


@token.command("revoke")
@click.argument("token", metavar="TOKEN")
@context_and_json
def revoke_token_command(ctx: click.Context, token: str, *, as_json: bool) -> None:
    """Revoke a token at once (TOKEN is an id, the start of an id, or a name)."""

    async def action(services: Services) -> Token:
        return await revoke_token(
            (await _named(token, services)).id, services.store, services.clock
        )

    revoked = with_services(ctx, action, as_json=as_json)
    show_result(token_wire(revoked), f"revoked {revoked.id}  {revoked.name}", as_json=as_json)


@token.command("rotate")
@click.argument("token", metavar="TOKEN")
@overlap_option("How long the old secret stays valid; 0 revokes it now.")
@context_and_json
def rotate_token_command(
    ctx: click.Context, token: str, overlap: timedelta, *, as_json: bool
) -> None:
    """Replace the secret of a token and print the new one, once."""

    async def action(services: Services) -> IssuedToken:
        return await rotate_token(
            (await _named(token, services)).id, overlap, services.store, services.clock
        )

    _show_secret(with_services(ctx, action, as_json=as_json), as_json=as_json)


def _show_secret(issued: IssuedToken, *, as_json: bool) -> None:
    if as_json:
        show_json({**token_wire(issued.token), "secret": issued.secret})
        return
    click.echo(f"token {issued.token.id}  {issued.token.name}", err=True)
    click.echo("the secret is shown only once:", err=True)
    click.echo(issued.secret)


async def _named(name: str, services: Services) -> Token:
    """The token with this id, the start of an id, or this name."""
    tokens = await services.store.tokens()
    found = [one for one in tokens if one.id == name] or [
        one for one in tokens if one.id.startswith(name) or one.name == name
    ]
    return pick_one(found, name, "token", "`feedmill token list` lists them")


def _state(token: Token, services: Services) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "good" if token.holds(services.clock.now()) else "expired"


def _row(token: Token, state: str) -> tuple[Any, ...]:
    return (
        token.id,
        token.name,
        ",".join(token.scopes),
        state,
        format_instant(token.expires_at) or "never",
        format_instant(token.last_used_at) or "never",
    )
