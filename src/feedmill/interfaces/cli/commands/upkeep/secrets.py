"""`feedmill secrets`: make a key, encrypt stored secrets or decrypt them."""
# Tested in tests/integration/interfaces/cli/commands/upkeep/test_secrets.py

import click

from feedmill.app.store_moves import new_secret_key, rewrite_secrets
from feedmill.engine.run.services import Services
from feedmill.interfaces.cli.command import Answer, command, print_answer
from feedmill.interfaces.cli.output import format_count, show_table


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


@command("key", of=secrets)
def key_command() -> None:
    """Print a new random key."""
    key = new_secret_key()
    print_answer(Answer({"key": key}, key))


@command("status", of=secrets)
async def status_command(services: Services) -> Answer:
    """Count secrets by the key that encrypts them. Plain ones are counted, too."""
    found = await services.store.count_secrets()
    rows = [(name, f"{count:,}") for name, count in found.items()]
    if not rows:
        return Answer({"secrets": found}, "no secrets are stored")
    return Answer({"secrets": found}, lambda: show_table(("key", "secrets"), rows))


@command("encrypt", of=secrets)
async def encrypt_command(services: Services) -> Answer:
    """Encrypt all secrets with the first key. That is what is plain, and what an older key has encrypted.

    To change the key, put the new one in front of the old one, separated by a space or a line, restart feedmill, run this, and then remove
    the old one.

    \b
    Examples:
      FEEDMILL_SECRET_KEY="NEW OLD" feedmill secrets encrypt
    """
    return await _rewrite(services, encrypt=True)


@command("decrypt", of=secrets)
async def decrypt_command(services: Services) -> Answer:
    """Store all secrets unencrypted. Do it before you go back to an older version or remove the key."""
    return await _rewrite(services, encrypt=False)


async def _rewrite(services: Services, *, encrypt: bool) -> Answer:
    written = await rewrite_secrets(services.store, encrypt=encrypt)
    done = "encrypted" if encrypt else "decrypted"
    return Answer({"rows": written}, f"{done} the secrets of {format_count(written, 'row')}")
