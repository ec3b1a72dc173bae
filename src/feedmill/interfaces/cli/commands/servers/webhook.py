"""`feedmill webhook`: add, list, remove, pause, resume, replay, rotate, dead, test."""
# Tested in tests/integration/interfaces/cli/

import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, get_args

import click

from feedmill.engine.ports.events import WebhookStore
from feedmill.engine.run.services import Services
from feedmill.engine.service import webhooks as engine
from feedmill.engine.service.feed_lookup import feed_id_of
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.lists import show_pages
from feedmill.interfaces.cli.options import json_option, list_options, overlap_option
from feedmill.interfaces.cli.output import shorten, show_json, show_list, show_result, style_text
from feedmill.interfaces.cli.run_command import pick_one, with_services
from feedmill.model.page import Page
from feedmill.model.running.webhook import DeadLetter, Delivery, EventPayload, Webhook
from feedmill.publish.to_json import dead_letter_wire, format_instant, webhook_wire

_THE_WEBHOOK = click.argument("webhook", metavar="WEBHOOK")


@click.group()
def webhook() -> None:
    """Send events to other programs (WEBHOOK is an id, or the start or the end of one)."""


@webhook.command("add")
@click.argument("url")
@click.option("--types", metavar="TYPE,...", help="Only these types of events.")
@click.option("--feed", metavar="FEED", help="Only events of this feed.")
@click.option("--tag", metavar="TAG", help="Only events of feeds with this tag.")
@click.option("--cloudevents", is_flag=True, help="Send events as CloudEvents 1.0.")
@click.option(
    "--payload",
    type=click.Choice(get_args(EventPayload)),
    default="compact",
    show_default=True,
    help="full: send whole entries.",
)
@click.option(
    "--from",
    "from_seq",
    type=click.IntRange(min=1),
    metavar="SEQ",
    help="Start with this sequence number.",
)
@json_option
def add_webhook_command(url: str, **chosen: Any) -> None:  # noqa: ANN401
    """Add a webhook that receives events from now on. Its secret is printed once.

    \b
    Examples:
      feedmill webhook add https://example.com/hook
      feedmill webhook add https://example.com/hook --tag news --cloudevents
    """
    types = [kind.strip() for kind in (chosen["types"] or "").split(",") if kind.strip()]

    async def action(services: Services) -> Webhook:
        return await engine.add_webhook(
            url,
            services,
            types=types,
            feed_id=await feed_id_of(chosen["feed"], services),
            tag=chosen["tag"],
            form="cloudevents" if chosen["cloudevents"] else "plain",
            payload=chosen["payload"],
            from_seq=chosen["from_seq"],
        )

    _show_secret(with_services(action))


@webhook.command("list")
@list_options()
def list_webhooks_command() -> None:
    """List webhooks with cursor, state and last result."""

    async def action(services: Services) -> tuple[tuple[Webhook, ...], int]:
        return await services.store.webhooks(), await services.store.last_seq()

    found, last_seq = with_services(action)
    show_list(
        [{**webhook_wire(one), "behind": last_seq - one.cursor} for one in found],
        ("id", "state", "behind", "last result", "next try", "url"),
        [_row(one, last_seq) for one in found],
        empty="no webhooks yet; try: feedmill webhook add https://example.com/hook",
    )


@webhook.command("remove")
@_THE_WEBHOOK
@json_option
def remove_webhook_command(webhook: str) -> None:
    """Delete a webhook, its cursor and its dead letters."""

    async def action(services: Services) -> Webhook:
        found = await _named(webhook, services)
        await engine.remove_webhook(found.id, services.store)
        return found

    _show("removed", with_services(action))


@webhook.command("pause")
@_THE_WEBHOOK
@json_option
def pause_webhook_command(webhook: str) -> None:
    """Pause delivery; `resume` continues where it stopped."""
    _change(webhook, "paused", engine.pause_webhook)


@webhook.command("resume")
@_THE_WEBHOOK
@json_option
def resume_webhook_command(webhook: str) -> None:
    """Resume a paused webhook, or retry a failing one at once."""
    _change(webhook, "resumed", engine.resume_webhook)


