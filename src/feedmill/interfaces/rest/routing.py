"""Groups of routes: a decorator says path, scope and problems; the function's name and value say the rest.

routes = Routes("/hosts", "hosts")

@routes.get("/{host:str}", "read", "not-found")
async def get_host(request: AnyRequest, host: HostName) -> HostShape:
    ...

is the operation `getHost`, which answers a HostShape.
"""
# Tested in tests/integration/interfaces/rest/

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any

import msgspec
from litestar import HttpMethod, Response, Router
from litestar.handlers import HTTPRouteHandler

from feedmill.interfaces.rest.auth import BASIC, SCOPE
from feedmill.interfaces.rest.openapi import DESCRIPTION, RouteDescription
from feedmill.interfaces.rest.responses import json_response
from feedmill.model.running.webhook import Scope

Handler = Callable[..., Awaitable[Any]]
_DESCRIBED = frozenset(RouteDescription._fields)


class Routes:
    """The routes below a path, with the tag under which the document lists them."""

    def __init__(self, path: str, tag: str, **more: Any) -> None:  # noqa: ANN401  # of Litestar
        self._path, self._tag, self._more = path, tag, more
        self._handlers: list[HTTPRouteHandler] = []
        self.get, self.post = (
            partial(self._add, HttpMethod.GET),
            partial(self._add, HttpMethod.POST),
        )
        self.patch = partial(self._add, HttpMethod.PATCH)
        self.delete = partial(self._add, HttpMethod.DELETE)

    def _add(
        self,
        method: HttpMethod,
        path: str,
        scope: Scope | None,
        problems: str = "",
        *,
        basic: bool = False,
        **more: Any,  # noqa: ANN401  # fields of RouteDescription, and what Litestar takes
    ) -> Callable[[Handler], Handler]:
        """Add a route to the group; its docstring is the summary.

        `problems` are separated by spaces. With `basic` the token may also come as a password. What only
        reads a value supports conditional requests, unless `conditional` says otherwise.
        """
        told = {name: more.pop(name) for name in _DESCRIBED & more.keys()}

        def add(function: Handler) -> Handler:
            returned = function.__annotations__["return"]
            if isinstance(returned, type) and issubclass(returned, msgspec.Struct):
                told.setdefault("gives", returned)
            told.setdefault("conditional", "gives" in told and not {"body", "status"} & told.keys())
            described = RouteDescription(problems=tuple(problems.split()), **told)
            handler = HTTPRouteHandler(
                path,
                http_method=method,
                status_code=described.status,
                opt={SCOPE: scope, BASIC: basic, DESCRIPTION: described},
                **{"operation_id": _camel_case(function.__name__)} | more,
            )
            self._handlers.append(handler(_answering(function, described.status)))
            return function

        return add

    def router(self) -> Router:
        """The group as Litestar takes it."""
        return Router(self._path, tags=[self._tag], route_handlers=self._handlers, **self._more)


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _answering(function: Handler, status: int) -> Handler:
    """The function with its value as JSON; what is a response already, or nothing, stays as it is."""

    @wraps(function)
    async def answer(**given: Any) -> Any:  # noqa: ANN401  # as Litestar parsed them
        value = await function(**given)
        if value is None or isinstance(value, Response):
            return value
        return json_response(given["request"], value, status=status)

    returned = None if function.__annotations__["return"] is None else Response[bytes]
    answer.__annotations__ = function.__annotations__ | {"return": returned}
    return answer
