"""Routes /webhooks: endpoints that receive events."""
# Tested in tests/integration/interfaces/rest/

from litestar import Response, Router, delete, get, patch, post
from litestar.response import Stream

from feedmill.engine.service import webhooks
from feedmill.engine.service.queries import clamp_limit
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.parameters import Cursor, Limit, WebhookId
from feedmill.interfaces.rest.responses import ListPage, json_response, list_response, read_json
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish import shapes
from feedmill.publish.cursors import read_cursor, write_cursor
from feedmill.publish.to_shapes import new_webhook, webhook_shape


@get("/", **describe("listWebhooks", "admin", shapes.WebhookPage, lines=True))
async def list_webhooks(request: AnyRequest) -> Response[bytes] | Stream:
    """List webhooks with state and last result."""
    services = services_of(request)

    async def fetch_page(_: str | None) -> ListPage:
        found = await services.store.webhooks()
        return shapes.WebhookPage(items=tuple(webhook_shape(one) for one in found))

    return await list_response(request, fetch_page)


@post(
    "/",
    **describe(
        "addWebhook",
        "admin",
        shapes.NewWebhook,
        "bad-address",
        "invalid-body",
        "not-found",
        body=shapes.WebhookWish,
        status=201,
    ),
)
async def add_webhook(request: AnyRequest) -> Response[bytes]:
    """Add a webhook that receives events from now on; its secret is returned only once."""
    wish: shapes.WebhookWish = await read_json(request, shapes.WebhookWish)
    made = await webhooks.add_webhook(
        wish.url,
        services_of(request),
        types=wish.types,
        feed_id=wish.feed_id,
        tag=wish.tag,
        form=wish.format,
        payload=wish.payload,
        from_seq=wish.from_seq,
    )
    headers = {"Location": f"/webhooks/{made.id}", "Cache-Control": "no-store"}
    return json_response(request, new_webhook(made), status=201, headers=headers)


@get("/{webhook_id:str}", **describe("getWebhook", "admin", shapes.WebhookShape, "not-found"))
async def get_webhook(request: AnyRequest, webhook_id: WebhookId) -> Response[bytes]:
    """Get one webhook."""
    found = await webhooks.load_webhook(webhook_id, services_of(request).store)
    return json_response(request, webhook_shape(found))


@patch(
    "/{webhook_id:str}",
    **describe(
        "changeWebhook",
        "admin",
        shapes.WebhookShape,
        "not-found",
        "invalid-body",
        body=shapes.WebhookChange,
    ),
)
async def change_webhook(request: AnyRequest, webhook_id: WebhookId) -> Response[bytes]:
    """Pause or resume a webhook, or deliver again from an event on."""
    change: shapes.WebhookChange = await read_json(request, shapes.WebhookChange)
    services = services_of(request)
    if change.from_seq is not None:
        await webhooks.replay_webhook(webhook_id, change.from_seq, services.store)
    if change.paused is not None:
        act = webhooks.pause_webhook if change.paused else webhooks.resume_webhook
        await act(webhook_id, services.store)
    return json_response(
        request, webhook_shape(await webhooks.load_webhook(webhook_id, services.store))
    )


@delete("/{webhook_id:str}", **describe("removeWebhook", "admin", None, "not-found", status=204))
async def remove_webhook(request: AnyRequest, webhook_id: WebhookId) -> None:
    """Delete a webhook with its cursor and its dead letters."""
    await webhooks.remove_webhook(webhook_id, services_of(request).store)


@get(
    "/{webhook_id:str}/dead",
    **describe(
        "listDeadLetters",
        "admin",
        shapes.DeadLetterPage,
        "not-found",
        "bad-cursor",
        lines=True,
        conditional=False,
    ),
)
async def list_dead(
    request: AnyRequest, webhook_id: WebhookId, cursor: Cursor = None, limit: Limit = None
) -> Response[bytes] | Stream:
    """List dead letters: batches that failed after all attempts, oldest first."""
    services = services_of(request)
    await webhooks.load_webhook(webhook_id, services.store)

    async def fetch_page(after: str | None) -> ListPage:
        page = await services.store.dead_letters(
            webhook_id, after=read_cursor("dead", after), limit=clamp_limit(limit)
        )
        return shapes.DeadLetterPage(items=page.items, next=write_cursor("dead", page.next))

    return await list_response(request, fetch_page, cursor)


webhook_routes = Router(
    "/webhooks",
    tags=["webhooks"],
    route_handlers=[
        list_webhooks,
        add_webhook,
        get_webhook,
        change_webhook,
        remove_webhook,
        list_dead,
    ],
)
