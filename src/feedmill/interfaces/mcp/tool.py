"""The decorator of MCP tools, the state of a call, the argument types that tools share, and what agents see of all that.

A tool is a plain function that takes a call and arguments. An error of feedmill reaches the agent as
`reason: message (hint)` with the stable reason in front; an unexpected exception goes to the log.

The SDK describes every argument twice, ignores what a tool does not know and answers a wrong argument in its
library's words. The middleware of the server passes lists and answers through here: compact schemas, unknown
arguments refused, errors with a reason first.
"""
# Tested in tests/integration/interfaces/mcp/

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import pairwise
from typing import Annotated, Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from mcp.server.context import HandlerResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
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
_PREFIX: Final = re.compile(r"^Error executing tool \w+: ")
_INVALID: Final = re.compile(r"^\d+ validation errors? for ")
_UNKNOWN_TOOL: Final = re.compile(r"^Unknown tool: (.{0,60})")
_LIBRARY_WORDS: Final = re.compile(
    r"^(?:Input|String|List|Field|Value) |(?:, unable to .*)?(?: \[type=.*)?$"
)
_UNKNOWN_FIELD: Final = ("Extra inputs are not permitted", "unknown")
_MOST_MISTAKES: Final = 5
# The server checks lengths all the same.
_DROPPED: Final = frozenset({"title", "maxLength", "minLength"})
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


def compact(listed: HandlerResult) -> HandlerResult:
    """The list without what a model pays for and does not need: output schemas and repeated titles."""
    if not isinstance(listed, dict):
        return listed
    tools = [
        {
            name: _slim(one) if name == "inputSchema" else one
            for name, one in tool.items()
            if name != "outputSchema"
        }
        for tool in listed.get("tools", ())
    ]
    return {**listed, "tools": tools}


def unknown_arguments(given: Mapping[str, Any], known: Collection[str]) -> CallToolResult | None:
    """The refusal of arguments that a tool does not have; None when it knows them all."""
    unknown = sorted(set(given) - set(known))
    if not unknown:
        return None
    names = ", ".join(repr(name[:40]) for name in unknown[:_MOST_MISTAKES])
    return refusal(f"unknown-argument: {names}; the arguments are: {', '.join(known)}")


def plain_error(answer: HandlerResult) -> HandlerResult:
    """An answer as it is; an error with its stable reason first and without the words of a library."""
    if not isinstance(answer, dict) or not answer.get("isError"):
        return answer
    words = "".join(str(block.get("text", "")) for block in answer.get("content", ()))
    bare = _PREFIX.sub("", words)
    if _INVALID.match(bare):
        bare = f"invalid-argument: {_mistakes(bare)}"
    elif found := _UNKNOWN_TOOL.match(bare):
        bare = f"unknown-tool: there is no tool {found.group(1)!r}"
    return {**answer, "content": [{"type": "text", "text": bare}]}


def refusal(words: str) -> CallToolResult:
    """An error as a tool returns it."""
    return CallToolResult(content=[TextContent(type="text", text=words)], is_error=True)


def _mistakes(words: str) -> str:
    """`candidate_ids: required` or `limit: should be …` for each argument, out of the library's report."""
    lines = words.splitlines()[1:]
    pairs = pairwise(lines)
    found = [
        f"{name}: {_LIBRARY_WORDS.sub('', text.strip()).replace(*_UNKNOWN_FIELD)}"
        for name, text in pairs
        if name and not name.startswith(" ") and text.startswith("  ")
    ]
    return "; ".join(found[:_MOST_MISTAKES]) or "see the schema of the tool"


def _slim(schema: Any, *, is_properties: bool = False) -> Any:  # noqa: ANN401  # JSON schema
    if isinstance(schema, list):
        return [_slim(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if is_properties:
        return {name: _slim(one) for name, one in schema.items()}
    kept = {
        name: _slim(one, is_properties=name in ("properties", "$defs"))
        for name, one in schema.items()
        if name not in _DROPPED and not (name == "default" and one in (None, "", False))
    }
    choices = kept.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices and len(choices) == 2:
        (other,) = (one for one in choices if one != {"type": "null"})
        kept = {**other, **{name: one for name, one in kept.items() if name != "anyOf"}}
    return kept
