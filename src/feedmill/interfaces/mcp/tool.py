"""The decorator of MCP tools: scope check, annotations and errors.

A tool is a plain function that takes a call and arguments. An error of feedmill reaches the agent as
`reason: message (hint)` with the stable reason in front; an unexpected exception goes to the log.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations

from feedmill.engine.service.auth import require_scope
from feedmill.errors import FeedmillError
from feedmill.interfaces.mcp.state import Call, caller_of
from feedmill.model.token import Scope
from feedmill.observe.log import logger

P = ParamSpec("P")
T = TypeVar("T")
Tool = Callable[Concatenate[Call, P], Awaitable[T]]

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
    "missing-extra": f"{_OTHERWISE} pip install 'feedmill[semantic]'",
}


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
    open_world: bool = False,
) -> Callable[[Tool[P, T]], ListedTool]:
    """Make a function a tool: `reads` means read-only, `repeats` means idempotent."""
    hints = ToolAnnotations(
        title=title,
        read_only_hint=reads,
        destructive_hint=False,
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
        logger("mcp").error("surprised", op=name, exc_info=problem)
        message = "surprise: internal error; see the log of feedmill"
        raise ToolError(message) from problem
