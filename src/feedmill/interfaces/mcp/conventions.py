"""What agents see of the protocol: compact schemas, unknown arguments refused, errors with a reason first.

The SDK describes every argument twice, ignores what a tool does not know and answers a wrong argument in its
library's words. The middleware of the server passes lists and answers through here.
"""
# Tested in tests/integration/interfaces/mcp/tools/test_tools.py

import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, Final

from mcp.server.context import HandlerResult
from mcp_types import CallToolResult, TextContent

_PREFIX: Final = re.compile(r"^Error executing tool \w+: ")
_INVALID: Final = re.compile(r"^\d+ validation errors? for ")
_UNKNOWN_TOOL: Final = re.compile(r"^Unknown tool: (.{0,60})")
_LIBRARY_WORDS: Final = re.compile(
    r"^(?:Input|String|List|Field|Value) |(?:, unable to .*)?(?: \[type=.*)?$"
)
_MOST_MISTAKES: Final = 5
_DROPPED: Final = frozenset(
    {"title", "maxLength", "minLength"}
)  # the server checks lengths all the same


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
        f"{name}: {_LIBRARY_WORDS.sub('', text.strip())}"
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
