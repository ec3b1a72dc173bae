"""`feedmill secrets`: make a key, encrypt stored secrets or decrypt them."""
# Tested in tests/integration/interfaces/cli/commands/test_secrets.py

import click

from feedmill.app.secrets import count_secrets, new_key, rewrite_secrets
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.options import context_and_json, json_option
from feedmill.interfaces.cli.output import format_count, show_json, show_result, show_table
from feedmill.interfaces.cli.run_command import with_services


@click.group()
def secrets() -> None:
    """Encrypt webhook secrets, feed passwords and push secrets in the store.

    The key comes from FEEDMILL_SECRET_KEY, or from the file that FEEDMILL_SECRET_KEY_FILE names. Keep a copy of it apart
    from backups of the store: without the key the secrets cannot be read.

    \b
    Examples:
      feedmill secrets key > /etc/feedmill/secret.key
      FEEDMILL_SECRET_KEY_FILE=/etc/feedmill/secret.key feedmill secrets encrypt
    """


@secrets.command("key")
@json_option
def key_command(*, as_json: bool) -> None:
    """Print a new random key."""
    key = new_key()
    show_result({"key": key}, key, as_json=as_json)


@secrets.command("status")
@context_and_json
def status_command(ctx: click.Context, *, as_json: bool) -> None:
    """Show how many secrets are plain, and how many each key has encrypted."""

    async def action(services: Services) -> dict[str, int]:
        return await count_secrets(services)

    found = with_services(ctx, action, as_json=as_json)
    if as_json:
        show_json({"secrets": found})
    else:
        show_table(("key", "secrets"), [(name, f"{count:,}") for name, count in found.items()])


@secrets.command("encrypt")
@context_and_json
def encrypt_command(ctx: click.Context, *, as_json: bool) -> None:
    """Encrypt all secrets with the first key: what is plain, and what an older key has encrypted.

    To change the key, put the new one in front of the old one, separated by a space or a line, restart feedmill, run this, and then remove
    the old one.

    \b
    Examples:
      FEEDMILL_SECRET_KEY="NEW OLD" feedmill secrets encrypt
    """
    _rewrite(ctx, encrypt=True, as_json=as_json)


@secrets.command("decrypt")
@context_and_json
def decrypt_command(ctx: click.Context, *, as_json: bool) -> None:
    """Store all secrets as they are, before you go back to an older version or remove the key."""
    _rewrite(ctx, encrypt=False, as_json=as_json)


def _rewrite(ctx: click.Context, *, encrypt: bool, as_json: bool) -> None:
    async def action(services: Services) -> int:
        return await rewrite_secrets(services, encrypt=encrypt)

    written = with_services(ctx, action, as_json=as_json)
    done = "encrypted" if encrypt else "decrypted"
    show_result(
        {"rows": written}, f"{done} the secrets of {format_count(written, 'row')}", as_json=as_json
    )
