"""Stored secrets: encrypted with a key, read with it, rewritten with another one, and plain ones found."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, new_feed

from feedmill.adapters.store.secret_keys import new_key, use_keys_of_environment
from feedmill.engine.ports.store import Store
from feedmill.errors import SecretKeyError
from feedmill.model.feed import FeedOverrides, PushSubscription
from feedmill.model.running.webhook import Webhook, WebhookSecret

OWN = FeedOverrides(
    username="me",
    password="hunter2",
    headers=(("X-Key", "s3cret"),),
    proxy="http://u:p@proxy.example",
)
HOOK = Webhook(
    id="1", url="https://a.example/", created_at=NOON, secrets=(WebhookSecret(value="whsec"),)
)
PUSH = PushSubscription(
    token="t", feed_id=None, hub="https://hub.example/", topic="https://a.example/feed",
    secret="pushsec", state="asked", created_at=NOON,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_keys_afterwards() -> Iterator[None]:
    use_keys_of_environment({})
    yield
    use_keys_of_environment({})


async def _fill(store: Store) -> str:
    feed, _ = await store.add_feed(replace(new_feed(1), overrides=OWN))
    await store.add_webhook(HOOK)
    await store.add_push_subscription(PUSH)
    return feed.id


async def _read(store: Store, feed_id: str) -> tuple[object, ...]:
    feed, hook = await store.feed(feed_id), await store.webhook("1")
    push = await store.push_subscription("t")
    assert feed is not None
    assert hook is not None
    assert push is not None
    return feed.overrides, hook.secrets, push.secret


KEPT = (OWN, HOOK.secrets, "pushsec")


def test_secrets_are_encrypted_when_they_are_written_and_read_with_the_key(tell: Tell) -> None:
    async def story(store: Store) -> None:
        keys = use_keys_of_environment({"FEEDMILL_SECRET_KEY": new_key()})

        feed_id = await _fill(store)

        assert await store.count_secrets() == {keys.current: 5}
        assert await _read(store, feed_id) == KEPT
        use_keys_of_environment({})
        with pytest.raises(SecretKeyError):
            await store.feed(feed_id)

    tell(story)


def test_plain_secrets_are_encrypted_rotated_and_decrypted_in_place(tell: Tell) -> None:
    async def story(store: Store) -> None:
        old, new = new_key(), new_key()
        feed_id = await _fill(store)
        assert await store.count_secrets() == {"plain": 5}

        first = use_keys_of_environment({"FEEDMILL_SECRET_KEY": old})
        assert await _read(store, feed_id) == KEPT  # plain rows are read beside encrypted ones
        assert await store.encrypt_secrets() == 3
        assert await store.count_secrets() == {first.current: 5}

        second = use_keys_of_environment({"FEEDMILL_SECRET_KEY": f"{new} {old}"})
        await store.encrypt_secrets()
        assert await store.count_secrets() == {second.current: 5}
        use_keys_of_environment({"FEEDMILL_SECRET_KEY": new})
        assert await _read(store, feed_id) == KEPT

        assert await store.decrypt_secrets() == 3
        assert await store.count_secrets() == {"plain": 5}
        use_keys_of_environment({})
        assert await _read(store, feed_id) == KEPT

    tell(story)


def test_store_remembers_which_key_it_needs(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.store_id()
        assert await store.secret_key() is None

        await store.save_secret_key("0123abcd")

        assert await store.secret_key() == "0123abcd"

    tell(story)
