"""Webhooks: endpoints, deliveries, dead letters and replay."""
# Tested in tests/integration/interfaces/console/test_webhooks.py

from datetime import timedelta
from typing import Any, Final, get_args

from litestar import Response, post

from feedmill.engine.service import webhooks
from feedmill.errors import UsageError
from feedmill.interfaces.console.render import confirm_page, go_to, secret_page, view
from feedmill.interfaces.console.session import SCOPE, read_form, text_field, unknown_action
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.addresses import mask_address
from feedmill.model.event import EventType
from feedmill.publish.to_json import read_cursor, write_cursor

HERE: Final = "/console/webhooks"
_PER_PAGE: Final = 20
_OVERLAP: Final = timedelta(days=1)


@view("/console/webhooks", "webhooks.html", "Webhooks", scope="admin")
async def list_webhooks(request: AnyRequest) -> dict[str, Any]:
    """Every endpoint with its state."""
    store = services_of(request).store
    return {
        "webhooks": await store.webhooks(),
        "last_seq": await store.last_seq(),
        "types": get_args(EventType),
    }


@post("/console/webhooks", status_code=200, opt={SCOPE: "admin"})
async def add(request: AnyRequest) -> Response[bytes]:
    """Add an endpoint; its secret is shown now and never again."""
    form = await read_form(request)
    made = await webhooks.add_webhook(
        text_field(form, "url", 4_096),
        services_of(request),
        types=[str(one) for one in form.getall("types", []) if one],
        tag=text_field(form, "tag") or None,
        form="cloudevents" if form.get("format") == "cloudevents" else "plain",
        payload="full" if form.get("payload") == "full" else "compact",
    )
    return secret_page(
        request,
        title="Webhook added",
        here=HERE,
        words=f"Events are delivered to {mask_address(made.url)} from now on. Each delivery is signed with this secret.",
        secret=made.secrets[0].value,
        back=f"{HERE}/{made.id}",
    )


@view("/console/webhooks/{webhook_id:str}", "webhook.html", "Webhook", here=HERE, scope="admin")
async def show(request: AnyRequest) -> dict[str, Any]:
    """One endpoint with its dead letters."""
    store = services_of(request).store
    webhook = await webhooks.load_webhook(_id(request), store)
    cursor = read_cursor("console-dead", request.query_params.get("cursor"))
    dead = await store.dead_letters(webhook.id, after=cursor, limit=_PER_PAGE)
    return {
        "webhook": webhook,
        "behind": await store.last_seq() - webhook.cursor,
        "dead": dead.items,
        "next": write_cursor("console-dead", dead.next),
    }


@post("/console/webhooks/{webhook_id:str}/change", status_code=200, opt={SCOPE: "admin"})
async def change(request: AnyRequest) -> Response[bytes]:
    """Do one of the actions of an endpoint's page."""
    form, services = await read_form(request), services_of(request)
    webhook_id, store = _id(request), services.store
    match text_field(form, "action"):
        case "pause":
            await webhooks.pause_webhook(webhook_id, store)
            words = "Paused."
        case "resume":
            await webhooks.resume_webhook(webhook_id, store)
            words = "Resumed: deliveries go on at once."
        case "test":
            sent = await webhooks.send_test_delivery(webhook_id, services)
            words = f"Test delivery: {sent.result}" + (
                f", HTTP {sent.status}." if sent.status else "."
            )
        case "replay":
            number = text_field(form, "from_seq")
            if not number.isdecimal():
                message = "give the number of the first event to deliver again"
                raise UsageError(message)
            await webhooks.replay_webhook(webhook_id, int(number), services)
            words = f"Delivered again from event {int(number):,} on."
        case "resend":
            words = _resent(await webhooks.resend_dead_letters(webhook_id, services))
        case "rotate":
            made = await webhooks.rotate_webhook_secret(webhook_id, _OVERLAP, store, services.clock)
            return secret_page(
                request,
                title="Secret rotated",
                here=HERE,
                words="Deliveries are signed with this secret, and for one more day also with the one before.",
                secret=made.secrets[0].value,
                back=f"{HERE}/{webhook_id}",
            )
        case "remove" if form.get("confirmed") == "1":
            await webhooks.remove_webhook(webhook_id, store)
            return go_to(request, HERE, "Webhook removed.")
        case "remove":
            return confirm_page(
                request,
                title="Remove the webhook?",
                words="Its cursor and its dead letters are deleted with it.",
                path=f"{HERE}/{webhook_id}/change",
                action="remove",
                here=HERE,
                back=f"{HERE}/{webhook_id}",
            )
        case other:
            raise unknown_action(other)
    return go_to(request, f"{HERE}/{webhook_id}", words)


def _resent(done: Any) -> str:  # noqa: ANN401  # webhooks.Resent
    words = f"{done.sent} dead {'letter' if done.sent == 1 else 'letters'} delivered"
    return f"{words}; {done.left} left: {done.reason}." if done.reason else f"{words}."


def _id(request: AnyRequest) -> str:
    return str(request.path_params["webhook_id"])
