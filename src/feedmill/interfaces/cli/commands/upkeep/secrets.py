"""`feedmill secrets`: make a key, encrypt stored secrets or decrypt them."""
# Tested in tests/integration/interfaces/cli/commands/upkeep/test_secrets.py

import click

from feedmill.app.secrets import count_secrets, new_key, rewrite_secrets
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
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
def key_command() -> None:
    """Print a new random key."""
    key = new_key()
    show_result({"key": key}, key)


@secrets.command("status")
@json_option
def status_command() -> None:
    """Count secrets by the key that encrypts them. Plain ones are counted, too."""

    found = with_services(count_secrets)
    if is_json():
        show_json({"secrets": found})
    else:
        show_table(("key", "secrets"), [(name, f"{count:,}") for name, count in found.items()])


@secrets.command("encrypt")
@json_option
def encrypt_command() -> None:
    """Encrypt all secrets with the first key. That is what is plain, and what an older key has encrypted.

    To change the key, put the new one in front of the old one, separated by a space or a line, restart feedmill, run this, and then remove
    the old one.

    \b
    Examples:
      FEEDMILL_SECRET_KEY="NEW OLD" feedmill secrets encrypt
    """
    _rewrite(encrypt=True)


@secrets.command("decrypt")
@json_option
def decrypt_command() -> None:
    """Store all secrets unencrypted. Do it before you go back to an older version or remove the key."""
    _rewrite(encrypt=False)


def _rewrite(*, encrypt: bool) -> None:
    written = with_services(lambda services: rewrite_secrets(services, encrypt=encrypt))
    done = "encrypted" if encrypt else "decrypted"
    show_result({"rows": written}, f"{done} the secrets of {format_count(written, 'row')}")
