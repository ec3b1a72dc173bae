"""The console's own style sheet and script, with a validator."""
# Tested in tests/integration/interfaces/console/

from hashlib import sha256
from importlib.resources import files
from typing import Final

from litestar import Response, get

from feedmill.errors import NotFoundError
from feedmill.interfaces.server_state import AnyRequest

_TYPES: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_FILES: Final = {
    name: (files("feedmill.interfaces.console") / "static" / name).read_bytes() for name in _TYPES
}


@get("/console/static/{name:str}")
async def static_file(request: AnyRequest) -> Response[bytes]:
    """One file; no token required."""
    name = str(request.path_params["name"])
    body = _FILES.get(name)
    if body is None:
        message = f"there is no file {name[:100]!r}"
        raise NotFoundError(message)
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers, media_type=_TYPES[name])
    return Response(body, headers=headers, media_type=_TYPES[name])
