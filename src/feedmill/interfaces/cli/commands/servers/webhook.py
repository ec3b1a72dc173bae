"""`feedmill webhook`: add, list, remove, pause, resume, replay, rotate, dead, test."""
# Tested in tests/integration/interfaces/cli/

from datetime import timedelta
from functools import partial
from typing import Any, get_args

import click

from feedmill.engine.run.services import Services
from feedmill.engine.service import webhooks as engine
from feedmill.engine.service.feed_lookup import feed_id_of
from feedmill.interfaces.cli.command import (
    Answer,
    Printer,
    answer_with,
    answer_with_secret,
    command,
    show_pages,
)
from feedmill.interfaces.cli.options import flag, list_options, option, overlap_option
from feedmill.interfaces.cli.output import shorten, show_list, style_text
from feedmill.interfaces.cli.run_command import pick_one
from feedmill.model.addresses import mask_address
from feedmill.model.page import Page
from feedmill.model.running.webhook import DeadLetter, EventPayload, Webhook
from feedmill.publish.to_json import dead_letter_wire, format_instant, webhook_wire

_THE_WEBHOOK = click.argument("webhook", metavar="WEBHOOK")


@click.group()
def webhook() -> None:
    """Send events to other programs (WEBHOOK is an id, or the start or the end of one)."""


@command("add", of=webhook)
@click.argument("url")
@option("--types TYPE,...", "Only these types of events.")
@option("--feed FEED", "Only events of this feed.")
@option("--tag TAG", "Only events of feeds with this tag.")
@flag("--cloudevents", "Send events as CloudEvents 1.0.")
@option("--payload", "full: send whole entries.", choices=get_args(EventPayload), default="compact")
@option("--from SEQ", "from_seq", "Start with this sequence number.", least=1)
async def add_webhook_command(services: Services, url: str, **chosen: Any) -> Answer:  # noqa: ANN401
    """Add a webhook that receives events from now on. Its secret is printed once.

    \b
    Examples:
      feedmill webhook add https://example.com/hook
      feedmill webhook add https://example.com/hook --tag news --cloudevents
    """
    types = [kind.strip() for kind in (chosen["types"] or "").split(",") if kind.strip()]
    added = await engine.add_webhook(
        url,
        services,
        types=types,
        feed_id=await feed_id_of(chosen["feed"], services),
        tag=chosen["tag"],
        form="cloudevents" if chosen["cloudevents"] else "plain",
        payload=chosen["payload"],
        from_seq=chosen["from_seq"],
    )
    return _with_secret(added)


@command("list", of=webhook)
@list_options()
async def list_webhooks_command(services: Services) -> Printer:
    """List webhooks with cursor, state and last result."""
    found, last_seq = await services.store.webhooks(), await services.store.last_seq()
    return partial(
        show_list,
        [{**webhook_wire(one), "behind": last_seq - one.cursor} for one in found],
        ("id", "state", "behind", "last result", "next try", "url"),
        [_row(one, last_seq) for one in found],
        empty="no webhooks yet; try: feedmill webhook add https://example.com/hook",
    )


@command("remove", of=webhook)
@_THE_WEBHOOK
async def remove_webhook_command(services: Services, webhook: str) -> Answer:
    """Delete a webhook, its cursor and its dead letters."""
    found = await _named(webhook, services)
    await engine.remove_webhook(found.id, services.store)
    return _answer("removed", found)


@command("pause", of=webhook)
@_THE_WEBHOOK
async def pause_webhook_command(services: Services, webhook: str) -> Answer:
    """Pause delivery; `resume` continues where it stopped."""
    found = await _named(webhook, services)
    return _answer("paused", await engine.pause_webhook(found.id, services.store))


@command("resume", of=webhook)
@_THE_WEBHOOK
async def resume_webhook_command(services: Services, webhook: str) -> Answer:
    """Resume a paused webhook, or retry a failing one at once."""
    found = await _named(webhook, services)
    return _answer("resumed", await engine.resume_webhook(found.id, services.store))


