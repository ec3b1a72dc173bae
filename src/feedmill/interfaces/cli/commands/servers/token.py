"""`feedmill token`: create, list, rotate and revoke API tokens. A secret is printed only once."""

from datetime import timedelta
from functools import partial
from typing import Any

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import IssuedToken, issue_token, revoke_token, rotate_token
from feedmill.interfaces.cli.command import Answer, Printer, answer_with_secret, command
from feedmill.interfaces.cli.options import (
    list_options,
    option,
    overlap_option,
    parse_duration,
)
from feedmill.interfaces.cli.output import show_list
from feedmill.interfaces.cli.run_command import pick_one
from feedmill.model.running.webhook import Scope, Token
from feedmill.publish.to_json import format_instant, token_wire


@click.group()
def token() -> None:
    """Create, list, rotate and revoke API tokens."""


@command("create", of=token)
@click.argument("name")
@option(
    "--scope",
    "scopes",
    "Permission: write includes read, admin includes both; repeatable.",
    choices=("read", "write", "admin"),
    multiple=True,
    default=("read",),
    show_default="read",
)
@option("--expires SPAN", "Validity, such as 90d; default: unlimited.", type=parse_duration)
async def create_token_command(
    services: Services, name: str, scopes: tuple[Scope, ...], expires: timedelta | None
) -> Answer:
    """Create a token and print its secret, which is shown only once."""
    return _with_secret(
        await issue_token(name, scopes, services.store, services.clock, expires_in=expires)
    )


@command("list", of=token)
@list_options()
async def list_tokens_command(services: Services) -> Printer:
    """List tokens, including expired and revoked ones."""
    found = [(one, _state(one, services)) for one in await services.store.tokens()]
    return partial(
        show_list,
        [{**token_wire(one), "state": state} for one, state in found],
        ("id", "name", "scopes", "state", "expires", "last used"),
        [_row(one, state) for one, state in found],
        empty="no tokens yet; try: feedmill token create my-reader --scope read",
    )


@command("revoke", of=token)
@click.argument("token", metavar="TOKEN")
async def revoke_token_command(services: Services, token: str) -> Answer:
    """Revoke a token at once. TOKEN is an id, the start or the end of one, or a name."""
    found, now = await _named(token, services), services.clock.now()
    revoked = await revoke_token(found.id, services.store, services.clock)
    if not any(one.holds(now) for one in await services.store.tokens()):
        click.echo(
            "no valid token is left: REST, gRPC and the console refuse every request, also from this machine,"
            " until `feedmill token create` makes one",
            err=True,
        )
    return Answer(token_wire(revoked), f"revoked {revoked.id}  {revoked.name}")


@command("rotate", of=token)
@click.argument("token", metavar="TOKEN")
@overlap_option("How long the old secret stays valid; 0 revokes it now.")
async def rotate_token_command(services: Services, token: str, overlap: timedelta) -> Answer:
    """Replace the secret of a token and print the new one, once."""
    found = await _named(token, services)
    return _with_secret(await rotate_token(found.id, overlap, services.store, services.clock))


def _with_secret(issued: IssuedToken) -> Answer:
    made, secret = issued.token, issued.secret
    words = f"token {made.id}  {made.name}\nthe secret is shown only once:"
    return answer_with_secret(token_wire(made), words, secret)


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
