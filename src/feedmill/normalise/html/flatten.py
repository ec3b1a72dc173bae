"""Hostile markup rewritten as balanced, shallow markup that reads the same.

Inline elements never hold blocks in what is written here, so a tree builder never has to close
one thing because of another, and never rebuilds formatting (HTML §13.2.4.3). It is no sanitiser:
what it writes still goes through one.
"""
# Tested in tests/unit/normalise/html/test_sanitise.py

import re
from collections import Counter

from feedmill.normalise.html.allowlist import ALLOWED_ATTRIBUTES, ALLOWED_TAGS
from feedmill.normalise.html.tokens import (
    ATTRIBUTE_PATTERN,
    BLOCK_TAGS,
    VOID_TAGS,
    html_tokens,
    tag_name,
)

# What a tree builder opens again where it was nested wrongly.
FORMATTING = frozenset({
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
})  # fmt: skip

_LONGEST_ATTRIBUTE = 4_096
# Of these the next one closes the last one, as every block closes an open paragraph.
_SIBLINGS = frozenset({"li", "dt", "dd", "tr", "td", "th"})


def flatten(html: str, max_depth: int) -> str:
    """Balanced markup of allowed elements; tags beyond the depth are left out, all text stays."""
    writer = _Writer(max_depth)
    position = 0
    for token, resume in html_tokens(html):
        writer.text(html[position : token.start()])
        position = resume
        if tag_name(token) in ALLOWED_TAGS and token["end"]:
            writer.tag(token)
    writer.text(html[position:])
    return writer.finish()


def rewritten_tag(token: re.Match[str]) -> str:
    """The tag with no more than what the allow-list keeps; nothing when it was cut off."""
    if not token["end"]:
        return ""
    name = tag_name(token)
    wanted = ALLOWED_ATTRIBUTES["*"] | ALLOWED_ATTRIBUTES.get(name, frozenset())
    kept: dict[str, str] = {}
    for key, value in ATTRIBUTE_PATTERN.findall(token["attributes"]):
        if key.lower() in wanted and len(value) <= _LONGEST_ATTRIBUTE:
            kept.setdefault(key.lower(), key + value)
    return f"<{token['slash']}{' '.join((name, *kept.values()))}>"


class _Writer:
    """Markup being written, with what is open in it."""

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._pieces: list[str] = []
        self._stack: list[str] = []
        self._open: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def text(self, text: str) -> None:
        if text:
            self._pieces.append(text.replace("<", "&lt;"))

    def tag(self, token: re.Match[str]) -> None:
        name = tag_name(token)
        if token["slash"]:
            self._end(name)
        elif name in VOID_TAGS:
            self._pieces.append(rewritten_tag(token))
        else:
            self._start(name, token)

    def finish(self) -> str:
        self._close(len(self._stack))
        return "".join(self._pieces)

    def _start(self, name: str, token: re.Match[str]) -> None:
        self._make_room(name)
        if len(self._stack) >= self._max_depth:
            self._left_out[name] += 1
            return
        self._stack.append(name)
        self._open[name] += 1
        self._pieces.append(rewritten_tag(token))

    def _make_room(self, name: str) -> None:
        """Close what may not hold the new element: inline holds no block, a link no link."""
        if name == "a" and self._open["a"]:
            self._close(self._depth_of("a"))
        elif name in BLOCK_TAGS:
            while self._innermost() not in BLOCK_TAGS and self._stack:
                self._close(1)
            if self._innermost() == "p" or (name in _SIBLINGS and self._innermost() == name):
                self._close(1)

    def _end(self, name: str) -> None:
        if self._left_out[name]:
            self._left_out[name] -= 1
        elif self._open[name]:
            self._close(self._depth_of(name))

    def _innermost(self) -> str:
        return self._stack[-1] if self._stack else ""

    def _depth_of(self, name: str) -> int:
        return self._stack[::-1].index(name) + 1

    def _close(self, count: int) -> None:
        for _ in range(count):
            name = self._stack.pop()
            self._open[name] -= 1
            self._pieces.append(f"</{name}>")
