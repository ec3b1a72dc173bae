"""/webhooks: the endpoints that are told of every event."""

from litestar import Response, Router, delete, get, patch, post
from litestar.response import Stream

from feedmill.engine.service import webhooks
from feedmill.engine.service.queries import clamped
from feedmill.interfaces.rest.described import Cursor, Described, Limit, WebhookId, route
from feedmill.interfaces.rest.responses import AnyRequest, Listed, answer, answer_list, read_json
from feedmill.interfaces.rest.state import world_of
from feedmill.publish.cursors import read_cursor, write_cursor
from feedmill.publish.shapes import (
    DeadLetterPage,
    NewWebhook,
    WebhookChange,
    WebhookPage,
    WebhookShape,
    WebhookWish,
)
from feedmill.publish.to_shapes import new_webhook, webhook_shape

_ONE = ("not-found",)


@get(
    "/",
    operation_id="listWebhooks",
    summary="All webhooks and how they fare.",
    opt=route("admin", Described(gives=WebhookPage, lines=True, conditional=True)),
)
async def list_webhooks(request: AnyRequest) -> Response[bytes] | Stream:
    world = world_of(request)

    async def turn(_: str | None) -> Listed:
        found = await world.store.webhooks()
        return WebhookPage(items=tuple(webhook_shape(one) for one in found))

    return await answer_list(request, turn, None)


@post(
    "/",
    operation_id="addWebhook",
    summary="Tell an endpoint from now on; its secret is in this answer and in no other.",
    opt=route(
        "admin",
        Described(
            gives=NewWebhook,
            body=WebhookWish,
            status=201,
            problems=("bad-address", "invalid-body", "not-found"),
        ),
    ),
)
async def add_webhook(request: AnyRequest) -> Response[bytes]:
    wish: WebhookWish = await read_json(request, WebhookWish)
    made = await webhooks.add_webhook(
        wish.url,
        world_of(request),
        types=wish.types,
        feed_id=wish.feed_id,
        tag=wish.tag,
        form=wish.format,
        from_seq=wish.from_seq,
    )
    headers = {"Location": f"/webhooks/{made.id}", "Cache-Control": "no-store"}
    return answer(request, new_webhook(made), status=201, headers=headers)


@get(
    "/{webhook_id:str}",
    operation_id="getWebhook",
    summary="One webhook.",
    opt=route("admin", Described(gives=WebhookShape, conditional=True, problems=_ONE)),
)
async def get_webhook(request: AnyRequest, webhook_id: WebhookId) -> Response[bytes]:
    found = await webhooks.webhook_named(webhook_id, world_of(request))
    return answer(request, webhook_shape(found))


@patch(
    "/{webhook_id:str}",
    operation_id="changeWebhook",
    summary="Pause or resume a webhook, or tell it again from an event on.",
    opt=route(
        "admin",
        Described(gives=WebhookShape, body=WebhookChange, problems=("not-found", "invalid-body")),
    ),
)
async def change_webhook(request: AnyRequest, webhook_id: WebhookId) -> Response[bytes]:
    change: WebhookChange = await read_json(request, WebhookChange)
    world = world_of(request)
    if change.from_seq is not None:
        await webhooks.replay_webhook(webhook_id, change.from_seq, world)
    if change.paused is not None:
        act = webhooks.pause_webhook if change.paused else webhooks.resume_webhook
        await act(webhook_id, world)
    return answer(request, webhook_shape(await webhooks.webhook_named(webhook_id, world)))


@delete(
    "/{webhook_id:str}",
    operation_id="removeWebhook",
    summary="Forget an endpoint with its cursor and its dead letters.",
    opt=route("admin", Described(status=204, problems=_ONE)),
)
async def remove_webhook(request: AnyRequest, webhook_id: WebhookId) -> None:
    await webhooks.remove_webhook(webhook_id, world_of(request))


@get(
    "/{webhook_id:str}/dead",
    operation_id="listDeadLetters",
    summary="Batches that were given up, the oldest first.",
    opt=route(
        "admin",
        Described(gives=DeadLetterPage, lines=True, problems=("not-found", "bad-cursor")),
    ),
)
async def list_dead(
    request: AnyRequest, webhook_id: WebhookId, cursor: Cursor = None, limit: Limit = None
) -> Response[bytes] | Stream:
    world = world_of(request)
    await webhooks.webhook_named(webhook_id, world)

    async def turn(after: str | None) -> Listed:
        page = await world.store.dead_letters(
            webhook_id, after=read_cursor("dead", after), limit=clamped(limit)
        )
        return DeadLetterPage(items=page.items, next=write_cursor("dead", page.next))

    return await answer_list(request, turn, cursor)


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
