"""Migrations, the encryption of secrets, and transfer and comparison of a SQLite and a PostgreSQL store."""
# Tested in tests/integration/interfaces/cli/

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store import open as opening
from feedmill.adapters.store import secret_keys
from feedmill.config import Config
from feedmill.engine.ports.store import Store
from feedmill.errors import ConflictError
from feedmill.model.running.worker import Transfer

if TYPE_CHECKING:
    from feedmill.adapters.store.transfer.copy import Progress
    from feedmill.adapters.store.transfer.copy import StoreTransfer as StoreMove
from feedmill.app.services import DATABASE_NAME, RAW_FOLDER, make_home, open_blobs

BATCH_ROWS: Final = 5_000  # of one transaction, when a store moves


async def migrate_store(config: Config) -> tuple[str, ...]:
    """Migrate the store to this version; the names of the applied migrations."""
    home = Path(config.store.home)
    if config.store.url is None:
        make_home(home)
    return await opening.apply_migrations(config, home / DATABASE_NAME, SystemClock().now())


async def missing_migrations(config: Config) -> tuple[str, ...]:
    """The names of missing migrations; nothing is changed."""
    return await opening.missing_migrations(config, Path(config.store.home) / DATABASE_NAME)


def new_secret_key() -> str:
    """A new random key for the secrets of a store."""
    return secret_keys.new_key()


async def rewrite_secrets(store: Store, *, encrypt: bool) -> int:
    """Encrypt all secrets with the current key, or decrypt them; how many rows were written."""
    key = secret_keys.use_keys_of_environment().current if encrypt else None
    if encrypt and key is None:
        message = "no key is given to encrypt secrets with"
        hint = "feedmill secrets key prints one; give it as FEEDMILL_SECRET_KEY, or a file with it as FEEDMILL_SECRET_KEY_FILE"
        raise ConflictError(message, reason="no-secret-key", hint=hint)
    written = await (store.encrypt_secrets() if encrypt else store.decrypt_secrets())
    await store.save_secret_key(key)
    return written


async def transfer_store(
    config: Config,
    source: str,
    target: str,
    progress: "Progress",
    *,
    dry_run: bool = False,
    restart: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> Transfer:
    """Copy a SQLite store into a PostgreSQL one, or plan it; ConflictError when it is refused.

    With `restart` the rows of an interrupted transfer are discarded first.
    """
    own = replace(config, store=replace(config.store, url=target, migrate_wait_sec=0.0))
    async with _move(own, source, target, batch_rows) as move:
        missing = await opening.missing_migrations(own, Path())
        if dry_run:
            return replace(await move.plan(), migrations=missing)
        if missing:
            await opening.apply_migrations(own, Path(), SystemClock().now())
        done = await move.carry(
            progress, restart=restart, switch=partial(_hand_over_raw, config, move.path)
        )
        return replace(done, migrations=missing)


async def compare_stores(
    config: Config, source: str, target: str, progress: "Progress", *, batch_rows: int = BATCH_ROWS
) -> Transfer:
    """Compare a SQLite store with a PostgreSQL one; nothing is written."""
    own = replace(config, store=replace(config.store, url=target))
    async with _move(own, source, target, batch_rows) as move:
        return await move.compare(progress)


async def _hand_over_raw(config: Config, path: Path, old_id: str | None, new_id: str) -> None:
    """Let the raw store name the new store: from now on the old one deletes nothing there (D36)."""
    home = path.parent
    if config.blobs.url is None and not (home / RAW_FOLDER).is_dir():
        return
    blobs = await open_blobs(config, SystemClock(), url=config.blobs.url, home=home)
    try:
        owner = await blobs.owner()
        if owner in (None, old_id):
            await blobs.set_owner(new_id, instead_of=owner)
    finally:
        await blobs.close()


@asynccontextmanager
async def _move(
    config: Config, source: str, target: str, batch_rows: int
) -> AsyncIterator["StoreMove"]:
    opening.check_postgres()
    from feedmill.adapters.store.transfer import copy  # noqa: PLC0415  # an extra

    two = copy.read_places(source, target, DATABASE_NAME)
    async with copy.open_transfer(two, config.store, batch_rows=batch_rows) as move:
        yield move
