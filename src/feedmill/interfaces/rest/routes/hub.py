"""Route /hub: WebSub subscriptions to the metafeeds of this server."""
# Tested in tests/integration/engine/push/test_websub_hub.py

from litestar import Response

from feedmill.engine.service.metafeeds import request_subscription
from feedmill.interfaces.rest.problems import RequestError
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.metafeeds.items import public_http_url
from feedmill.push.messages import FORM, decode_form

_MOST_BYTES = 16_384
routes = Routes("/", "feeds for readers")


@routes.post(
    "/hub",
    "read",
    "conflict invalid-body not-found bad-address",
    gives=str,
    basic=True,
    body=str,
    takes=(FORM,),
    media_type="text/plain",
    status=202,
)
async def subscribe_to_meta_feed(request: AnyRequest) -> Response[bytes]:
    """Subscribe to a meta-feed of this server by WebSub, or end a subscription."""
    if not request.headers.get("content-type", "").lower().startswith(FORM):
        raise RequestError(code="unsupported-media-type", detail=f"send {FORM}")
    body = await request.body()
    if len(body) > _MOST_BYTES:
        raise RequestError(code="too-large", detail=f"at most {_MOST_BYTES} bytes")
    services = services_of(request)
    base = public_http_url(services.config.metafeed.base_url or str(request.base_url))
    if base is None:
        raise RequestError(code="bad-host")
    form = decode_form(body.decode("utf-8", "replace"))
    await request_subscription(form, base.rstrip("/"), services)
    return Response(b"the subscriber will be asked\n", status_code=202, media_type="text/plain")
