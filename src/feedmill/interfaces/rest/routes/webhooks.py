"""Routes /webhooks: endpoints that receive events."""
# Tested in tests/integration/interfaces/rest/

from litestar import Response

from feedmill.engine.service import webhooks
from feedmill.engine.service.queries import clamp_limit
from feedmill.interfaces.rest.parameters import Cursor, Limit, WebhookId
from feedmill.interfaces.rest.responses import (
    ListAnswer,
    json_response,
    list_answer,
    list_response,
    read_json,
)
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish import shapes
from feedmill.publish.to_json import read_cursor, write_cursor
from feedmill.publish.to_shapes import new_webhook, webhook_shape

routes = Routes("/webhooks", "webhooks")


@routes.get("/", "admin", gives=shapes.WebhookPage, lines=True)
async def list_webhooks(request: AnyRequest) -> ListAnswer:
    """List webhooks with state and last result."""
    found = await services_of(request).store.webhooks()
    return list_answer(request, shapes.WebhookPage(items=tuple(map(webhook_shape, found))))


@routes.post(
    "/",
    "admin",
    "bad-address invalid-body log-rewound not-found",
    gives=shapes.NewWebhook,
    body=shapes.WebhookWish,
    status=201,
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


@routes.get("/{webhook_id:str}", "admin", "not-found")
async def get_webhook(request: AnyRequest, webhook_id: WebhookId) -> shapes.WebhookShape:
    """Get one webhook."""
    found = await webhooks.load_webhook(webhook_id, services_of(request).store)
    return webhook_shape(found)


@routes.patch(
    "/{webhook_id:str}",
    "admin",
    "invalid-body log-rewound not-found",
    body=shapes.WebhookChange,
)
async def change_webhook(request: AnyRequest, webhook_id: WebhookId) -> shapes.WebhookShape:
    """Pause or resume a webhook, or deliver again from an event on."""
    change: shapes.WebhookChange = await read_json(request, shapes.WebhookChange)
    services = services_of(request)
    if change.from_seq is not None:
        await webhooks.replay_webhook(webhook_id, change.from_seq, services)
    if change.paused is not None:
        act = webhooks.pause_webhook if change.paused else webhooks.resume_webhook
        await act(webhook_id, services.store)
    return webhook_shape(await webhooks.load_webhook(webhook_id, services.store))


@routes.delete("/{webhook_id:str}", "admin", "not-found", status=204)
async def remove_webhook(request: AnyRequest, webhook_id: WebhookId) -> None:
    """Delete a webhook with its cursor and its dead letters."""
    await webhooks.remove_webhook(webhook_id, services_of(request).store)


@routes.get(
    "/{webhook_id:str}/dead",
    "admin",
    "not-found bad-cursor",
    gives=shapes.DeadLetterPage,
    lines=True,
    conditional=False,
)
async def list_dead_letters(
    request: AnyRequest, webhook_id: WebhookId, cursor: Cursor = None, limit: Limit = None
) -> ListAnswer:
    """List dead letters: batches that failed after all attempts, oldest first."""
    services = services_of(request)
    await webhooks.load_webhook(webhook_id, services.store)

    async def fetch_page(*, cursor: str | None) -> shapes.DeadLetterPage:
        page = await services.store.dead_letters(
            webhook_id, after=read_cursor("dead", cursor), limit=clamp_limit(limit)
        )
        return shapes.DeadLetterPage(items=page.items, next=write_cursor("dead", page.next))

    return await list_response(request, fetch_page, cursor)
