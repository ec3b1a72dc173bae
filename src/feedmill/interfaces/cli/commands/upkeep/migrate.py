"""`feedmill migrate`: migrate the store to this version, before workers start."""
# Tested in tests/integration/interfaces/cli/

from feedmill.app.store_moves import migrate_store, missing_migrations
from feedmill.config import Config
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import flag


@command()
@flag("--check", "Change nothing; exit with 1 when migrations are missing.")
async def migrate(config: Config, *, check: bool) -> Answer:
    """Migrate the store to this version of feedmill; does nothing when it is up to date.

    Each migration is one transaction and is applied once, even by two jobs at the same time.
    Workers, APIs and relays wait for it. On SQLite every command migrates by itself.

    \b
    Examples:
      DATABASE_URL=postgresql://feedmill@db/feedmill feedmill migrate
      feedmill migrate --check && echo up to date
    """
    names = await (missing_migrations(config) if check else migrate_store(config))
    verb = "missing" if check else "applied"
    words = "\n".join(f"{verb}  {name}" for name in names) or "the store is up to date"
    return Answer({verb: names}, words, status=1 if check and names else 0)
