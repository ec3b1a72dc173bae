"""The decorator of MCP tools, the state of a call and the argument types that tools share.

A tool is a plain function that takes a call and arguments. An error of feedmill reaches the agent as
`reason: message (hint)` with the stable reason in front; an unexpected exception goes to the log.
"""
# Tested in tests/integration/interfaces/mcp/

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations
from pydantic import Field

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import require_scope
from feedmill.engine.two_phase.sidecar_files import WindowLibrary
from feedmill.errors import CursorError, FeedmillError, extra_hint
from feedmill.model.running.webhook import Caller, Scope
from feedmill.observe.log import logger
from feedmill.publish.to_json import read_cursor

CALLER: Final = "feedmill.caller"  # in the scope of an HTTP request, put there by the guard
WindowId = Annotated[str, Field(min_length=1, max_length=64, description="From collect_window.")]
CandidateIds = Annotated[
    list[int],
    Field(min_length=1, max_length=5_000, description="Ids of candidates of this window."),
]
ItemId = Annotated[str, Field(min_length=1, max_length=200)]
ToolCursor = Annotated[
    str | None, Field(max_length=1_000, description="`next_cursor` of the previous page.")
]
ToolLimit = Annotated[int | None, Field(ge=1, le=200, description="Items per page.")]
_OWNER: Final = Caller(
    token_id="stdio",  # noqa: S106  # a name, no secret
    name="stdio",
    scopes=("admin",),
)
_MAX_NAME_CHARS: Final = 60
_MAX_MESSAGE_CHARS: Final = 1_000
_COLLECT: Final = "call collect_window again"
_OTHERWISE: Final = "use hybrid or lexical, and tell the person:"
# The engine's own hints name commands, which are for people; an agent has tools.
_HINTS: Final = {
    "unknown-id": "list_candidates shows the ids there are",
    "changed": _COLLECT,
    "truncated": _COLLECT,
    "malformed": _COLLECT,
    "other-schema": _COLLECT,
    "other-file": "call screen again",
    "config": "use hybrid or lexical, and tell the person",
    "model-missing": f"{_OTHERWISE} `feedmill models install` installs the model",
    "model-damaged": f"{_OTHERWISE} `feedmill models remove`, then `feedmill models install`",
    "missing-extra": f"{_OTHERWISE} {extra_hint('semantic')}",
}


class McpState(NamedTuple):
    """The state of one server, from its start to its end."""

    services: Services
    window_library: WindowLibrary


Call = Context[McpState, Any]
P = ParamSpec("P")
T = TypeVar("T")
Tool = Callable[Concatenate[Call, P], Awaitable[T]]


class ListedTool(NamedTuple):
    """A tool as the server lists it."""

    run: Callable[..., Awaitable[Any]]
    annotations: ToolAnnotations


def tool(
    title: str,
    scope: Scope,
    *,
    reads: bool = False,
    repeats: bool = False,
    replaces: bool = False,
    open_world: bool = False,
) -> Callable[[Tool[P, T]], ListedTool]:
    """Make a function a tool: `reads` means read-only, `repeats` idempotent, `replaces` destructive.

    Suggestions and judgements replace earlier ones, and a new window may push the oldest out.
    """
    hints = ToolAnnotations(
        title=title,
        read_only_hint=reads,
        destructive_hint=replaces,
        idempotent_hint=reads or repeats,
        open_world_hint=open_world,
    )

    def listed(function: Tool[P, T]) -> ListedTool:
        @wraps(function)
        async def run(call: Call, *args: P.args, **kwargs: P.kwargs) -> T:
            with translate_errors(function.__name__):
                require_scope(caller_of(call), scope)
                return await function(call, *args, **kwargs)

        return ListedTool(run, hints)

    return listed


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn errors into ToolErrors with their reason; unexpected ones are logged."""
    try:
        yield
    except (ToolError, MCPError):
        raise
    except FeedmillError as problem:
        hint = _HINTS.get(problem.reason, problem.hint)
        words = f"{problem.reason}: {problem} ({hint})" if hint else f"{problem.reason}: {problem}"
        raise ToolError(words[:_MAX_MESSAGE_CHARS]) from None
    except Exception as problem:
        logger("mcp").error("unexpected error", op=name, exc_info=problem)
        message = "surprise: internal error; see the log of feedmill"
        raise ToolError(message) from problem


def mcp_state_of(call: Call) -> McpState:
    """The server state of a call."""
    return call.request_context.lifespan_context


def caller_of(call: Call) -> Caller | None:
    """The caller: the token's owner over HTTP; over stdio an administrator."""
    request = call.request_context.request
    if request is None:
        return _OWNER
    caller: Caller | None = request.scope.get(CALLER)
    return caller


def is_stdio(caller: Caller) -> bool:
    """True for the program that started this server, which has no token."""
    return caller is _OWNER


def program_of(call: Call) -> str:
    """The name the client gives itself, for the record only."""
    params = call.session.client_params
    said = params.client_info.name if params is not None else "a program"
    visible = "".join(char if char.isprintable() else " " for char in said[:_MAX_NAME_CHARS])
    caller = caller_of(call)
    token = "" if caller is None or caller is _OWNER else f" ({caller.name})"
    return f"{' '.join(visible.split()) or 'a program'}{token}"


def page_size(limit: int | None, services: Services) -> int:
    """The number of items of a page: as asked for, at most what the settings allow."""
    most = services.config.mcp.page_items
    return most if limit is None else min(limit, most)


def position_of(kind: str, cursor: str | None) -> int:
    """Where a list goes on that is counted through."""
    found = read_cursor(kind, cursor) or "0"
    if not found.isdecimal():
        raise CursorError(cursor or "")
    return int(found)
