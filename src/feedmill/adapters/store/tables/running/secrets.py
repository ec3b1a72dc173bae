"""Secrets in the tables `feeds`, `webhooks` and `push_subscriptions`: count, encrypt and decrypt them in place."""
# Tested in tests/contracts/store/test_secrets.py

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from feedmill.adapters.store.secret_keys import key_in, seal, unseal
from feedmill.adapters.store.statements import Query, rows, value, write
from feedmill.adapters.store.tables.codec import change_overrides, json_text
from feedmill.adapters.store.tables.running.webhooks import change_secrets, decode_secrets
from feedmill.model.feed import FeedOverrides

_overrides: Final = msgspec.json.Decoder(FeedOverrides).decode

PLAIN: Final = "plain"  # beside the ids of keys


class _Place(NamedTuple):
    table: str
    key: str
    column: str
    change: Callable[[str, Callable[[str], str]], str]  # every secret of a stored text


_PLACES: Final = (
    _Place(
        *("feeds", "feed_no", "overrides"),
        lambda text, change: json_text(change_overrides(_overrides(text), change)),
    ),
    _Place(
        *("webhooks", "id", "secrets"),
        lambda text, change: json_text(change_secrets(decode_secrets(text), change)),
    ),
    _Place("push_subscriptions", "subscription_id", "secret", lambda text, change: change(text)),
)


def secret_key() -> Query[str | None]:
    """The id of the key that this store was opened with first; None: it never had one."""
    found: str | None = yield from value("SELECT secret_key FROM store_identity WHERE one = 1")
    return found


def save_secret_key(name: str | None) -> Query[None]:
    """Store which key this store needs from now on."""
    yield from write("UPDATE store_identity SET secret_key = $1", name)


def count_secrets() -> Query[dict[str, int]]:
    """How many secrets each key has encrypted, and how many are plain."""
    counts: Counter[str] = Counter()
    for place in _PLACES:
        for _, text in (yield from _stored(place)):
            counts.update(key_in(secret) or PLAIN for secret in _secrets_in(place, text))
    return dict(counts)


def encrypt_secrets() -> Query[int]:
    """Encrypt what is plain or was encrypted with an older key; how many rows were written."""
    return _rewrite(lambda text: seal(unseal(text)))


def decrypt_secrets() -> Query[int]:
    """Store all secrets as they are; how many rows were written."""
    return _rewrite(unseal)


def _rewrite(change: Callable[[str], str]) -> Query[int]:
    written = 0
    for place in _PLACES:
        statement = (
            f"UPDATE {place.table} SET {place.column} = $2 WHERE {place.key} = $1"
            f" AND {place.column} = $3"
        )
        for key, text in (yield from _stored(place)):
            if any(True for _ in _secrets_in(place, text)):
                new = place.change(text, change)
                written += yield from write(statement, key, new, text)
    return written


def _stored(place: _Place) -> Query[list[tuple[int | str, str]]]:
    found = yield from rows(
        f"SELECT {place.key}, {place.column} FROM {place.table} WHERE {place.column} IS NOT NULL"
        f" ORDER BY {place.key}"
    )
    return [(key, text) for key, text in found]


def _secrets_in(place: _Place, text: str) -> Iterator[str]:
    found: list[str] = []

    def note(secret: str) -> str:
        found.append(secret)
        return secret

    place.change(text, note)
    yield from found