@webhook.command("replay")
@_THE_WEBHOOK
@click.option(
    "--from",
    "from_seq",
    type=click.IntRange(min=1),
    required=True,
    metavar="SEQ",
    help="Sequence number of the first event to deliver again.",
)
@json_option
def replay_webhook_command(webhook: str, from_seq: int) -> None:
    """Deliver again, starting with an event."""

    async def again(webhook_id: str, store: WebhookStore) -> Webhook:
        return await engine.replay_webhook(webhook_id, from_seq, store)

    _change(webhook, f"replaying from {from_seq}:", again)


@webhook.command("rotate")
@_THE_WEBHOOK
@overlap_option("How long deliveries are also signed with the old secret.")
@json_option
def rotate_webhook_secret_command(webhook: str, overlap: timedelta) -> None:
    """Replace the signing secret and print the new one, once."""

    async def action(services: Services) -> Webhook:
        found = await _named(webhook, services)
        return await engine.rotate_webhook_secret(found.id, overlap, services.store, services.clock)

    _show_secret(with_services(action))


@webhook.command("dead")
@_THE_WEBHOOK
@click.option("--resend", is_flag=True, help="Send them again, oldest first.")
@list_options(100)
def list_dead_letters_command(webhook: str, *, resend: bool) -> None:
    """List dead letters, or send them again. They are batches that failed after all attempts."""
    if resend:
        _resend(webhook)
        return

    async def find(services: Services, after: str | None, limit: int) -> Page[DeadLetter]:
        found = await _named(webhook, services)
        return await services.store.dead_letters(found.id, after=after, limit=limit)

    head = ("id", "died", "events", "attempts", "reason")
    show_pages(find, head, _dead, item=dead_letter_wire, empty="no dead letters")


@webhook.command("test")
@_THE_WEBHOOK
@json_option
def test_webhook_command(webhook: str) -> None:
    """Send an empty, signed batch now. It prints the response; the cursor does not move."""

    async def action(services: Services) -> Delivery:
        return await engine.send_test_delivery((await _named(webhook, services)).id, services)

    delivery = with_services(action)
    good = delivery.result == "delivered"
    status = "" if delivery.status is None else f" ({delivery.status})"
    words = shorten(f"{delivery.host}{status} {delivery.detail}", 200)
    result = style_text(delivery.result, fg="green" if good else "red")
    show_result(delivery, f"{result} {words}")
    sys.exit(0 if good else 1)


def _resend(name: str) -> None:
    async def action(services: Services) -> engine.Resent:
        return await engine.resend_dead_letters((await _named(name, services)).id, services)

    resent = with_services(action)
    why = f" ({resent.reason})" if resent.reason else ""
    show_result(resent, f"{resent.sent} sent, {resent.left} left{why}")
    sys.exit(1 if resent.left else 0)


def _change(name: str, word: str, act: Callable[[str, WebhookStore], Awaitable[Webhook]]) -> None:
    async def action(services: Services) -> Webhook:
        return await act((await _named(name, services)).id, services.store)

    _show(word, with_services(action))


def _show(word: str, found: Webhook) -> None:
    show_result(webhook_wire(found), f"{word} {found.id}  {shorten(found.url, 200)}")


def _show_secret(found: Webhook) -> None:
    secret = found.secrets[0].value
    if is_json():
        show_json({**webhook_wire(found), "secret": secret})
        return
    click.echo(f"webhook {found.id}  {shorten(found.url, 200)}", err=True)
    click.echo("the secret for verifying deliveries is shown only once:", err=True)
    click.echo(secret)


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
        one.url,
    )


def _dead(letter: DeadLetter) -> tuple[str, ...]:
    numbers = f"{letter.events[0].seq}-{letter.events[-1].seq} ({len(letter.events)})"
    died_at = format_instant(letter.died_at) or ""
    return (letter.id, died_at, numbers, str(letter.attempts), letter.reason)