@command("replay", of=webhook)
@_THE_WEBHOOK
@option(
    "--from SEQ",
    "from_seq",
    "Sequence number of the first event to deliver again.",
    least=1,
    required=True,
)
async def replay_webhook_command(services: Services, webhook: str, from_seq: int) -> Answer:
    """Deliver again, starting with an event."""
    found = await _named(webhook, services)
    changed = await engine.replay_webhook(found.id, from_seq, services)
    return _answer(f"replaying from {from_seq}:", changed)


@command("rotate", of=webhook)
@_THE_WEBHOOK
@overlap_option("How long deliveries are also signed with the old secret.")
async def rotate_webhook_secret_command(
    services: Services, webhook: str, overlap: timedelta
) -> Answer:
    """Replace the signing secret and print the new one, once."""
    found = await _named(webhook, services)
    return _with_secret(
        await engine.rotate_webhook_secret(found.id, overlap, services.store, services.clock)
    )


@command("dead", of=webhook)
@_THE_WEBHOOK
@flag("--resend", "Send them again, oldest first.")
@list_options(100)
def list_dead_letters_command(webhook: str, *, resend: bool) -> None:
    """List dead letters, or send them again. They are batches that failed after all attempts."""
    if resend:
        answer_with(lambda services: _resend(webhook, services))
        return

    async def find(services: Services, after: str | None, limit: int) -> Page[DeadLetter]:
        found = await _named(webhook, services)
        return await services.store.dead_letters(found.id, after=after, limit=limit)

    head = ("id", "died", "events", "attempts", "reason")
    show_pages(find, head, _dead, item=dead_letter_wire, empty="no dead letters")


@command("test", of=webhook)
@_THE_WEBHOOK
async def test_webhook_command(services: Services, webhook: str) -> Answer:
    """Send an empty, signed batch now. It prints the response; the cursor does not move."""
    found = await _named(webhook, services)
    delivery = await engine.send_test_delivery(found.id, services)
    good = delivery.result == "delivered"
    status = "" if delivery.status is None else f" ({delivery.status})"
    words = shorten(f"{delivery.host}{status} {delivery.detail}", 200)
    result = style_text(delivery.result, fg="green" if good else "red")
    return Answer(delivery, f"{result} {words}", status=0 if good else 1)


async def _resend(name: str, services: Services) -> Answer:
    resent = await engine.resend_dead_letters((await _named(name, services)).id, services)
    why = f" ({resent.reason})" if resent.reason else ""
    words = f"{resent.sent} sent, {resent.left} left{why}"
    return Answer(resent, words, status=1 if resent.left else 0)


def _answer(word: str, found: Webhook) -> Answer:
    return Answer(
        webhook_wire(found), f"{word} {found.id}  {shorten(mask_address(found.url), 200)}"
    )


def _with_secret(found: Webhook) -> Answer:
    words = f"webhook {found.id}  {shorten(mask_address(found.url), 200)}\nthe secret for verifying deliveries is shown only once:"
    return answer_with_secret(webhook_wire(found), words, found.secrets[0].value)


async def _named(name: str, services: Services) -> Webhook:
    """The webhook with this id, or with this start or end of an id."""
    known = await services.store.webhooks()
    return pick_one(known, name, "webhook", "`feedmill webhook list` lists them")


def _row(one: Webhook, last_seq: int) -> tuple[str, ...]:
    state = one.state if one.paused_reason is None else f"{one.state} ({one.paused_reason})"
    return (
        one.id,
        state,
        str(last_seq - one.cursor),
        one.last_result or "never",
        format_instant(one.next_attempt_at) or "",
        mask_address(one.url),
    )


def _dead(letter: DeadLetter) -> tuple[str, ...]:
    numbers = f"{letter.events[0].seq}-{letter.events[-1].seq} ({len(letter.events)})"
    died_at = format_instant(letter.died_at) or ""
    return (letter.id, died_at, numbers, str(letter.attempts), letter.reason)
