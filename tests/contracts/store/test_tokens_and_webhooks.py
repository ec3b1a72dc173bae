"""What every store promises about tokens and webhooks."""

import pytest
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import DAY, HOUR, NOON, new_feed

from feedmill.engine.ports.store import Store
from feedmill.errors import UsageError
from feedmill.model.event import Event, NewEvent
from feedmill.model.running.webhook import DeadLetter, Settlement, Token, Webhook, WebhookSecret
from feedmill.publish.events import event_of_removed_feed

TOKEN = Token(id="token-1", name="reader", scopes=("read", "write"), created_at=NOON)
HASH, OTHER = "a1" * 32, "b2" * 32
HOOK = Webhook(
    id="hook-1",
    url="https://receiver.example/hook",
    created_at=NOON,
    secrets=(WebhookSecret(value="fmwh_new"), WebhookSecret(value="fmwh_old", valid_until=NOON)),
    types=("new_entry", "entry.updated"),
    feed_id="feed",
    tag="news",
    format="cloudevents",
)
DONE = Settlement(webhook_id=HOOK.id, after=0, upto=2, at=NOON, result="delivered", status=204)


async def add_events(store: Store, number: int = 1, *, events: int = 3) -> str:
    new = new_feed(number)
    told = NewEvent(type="feed.state", feed_id=new.id, occurred_at=NOON)
    await store.add_feed(new, [told] * events)
    return new.id


def letter(number: int, webhook_id: str = HOOK.id) -> DeadLetter:
    event = Event(
        seq=number,
        id=f"e{number}",
        type="feed.state",
        feed_id="feed",
        occurred_at=NOON,
        data={"n": 1},
    )
    return DeadLetter(
        id=f"letter-{number}",
        webhook_id=webhook_id,
        events=(event, event),
        reason="server-error",
        attempts=20,
        died_at=NOON,
        status=500,
        detail="no",
    )


