"""Webhooks as receivers see them: signed, in order, at least once, whatever goes wrong."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll
from tests.support.webhook_harness import happen, opened, telling, until_webhook
from tests.support.webhook_receiver import CUT, HANG, receiving

from feedmill.adapters.clock import SystemClock
from feedmill.engine.deliver.to_webhooks import deliver_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.webhooks import (
    add_webhook,
    pause_webhook,
    remove_webhook,
    replay_webhook,
    resend_dead_letters,
    resume_webhook,
    rotate_webhook_secret,
    send_test_delivery,
)
from feedmill.errors import ConflictError, NotFoundError, StoreError, UsageError
from feedmill.model.page import EntryFilter
from feedmill.model.running.webhook import Delivery, Settlement
from feedmill.publish.signing import verify


async def test_every_event_after_the_start_is_told_once_in_order_and_signed(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path, batch_events=10) as services:
        await happen(services, 5)
        hook = await add_webhook(receiver.url(), services)
        async with telling(services):
            await happen(services, 25)
            told = await receiver.heard_all(30)
            await until_webhook(services, hook.id, lambda one: one.cursor == 30)

        assert told == list(range(6, 31))
        assert len({one.headers["feedmill-delivery"] for one in receiver.taken}) >= 3
        for one in receiver.taken:
            signature, secret = one.headers["feedmill-signature"], hook.secrets[0].value
            assert verify(signature, one.body, [secret], now=services.clock.now())
            assert (one.method, one.headers["content-type"]) == ("POST", "application/json")
            assert one.headers["feedmill-webhook"] == hook.id


async def test_filters_choose_by_type_feed_and_tag_and_the_cursor_goes_on(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        one = await happen(services, 1, tags=("news",))
        by_tag = await add_webhook(receiver.url("/tag"), services, tag="news")
        by_feed = await add_webhook(receiver.url("/feed"), services, feed_id=one, from_seq=1)
        by_type = await add_webhook(receiver.url("/type"), services, types=["feed.rekeyed"])
        async with telling(services):
            await happen(services, 2, tags=("sport",))  # 2, 3
            await happen(services, 2, tags=("news", "x"))  # 4, 5
            await happen(services, 1, kind="feed.rekeyed")  # 6
            for hook in (by_tag, by_feed, by_type):
                await until_webhook(services, hook.id, lambda one: one.cursor == 6)

        assert receiver.told("/tag") == [4, 5]
        assert receiver.told("/feed") == [1]
        assert receiver.told("/type") == [6]


async def test_a_full_payload_carries_whole_entries_and_dead_letters_do_not(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path, max_attempts=1) as services:
        receiver.say("/hook", 500, 204)
        feed, _ = await services.store.add_feed(new_feed(1))
        hook = await add_webhook(receiver.url(), services, payload="full", types=["new_entry"])
        await poll(services.store, feed, 1, [an_entry("a")], at=NOON)
        await deliver_once(services, Lifecycle("the test"))
        (letter,) = (await services.store.dead_letters(hook.id)).items
        await resend_dead_letters(hook.id, services)

        (stored,) = (await services.store.entries(EntryFilter())).items
        sent = [one.events[0]["data"]["entry"] for one in receiver.taken]
        assert sent == [json.loads(msgspec.json.encode(stored))] * 2
        assert "entry" not in letter.events[0].data


async def test_cloudevents_are_batches_of_envelopes(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        await add_webhook(receiver.url(), services, form="cloudevents")
        await happen(services, 2)
        async with telling(services):
            (taken, *_) = await receiver.heard(1)

        assert taken.headers["content-type"] == "application/cloudevents-batch+json"
        assert [one["type"] for one in taken.events] == ["feedmill.feed.state"] * 2
        assert [int(one["sequence"]) for one in taken.events] == [1, 2]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (500, "server-error"),
        (503, "unavailable"),
        (404, "not-found"),
        (302, "redirect-not-followed"),
        (CUT, "connection-failed"),
    ],
)
async def test_what_fails_is_sent_again_unchanged_until_it_is_taken(
    tmp_path: Path, status: int, reason: str
) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        elsewhere = (f"Location: {receiver.url('/elsewhere')}",)
        receiver.say("/hook", status, status, 204, headers=elsewhere)
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 3)
        async with telling(services) as told:
            done = await until_webhook(services, hook.id, lambda one: one.cursor == 3)

        taken = receiver.to()
        assert len({one.body for one in taken}) == 1
        assert len({one.headers["feedmill-delivery"] for one in taken}) == 1
        assert [one.result for one in told.deliveries] == [reason, reason, "delivered"]
        assert [one.attempts for one in told.deliveries] == [1, 2, 3]
        assert (done.attempts, done.next_attempt_at) == (0, None)
        assert receiver.to("/elsewhere") == []


async def test_retry_after_is_waited_for_and_capped(tmp_path: Path) -> None:
    async with receiving() as receiver:
        receiver.say("/hook", 429, headers=("Retry-After: 600",))
        receiver.say("/forever", 429, headers=("Retry-After: 999999999",))
        async with opened(tmp_path, retry_after_max_sec=3_000.0) as services:
            polite = await add_webhook(receiver.url(), services)
            capped = await add_webhook(receiver.url("/forever"), services)
            await happen(services, 1)
            async with telling(services):
                first = await until_webhook(services, polite.id, lambda one: one.attempts > 0)
                second = await until_webhook(services, capped.id, lambda one: one.attempts > 0)
            waits = [
                one.next_attempt_at - services.clock.now()
                for one in (first, second)
                if one.next_attempt_at is not None
            ]

    assert timedelta(seconds=300) < waits[0] <= timedelta(seconds=600)
    assert timedelta(seconds=2_700) < waits[1] <= timedelta(seconds=3_000)
    assert (first.last_result, first.last_status) == ("rate-limited", 429)
    assert len(receiver.to()) == 1


async def test_a_wait_survives_a_restart(tmp_path: Path) -> None:
    async with receiving() as receiver:
        receiver.say("/hook", 503, headers=("Retry-After: 600",))
        async with opened(tmp_path) as services:
            hook = await add_webhook(receiver.url(), services)
            await happen(services, 1)
            await deliver_once(services, Lifecycle("first"))
        async with opened(tmp_path) as services:
            await deliver_once(services, Lifecycle("second"))
            again = await services.store.webhook(hook.id)

    assert again is not None
    assert again.attempts == 1
    assert len(receiver.to()) == 1


async def test_after_all_attempts_a_batch_becomes_a_dead_letter_and_the_next_goes_on(
    tmp_path: Path,
) -> None:
    async with receiving() as receiver, opened(tmp_path, max_attempts=3) as services:
        receiver.say("/hook", 500, 500, 500, 204)
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 2)
        async with telling(services) as told:
            await until_webhook(services, hook.id, lambda one: one.cursor == 2)
            await happen(services, 2)
            await until_webhook(services, hook.id, lambda one: one.cursor == 4)
        (letter,) = (await services.store.dead_letters(hook.id)).items

        assert [event.seq for event in letter.events] == [1, 2]
        assert (letter.reason, letter.attempts, letter.status) == ("server-error", 3, 500)
        assert [one.buried for one in told.deliveries] == [False, False, True, False]
        assert receiver.told()[-2:] == [3, 4]


async def test_dead_letters_are_sent_again_whole_even_when_the_log_has_forgotten_them(
    tmp_path: Path,
) -> None:
    async with receiving() as receiver, opened(tmp_path, max_attempts=1) as services:
        receiver.say("/hook", 500)
        hook = await add_webhook(receiver.url(), services)
        for _ in range(3):
            await happen(services, 1)
            await deliver_once(services, Lifecycle("the test"))
        await happen(services, 1)
        later = services.clock.now() + timedelta(days=60)
        await services.store.purge(before=later, now=later)

        failed = await resend_dead_letters(hook.id, services)
        receiver.say("/hook", 204, 500)
        partly = await resend_dead_letters(hook.id, services)
        receiver.say("/hook", 204)
        receiver.taken.clear()
        wholly = await resend_dead_letters(hook.id, services)

        assert (failed.sent, failed.left, failed.reason) == (0, 3, "server-error")
        assert (partly.sent, partly.left) == (1, 2)
        assert (wholly.sent, wholly.left, wholly.reason) == (2, 0, None)
        assert receiver.told() == [2, 3]


async def test_gone_pauses_a_webhook_until_somebody_resumes_it(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        receiver.say("/hook", 410, 204)
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 2)
        async with telling(services) as told:
            gone = await until_webhook(services, hook.id, lambda one: one.state == "paused")
            await happen(services, 1)
            await resume_webhook(hook.id, services.store)
            await until_webhook(services, hook.id, lambda one: one.cursor == 3)

        assert (gone.paused_reason, gone.cursor, gone.last_status) == ("gone", 0, 410)
        assert told.deliveries[0].result == "gone"
        assert receiver.told()[2:] == [1, 2, 3]
        assert (await services.store.dead_letters(hook.id)).items == ()


async def test_one_that_hangs_holds_nobody_up(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        receiver.say("/slow", HANG)
        slow = await add_webhook(receiver.url("/slow"), services)
        await add_webhook(receiver.url("/quick"), services)
        async with telling(services):
            await happen(services, 1)
            await receiver.heard(1, "/slow")
            for number in range(2, 12):
                await happen(services, 1)
                await receiver.heard_all(number, "/quick")
            waiting = await services.store.webhook(slow.id)

        assert receiver.told("/quick") == list(range(1, 12))
        assert waiting is not None
        assert (waiting.cursor, len(receiver.to("/slow"))) == (0, 1)


async def test_one_that_hangs_is_given_its_time_and_then_told_again(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path, timeout_ms=2_000) as services:
        receiver.say("/hook", HANG, 204)
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 1)
        async with telling(services) as told:
            await until_webhook(services, hook.id, lambda one: one.cursor == 1)

        *before, last = [one.result for one in told.deliveries]
        assert set(before) == {"timeout"}  # a busy machine may need its time more than once
        assert last == "delivered"


async def test_a_run_that_ends_does_not_wait_for_one_that_hangs(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path, timeout_ms=600_000) as services:
        receiver.say("/hook", HANG)
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 1)
        async with telling(services):
            await receiver.heard(1)
        left = await services.store.webhook(hook.id)
        free = await services.store.lease_webhooks(
            "another", now=services.clock.now(), until=services.clock.now()
        )

        assert left is not None
        assert (left.cursor, left.attempts) == (0, 0)
        assert free == {hook.id}


async def test_webhooks_are_noticed_when_they_come_change_and_go(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services, telling(services):
        await happen(services, 1)
        hook = await add_webhook(receiver.url(), services, from_seq=1)
        await until_webhook(services, hook.id, lambda one: one.cursor == 1)
        await pause_webhook(hook.id, services.store)
        witness = await add_webhook(receiver.url("/witness"), services, from_seq=1)
        await receiver.heard_all(1, "/witness")  # who told it has seen the pause as well
        await happen(services, 1)
        await receiver.heard_all(2, "/witness")
        paused = receiver.told()
        await resume_webhook(hook.id, services.store)
        await receiver.heard_all(2)
        await remove_webhook(hook.id, services.store)
        await happen(services, 1)
        await receiver.heard_all(3, "/witness")
        await until_webhook(services, witness.id, lambda one: one.cursor == 3)

        assert paused == [1]
        assert receiver.told() == [1, 2]


async def test_a_replay_tells_everything_again_from_an_event_on(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        hook = await add_webhook(receiver.url(), services)
        async with telling(services):
            await happen(services, 4)
            await until_webhook(services, hook.id, lambda one: one.cursor == 4)
            await replay_webhook(hook.id, 3, services)
            await until_webhook(services, hook.id, lambda one: one.cursor == 4)
            await receiver.heard(2)

        ids = [event["id"] for one in receiver.taken for event in one.events]
        assert receiver.told() == [1, 2, 3, 4, 3, 4]
        assert len(set(ids)) == 4  # what a receiver deduplicates by


async def test_event_that_the_log_has_not_reached_is_no_beginning(tmp_path: Path) -> None:
    """A cursor there would leave out every event up to it without a word."""

    async with receiving() as receiver, opened(tmp_path) as services:
        await happen(services, 3)
        hook = await add_webhook(receiver.url("/next"), services, from_seq=4)

        for beyond in (5, 10**30):
            with pytest.raises(ConflictError, match="ends at 3") as added:
                await add_webhook(receiver.url(), services, from_seq=beyond)
            with pytest.raises(ConflictError, match="ends at 3") as replayed:
                await replay_webhook(hook.id, beyond, services)
            assert added.value.reason == replayed.value.reason == "log-rewound"
        assert [one.id for one in await services.store.webhooks()] == [hook.id]
        await happen(services, 1)
        await deliver_once(services, Lifecycle("the test"))

        assert receiver.told("/next") == [4]


async def test_a_replay_during_a_delivery_is_not_lost(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 2)
        await deliver_once(services, Lifecycle("first"))
        await happen(services, 1)
        under_way = Settlement(
            webhook_id=hook.id, after=2, upto=3, at=services.clock.now(), result="delivered"
        )

        await replay_webhook(hook.id, 1, services)
        accepted = await services.store.settle_webhook(under_way)
        await deliver_once(services, Lifecycle("second"))

        assert not accepted
        assert receiver.told() == [1, 2, 1, 2, 3]


async def test_while_a_secret_is_replaced_both_verify_and_then_only_the_new_one(
    tmp_path: Path,
) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        before = await add_webhook(receiver.url(), services)
        after = await rotate_webhook_secret(
            before.id, timedelta(hours=1), services.store, services.clock
        )
        await happen(services, 1)
        await deliver_once(services, Lifecycle("first"))
        last = await rotate_webhook_secret(before.id, timedelta(0), services.store, services.clock)
        await happen(services, 1)
        await deliver_once(services, Lifecycle("second"))

        now = services.clock.now()
        values = [one.secrets[0].value for one in (before, after, last)]
        verified = [
            [verify(t.headers["feedmill-signature"], t.body, [v], now=now) for v in values]
            for t in receiver.taken
        ]
        assert verified == [[True, True, False], [False, False, True]]


async def test_a_test_sends_an_empty_signed_batch_and_changes_nothing(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        receiver.say("/hook", 200, 500)
        hook = await add_webhook(receiver.url(), services)
        good = await send_test_delivery(hook.id, services)
        bad = await send_test_delivery(hook.id, services)

        assert (good.result, good.status, bad.result) == ("delivered", 200, "server-error")
        assert [one.body for one in receiver.taken] == [b"[]", b"[]"]
        assert await services.store.webhook(hook.id) == hook


async def test_two_mills_on_one_store_tell_a_webhook_once(tmp_path: Path) -> None:
    async with (
        receiving() as receiver,
        opened(tmp_path, batch_events=1) as one,
        opened(tmp_path, batch_events=1) as two,
    ):
        await add_webhook(receiver.url(), one)
        async with telling(one) as first, telling(two) as second:
            first.watch.owner, second.watch.owner = "one", "two"
            for _ in range(20):
                await happen(one, 1)
            await receiver.heard_all(20)

        assert receiver.told() == list(range(1, 21))
        assert not first.deliveries or not second.deliveries


async def test_another_mill_takes_over_when_a_lease_ends(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path, lease_sec=0.5) as services:
        hook = await add_webhook(receiver.url(), services)
        now = services.clock.now()
        dead = await services.store.lease_webhooks(
            "a mill that died", now=now, until=now + timedelta(seconds=0.3)
        )
        await happen(services, 1)
        async with telling(services):
            told = await receiver.heard_all(1)

        assert dead == {hook.id}
        assert told == [1]


class _SleepyClock(SystemClock):
    """The monotonic clock goes on while the process is stopped."""

    slept_sec = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept_sec


@pytest.mark.parametrize("once", [True, False], ids=["one pass", "in the background"])
async def test_delivery_that_was_stopped_until_its_lease_was_over_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, once: bool
) -> None:
    """It was stopped after it had read its batch, and continues beside its successor."""

    clock = _SleepyClock()
    async with receiving() as receiver, opened(tmp_path, clock=clock) as services:
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 1)
        store, taken_over = services.store, asyncio.Event()
        read = store.events

        async def read_and_sleep(**named: Any) -> Any:
            found = await read(**named)
            if not clock.slept_sec:
                clock.slept_sec = services.config.webhook.lease_sec + 1
                then = clock.now() + timedelta(seconds=clock.slept_sec)
                until = then + timedelta(days=1)
                assert await store.lease_webhooks("successor", now=then, until=until)
                taken_over.set()
            return found

        monkeypatch.setattr(store, "events", read_and_sleep)
        if once:
            await deliver_once(services, Lifecycle("the slow one"))
        else:
            async with telling(services):
                await taken_over.wait()

        found = await store.webhook(hook.id)
        assert taken_over.is_set()
        assert receiver.taken == []
        assert found is not None
        assert (found.cursor, found.attempts) == (0, 0)


async def test_lease_is_renewed_while_one_pass_has_much_to_deliver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = _SleepyClock()
    async with receiving() as receiver, opened(tmp_path, clock=clock, batch_events=1) as services:
        await add_webhook(receiver.url(), services)
        await happen(services, 4)
        leased, lease = list[float](), services.store.lease_webhooks

        async def lease_and_note(*given: Any, **named: Any) -> frozenset[str]:
            leased.append(clock.monotonic())
            return await lease(*given, **named)

        def take_long(_: Delivery) -> None:
            clock.slept_sec += services.config.webhook.lease_sec * 0.4

        monkeypatch.setattr(services.store, "lease_webhooks", lease_and_note)
        await deliver_once(services, Lifecycle("the test"), listeners=(take_long,))

        assert receiver.told() == [1, 2, 3, 4]
        assert len(leased) > 3


async def test_a_store_that_is_held_by_others_is_waited_for(tmp_path: Path) -> None:
    class Held:
        """The store, busy for the first few settlements."""

        def __init__(self, store: object) -> None:
            self._store, self.refusals = store, 2

        def __getattr__(self, name: str) -> object:
            if name == "settle_webhook" and self.refusals:
                return self._refuse
            return getattr(self._store, name)

        async def _refuse(self, _: Settlement) -> bool:
            self.refusals -= 1
            message = "somebody holds the database"
            raise StoreError(message, reason="busy")

    async with receiving() as receiver, opened(tmp_path) as services:
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 1)
        troubled = services._replace(store=Held(services.store))  # type: ignore[arg-type]
        async with telling(troubled) as told:
            await until_webhook(services, hook.id, lambda one: one.cursor == 1)

        assert receiver.told() == [1, 1, 1]  # repeated, not lost
        assert any("somebody holds" in word for word in told.words)
        assert any("over" in word for word in told.words)


async def test_an_event_larger_than_a_batch_goes_by_itself(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path, batch_bytes=100) as services:
        await add_webhook(receiver.url(), services)
        await happen(services, 3)
        await deliver_once(services, Lifecycle("the test"))

        assert [len(one.events) for one in receiver.taken] == [1, 1, 1]


async def test_what_does_not_exist_cannot_be_changed_and_nonsense_is_refused(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as services:
        for act in (remove_webhook, pause_webhook, resume_webhook):
            with pytest.raises(NotFoundError):
                await act("nobody", services.store)
        with pytest.raises(NotFoundError):
            await send_test_delivery("nobody", services)
        with pytest.raises(NotFoundError):
            await replay_webhook("nobody", 1, services)
        with pytest.raises(NotFoundError):
            await add_webhook("https://hook.example/", services, feed_id="nobody")
        with pytest.raises(UsageError, match="unknown event type"):
            await add_webhook("https://hook.example/", services, types=["weather"])
        with pytest.raises(UsageError, match="numbered from 1"):
            await add_webhook("https://hook.example/", services, from_seq=0)
        hook = await add_webhook("https://hook.example/", services)
        with pytest.raises(UsageError, match="overlap"):
            await rotate_webhook_secret(hook.id, timedelta(days=-1), services.store, services.clock)
        await asyncio.gather(deliver_once(services, Lifecycle("nothing happened")))

        assert len(await services.store.webhooks()) == 1
