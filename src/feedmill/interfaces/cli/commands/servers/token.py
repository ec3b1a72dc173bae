"""`feedmill token`: create, list, rotate and revoke API tokens. A secret is printed only once."""

from datetime import timedelta
from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import IssuedToken, issue_token, revoke_token, rotate_token
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import (
    json_option,
    list_options,
    overlap_option,
    parse_duration,
)
from feedmill.interfaces.cli.output import show_json, show_list, show_result
from feedmill.interfaces.cli.run_command import pick_one, with_services
from feedmill.model.running.token import Scope, Token
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
@json_option
def create_token_command(name: str, scopes: tuple[Scope, ...], expires: timedelta | None) -> None:
    """Create a token and print its secret, which is shown only once."""

    _show_secret(
        with_services(
            lambda services: issue_token(
                name, scopes, services.store, services.clock, expires_in=expires
            )
        )
    )


@token.command("list")
@list_options()
def list_tokens_command() -> None:
    """List tokens, including expired and revoked ones."""

    async def action(services: Services) -> list[tuple[Token, str]]:
        return [(one, _state(one, services)) for one in await services.store.tokens()]

    found = with_services(action)
    show_list(
        [{**token_wire(one), "state": state} for one, state in found],
        ("id", "name", "scopes", "state", "expires", "last used"),
        [_row(one, state) for one, state in found],
        empty="no tokens yet; try: feedmill token create my-reader --scope read",
    )


@token.command("revoke")
@click.argument("token", metavar="TOKEN")
@json_option
def revoke_token_command(token: str) -> None:
    """Revoke a token at once. TOKEN is an id, the start or the end of one, or a name."""

    async def action(services: Services) -> tuple[Token, bool]:
        found, now = await _named(token, services), services.clock.now()
        revoked = await revoke_token(found.id, services.store, services.clock)
        return revoked, any(one.holds(now) for one in await services.store.tokens())

    revoked, is_any_left = with_services(action)
    show_result(token_wire(revoked), f"revoked {revoked.id}  {revoked.name}")
    if not is_any_left:
        click.echo(
            "no valid token is left: REST, gRPC and the console refuse every request, also from this machine,"
            " until `feedmill token create` makes one",
            err=True,
        )


@token.command("rotate")
@click.argument("token", metavar="TOKEN")
@overlap_option("How long the old secret stays valid; 0 revokes it now.")
@json_option
def rotate_token_command(token: str, overlap: timedelta) -> None:
    """Replace the secret of a token and print the new one, once."""

    async def action(services: Services) -> IssuedToken:
        return await rotate_token(
            (await _named(token, services)).id, overlap, services.store, services.clock
        )

    _show_secret(with_services(action))


def _show_secret(issued: IssuedToken) -> None:
    if is_json():
        show_json({**token_wire(issued.token), "secret": issued.secret})
        return
    click.echo(f"token {issued.token.id}  {issued.token.name}", err=True)
    click.echo("the secret is shown only once:", err=True)
    click.echo(issued.secret)


async def _named(name: str, services: Services) -> Token:
    """The token with this id, start or end of an id, or name."""
    known = await services.store.tokens()
    return pick_one(known, name, "token", "`feedmill token list` lists them", by_name=True)


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