class TestTokens:
    def test_a_token_is_kept_whole_and_found_by_the_beginning_of_its_hash(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            token = replace(TOKEN, expires_at=NOON + DAY)

            await store.add_token(token, HASH)

            assert await store.tokens() == (token,)
            (kept,) = await store.token_secrets(HASH[:16])
            assert (kept.sha256, kept.token, kept.valid_until) == (HASH, token, None)
            assert await store.token_secrets(OTHER[:16]) == ()

        tell(story)

    def test_hashes_that_begin_alike_are_all_found(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            twin = HASH[:16] + "f" * 48
            await store.add_token(TOKEN, HASH)
            await store.add_token(replace(TOKEN, id="token-2"), twin)

            found = await store.token_secrets(HASH[:16])

            assert {kept.sha256 for kept in found} == {HASH, twin}

        tell(story)

    def test_after_a_rotation_two_secrets_are_known_and_the_older_one_has_an_end(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            await store.add_token(TOKEN, HASH)

            assert await store.rotate_token(TOKEN.id, OTHER, old_until=NOON + HOUR) == TOKEN

            (old,) = await store.token_secrets(HASH[:16])
            (new,) = await store.token_secrets(OTHER[:16])
            assert (old.valid_until, new.valid_until) == (NOON + HOUR, None)
            assert len(await store.tokens()) == 1

        tell(story)

    def test_a_second_rotation_ends_the_oldest_secret(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await store.add_token(TOKEN, HASH)
            await store.rotate_token(TOKEN.id, OTHER, old_until=NOON + HOUR)

            await store.rotate_token(TOKEN.id, "c3" * 32, old_until=NOON + DAY)

            (middle,) = await store.token_secrets(OTHER[:16])
            assert middle.valid_until == NOON + DAY
            assert await store.token_secrets(HASH[:16]) == ()

        tell(story)

    def test_a_revoked_token_is_listed_and_its_secrets_are_gone(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await store.add_token(TOKEN, HASH)

            assert await store.revoke_token(TOKEN.id, NOON)
            assert await store.revoke_token(TOKEN.id, NOON + DAY)  # again changes nothing

            assert await store.tokens() == (replace(TOKEN, revoked_at=NOON),)
            assert await store.token_secrets(HASH[:16]) == ()

        tell(story)

    def test_the_last_use_only_goes_forward(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await store.add_token(TOKEN, HASH)

            await store.touch_token(TOKEN.id, NOON + HOUR)
            await store.touch_token(TOKEN.id, NOON)

            assert (await store.tokens())[0].last_used_at == NOON + HOUR

        tell(story)

    def test_a_token_that_is_not_there_cannot_be_changed(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            assert await store.rotate_token("nobody", HASH, old_until=NOON) is None
            assert not await store.revoke_token("nobody", NOON)
            assert await store.token_secrets(HASH[:16]) == ()

        tell(story)


class TestWebhooks:
    def test_a_webhook_is_kept_whole_and_begins_at_the_end_of_the_log(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)

            await store.add_webhook(HOOK)

            assert await store.webhook(HOOK.id) == replace(HOOK, cursor=3)
            assert await store.webhooks() == (replace(HOOK, cursor=3),)
            assert await store.webhook("nobody") is None

        tell(story)

    def test_a_webhook_may_begin_with_an_earlier_event(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)

            await store.add_webhook(HOOK, after=1)

            assert (await store.webhooks())[0].cursor == 1

        tell(story)

    def test_what_its_owner_decides_is_changed_and_the_cursor_is_not(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)
            await store.add_webhook(HOOK)
            changed = replace(
                HOOK, state="paused", paused_reason="by-hand", types=(), tag=None, feed_id=None,
                format="plain", secrets=HOOK.secrets[:1], attempts=2, next_attempt_at=NOON, cursor=0,
            )  # fmt: skip

            assert await store.change_webhook(changed)

            assert await store.webhook(HOOK.id) == replace(changed, cursor=3)
            assert not await store.change_webhook(replace(changed, id="nobody"))

        tell(story)

    def test_success_moves_the_cursor_and_is_remembered(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)
            await store.add_webhook(HOOK, after=0)

            assert await store.settle_webhook(DONE)

            told = await store.webhook(HOOK.id)
            assert told == replace(
                HOOK, cursor=2, last_result="delivered", last_status=204, last_delivery_at=NOON
            )
            assert await store.cursor(f"webhook:{HOOK.id}") == 2

        tell(story)

    def test_failure_keeps_the_cursor_and_the_last_success(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)
            await store.add_webhook(HOOK, after=0)
            await store.settle_webhook(DONE)
            failed = Settlement(
                webhook_id=HOOK.id, after=2, upto=2, at=NOON + DAY, result="server-error",
                status=500, attempts=3, next_attempt_at=NOON + HOUR,
            )  # fmt: skip

            assert await store.settle_webhook(failed)

            told = await store.webhook(HOOK.id)
            assert told is not None
            assert (told.cursor, told.attempts, told.next_attempt_at) == (2, 3, NOON + HOUR)
            assert (told.last_result, told.last_status) == ("server-error", 500)
            assert told.last_delivery_at == NOON

        tell(story)

    def test_what_was_only_passed_over_leaves_no_result(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)
            await store.add_webhook(HOOK, after=0)

            await store.settle_webhook(Settlement(webhook_id=HOOK.id, after=0, upto=3, at=NOON))

            assert await store.webhook(HOOK.id) == replace(HOOK, cursor=3)

        tell(story)

    def test_an_attempt_that_was_overtaken_writes_nothing(self, tell: Tell) -> None:
        """Somebody replays while a batch is under way: its success must not end the replay."""

        async def story(store: Store) -> None:
            await add_events(store)
            await store.add_webhook(HOOK, after=2)
            assert await store.rewind_webhook(HOOK.id, 0)

            overtaken = replace(DONE, after=2, upto=3, pause="gone", letter=letter(3))

            assert not await store.settle_webhook(overtaken)
            assert await store.webhook(HOOK.id) == replace(HOOK, cursor=0)
            assert (await store.dead_letters(HOOK.id)).items == ()
            assert not await store.settle_webhook(replace(DONE, webhook_id="nobody"))

        tell(story)

    def test_going_back_also_ends_a_wait_and_never_goes_past_the_log(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)
            await store.add_webhook(replace(HOOK), after=3)
            waiting = replace(DONE, after=3, upto=3, attempts=4, next_attempt_at=NOON + DAY)
            await store.settle_webhook(waiting)

            assert await store.rewind_webhook(HOOK.id, 99)

            told = await store.webhook(HOOK.id)
            assert told is not None
            assert (told.cursor, told.attempts, told.next_attempt_at) == (3, 0, None)
            assert not await store.rewind_webhook("nobody", 0)

        tell(story)

    def test_a_webhook_that_is_gone_is_paused_but_not_one_that_somebody_paused(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            by_hand = replace(HOOK, id="hook-2", state="paused", paused_reason="by-hand")
            await store.add_webhook(HOOK)
            await store.add_webhook(by_hand)
            gone = Settlement(
                webhook_id=HOOK.id,
                after=0,
                upto=0,
                at=NOON,
                result="gone",
                status=410,
                pause="gone",
            )

            await store.settle_webhook(gone)
            await store.settle_webhook(replace(gone, webhook_id=by_hand.id))

            reasons = [one.paused_reason for one in await store.webhooks()]
            assert reasons == ["gone", "by-hand"]

        tell(story)

    def test_one_owner_at_a_time_tells_a_webhook_until_its_lease_ends(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await store.add_webhook(HOOK)
            await store.add_webhook(replace(HOOK, id="hook-2", state="paused"))

            mine = await store.lease_webhooks("me", now=NOON, until=NOON + HOUR)
            again = await store.lease_webhooks("me", now=NOON, until=NOON + HOUR)
            theirs = await store.lease_webhooks("they", now=NOON, until=NOON + HOUR)
            late = await store.lease_webhooks("they", now=NOON + HOUR, until=NOON + DAY)

            assert [len(held) for held in (mine, again, theirs, late)] == [1, 1, 0, 1]
            assert mine == again == late == {HOOK.id}

        tell(story)

    def test_what_is_given_back_is_free_at_once(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await store.add_webhook(HOOK)
            await store.lease_webhooks("me", now=NOON, until=NOON + HOUR)

            await store.release_webhooks("me")

            assert await store.lease_webhooks("they", now=NOON, until=NOON + HOUR) == {HOOK.id}

        tell(story)

    def test_a_batch_that_is_given_up_is_kept_while_the_cursor_goes_on(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)
            await store.add_webhook(HOOK, after=0)

            await store.settle_webhook(replace(DONE, result="server-error", letter=letter(1)))

            assert (await store.dead_letters(HOOK.id)).items == (letter(1),)
            assert (await store.webhooks())[0].cursor == 2

        tell(story)

    def test_dead_letters_are_listed_page_by_page_and_can_be_dropped(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await store.add_webhook(HOOK)
            await store.add_webhook(replace(HOOK, id="hook-2"))
            for number in range(1, 6):
                await store.settle_webhook(replace(DONE, upto=0, letter=letter(number)))
            foreign = letter(9, "hook-2")
            await store.settle_webhook(replace(DONE, webhook_id="hook-2", upto=0, letter=foreign))

            first = await store.dead_letters(HOOK.id, limit=2)
            rest = await store.dead_letters(HOOK.id, after=first.next, limit=3)

            assert [one.id for one in first.items] == ["letter-1", "letter-2"]
            assert [one.id for one in rest.items] == ["letter-3", "letter-4", "letter-5"]
            assert rest.next is None
            assert await store.delete_dead_letters(["letter-1", "letter-3", "unknown"]) == 2
            assert len((await store.dead_letters(HOOK.id)).items) == 3

        tell(story)

    @pytest.mark.parametrize("cursor", ["x", "-1", "1.2", "9" * 30, "١"])
    def test_a_cursor_of_another_list_is_refused(self, tell: Tell, cursor: str) -> None:
        async def story(store: Store) -> None:
            with pytest.raises(UsageError, match="no cursor"):
                await store.dead_letters(HOOK.id, after=cursor)

        tell(story)

    def test_a_webhook_leaves_nothing_behind(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await add_events(store)
            await store.add_webhook(HOOK, after=0)
            await store.settle_webhook(replace(DONE, letter=letter(1)))

            assert await store.remove_webhook(HOOK.id)
            assert not await store.remove_webhook(HOOK.id)

            assert await store.webhooks() == ()
            assert (await store.dead_letters(HOOK.id)).items == ()
            assert await store.cursor(f"webhook:{HOOK.id}") == 0

        tell(story)

    def test_the_tags_of_a_feed_are_known_even_after_its_end(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            stays, _ = await store.add_feed(replace(new_feed(1), tags=("news", "daily")))
            goes, _ = await store.add_feed(replace(new_feed(2), tags=("sport",)))
            await store.remove_feed(goes.id, [event_of_removed_feed(goes, now=NOON)])

            tags = await store.feed_tags([stays.id, goes.id, "nobody"])

            assert tags == {stays.id: ("news", "daily"), goes.id: ("sport",)}

        tell(story)

    def test_a_feed_that_was_merged_into_another_has_its_tags(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            winner, _ = await store.add_feed(replace(new_feed(1), tags=("news",)))
            merged = NewEvent(
                type="feed.merged", feed_id=winner.id, occurred_at=NOON, data={"from": "loser"}
            )
            await store.add_feed(new_feed(2), [merged])

            assert await store.feed_tags(["loser"]) == {"loser": ("news",)}

        tell(story)

    def test_an_active_webhook_holds_the_log_for_itself_and_a_paused_one_does_not(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            await add_events(store)
            await store.set_cursor("ndjson", 3)
            await store.add_webhook(HOOK, after=1)
            late = NOON + 60 * DAY

            held = await store.purge(before=late, now=late)
            await store.change_webhook(replace(HOOK, state="paused", paused_reason="gone"))
            free = await store.purge(before=late, now=late)

            assert (held["events"], free["events"]) == (1, 1)  # the newest always stays

        tell(story)
