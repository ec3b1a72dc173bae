"""Which key a store needs, and rewriting its secrets with another one."""
# Tested in tests/integration/interfaces/cli/commands/upkeep/test_secrets.py

from feedmill.adapters.store.secret_keys import SecretKeys, new_key, use_keys_of_environment
from feedmill.engine.ports.store import Store
from feedmill.engine.run.services import Services
from feedmill.errors import ConflictError

__all__ = ["check_secret_key", "count_secrets", "new_key", "rewrite_secrets"]


async def check_secret_key(store: Store, keys: SecretKeys) -> None:
    """SecretKeyError when the store needs a key that was not given; a first key is noted."""
    needed = await store.secret_key()
    if needed is not None:
        keys.check(needed)
    elif keys.current is not None:
        await store.store_id()  # the row that notes it
        await store.save_secret_key(keys.current)


async def count_secrets(services: Services) -> dict[str, int]:
    """How many secrets each key has encrypted, and how many are plain."""
    return await services.store.count_secrets()


async def rewrite_secrets(services: Services, *, encrypt: bool) -> int:
    """Encrypt all secrets with the current key, or decrypt them; how many rows were written."""
    keys = use_keys_of_environment()
    if not encrypt:
        written = await services.store.decrypt_secrets()
        await services.store.save_secret_key(None)
        return written
    if keys.current is None:
        message = "no key is given to encrypt secrets with"
        hint = "feedmill secrets key prints one; give it as FEEDMILL_SECRET_KEY, or a file with it as FEEDMILL_SECRET_KEY_FILE"
        raise ConflictError(message, reason="no-secret-key", hint=hint)
    written = await services.store.encrypt_secrets()
    await services.store.save_secret_key(keys.current)
    return written
