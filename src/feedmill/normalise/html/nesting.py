"""Markup made cheap to sanitise before any sanitiser sees it (D18, D28).

A tree builder's work is not bounded by the size of its input: it is quadratic in nesting and in
the attributes of one tag, and one unclosed <b> is rebuilt inside every following paragraph.
`tame` lets ordinary markup through untouched after a linear look, cuts over-long tags down to
what the allow-list keeps, and has the rest rewritten as balanced, shallow markup.

Hostile markup rewritten as balanced, shallow markup that reads the same.

Inline elements never hold blocks in what is written here, so a tree builder never has to close
one thing because of another, and never rebuilds formatting (HTML §13.2.4.3). It is no sanitiser:
what it writes still goes through one.
"""

import re
from collections import Counter
from collections.abc import Iterable

from feedmill.model.base import Value
from feedmill.normalise.html.tokens import (
    ALLOWED_ATTRIBUTES,
    ALLOWED_TAGS,
    ATTRIBUTE_PATTERN,
    BLOCK_TAGS,
    REMOVED_TAGS,
    TOKEN_PATTERN,
    VOID_TAGS,
    html_tokens,
    tag_name,
)

# Below these, the worst markup that fits costs a tenth of a second: no look is needed.
_SMALL_CHARS = 32_768
_SMALL_TAGS = 1_000

_LONG_TAG_CHARS = 4_096
_REBUILD_BUDGET = 1_000_000  # characters that unclosed formatting may add again

# What the next of its kind closes without an end tag, and so does the end of these holders. Not
# the cells of a table: outside of a table their tags mean nothing.
_IMPLIED = frozenset({"p", "li", "dt", "dd", "tr", "td", "th"})
_HOLDERS = frozenset({
    "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "figure", "footer",
    "header", "li", "nav", "ol", "section", "ul",
})  # fmt: skip

# Where tokens do not mean what they mean elsewhere (foreign content, select, elements that are
# raw text only in some settings): no promise about depth is possible.
_UNSURE = frozenset({
    "svg", "math", "select", "noscript", "template", "object", "applet", "frameset",
})  # fmt: skip
_NEVER_TIDY = REMOVED_TAGS | _UNSURE | {"textarea", "xmp", "plaintext"}
# What a tree builder opens again where it was nested wrongly.
FORMATTING = frozenset({
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
})  # fmt: skip

_LONGEST_ATTRIBUTE = 4_096
# Of these the next one closes the last one, as every block closes an open paragraph.
_SIBLINGS = frozenset({"li", "dt", "dd", "tr", "td", "th"})


class NestingLimited(Value):
    """Markup that is safe to hand to a tree builder, and whether it had to be flattened."""

    html: str
    flattened: bool = False


def limit_nesting(html: str, max_depth: int) -> NestingLimited:
    """Markup whose tree is about as deep as `max_depth` at most; often the very same text."""
    if len(html) <= _SMALL_CHARS and html.count("<") <= _SMALL_TAGS:
        return NestingLimited(html=html)
    if _is_tidy(html, max_depth):
        return NestingLimited(html=html)
    gauge = _WorkBound(max_depth)
    if gauge.accepts(html):
        return NestingLimited(html=_shorten(html, gauge.long_tags) if gauge.long_tags else html)
    return NestingLimited(html=flatten(html, max_depth), flattened=True)


def _is_tidy(html: str, max_depth: int) -> bool:
    """Whether all is closed in the order in which it was opened: a quick check that most markup passes."""
    stack: list[str] = []
    formatting = 0
    for token in TOKEN_PATTERN.finditer(html):
        slash, name, attributes, _, cdata, _ = token.groups("")
        if slash:
            if not stack or stack.pop() != name:
                return False
            formatting -= name in FORMATTING
        elif name and name not in VOID_TAGS:
            if name in _NEVER_TIDY or (formatting and name in BLOCK_TAGS) or not name.islower():
                return False
            stack.append(name)
            formatting += name in FORMATTING
        if cdata or len(stack) > max_depth or len(attributes) > _LONG_TAG_CHARS:
            return False
    return True


class _WorkBound:
    """An upper bound of the work that markup causes, without building its tree.

    Only an end tag that fits the innermost open element closes anything, so that the count never
    falls below what a tree builder holds open, whatever it makes of wrong nesting.
    """

    def __init__(self, max_depth: int) -> None:
        self.long_tags: list[re.Match[str]] = []
        self._max_depth = max_depth
        self._open: list[str] = []
        self._sizes: list[int] = []
        self._formatting_chars = 0  # of the formatting tags now open
        self._rebuilt_chars = 0

    def accepts(self, html: str) -> bool:
        """Whether depth and rebuilding stay below their limits to the end; collects long tags."""
        for token, resume in html_tokens(html):
            name = tag_name(token)
            if token["cdata"] or name in _UNSURE or _hides_script(html, name, token.end(), resume):
                return False
            if name:
                self._count(token, name)
            if len(self._open) > self._max_depth or self._rebuilt_chars > _REBUILD_BUDGET:
                return False
        return True

    def _count(self, token: re.Match[str], name: str) -> None:
        self._rebuilt_chars += self._formatting_chars
        size = token.end() - token.start()
        if size > _LONG_TAG_CHARS:
            self.long_tags.append(token)
        if token["slash"]:
            self._end(name)
        elif name not in VOID_TAGS and not (name in _IMPLIED and self._innermost(1) == name):
            self._open.append(name)
            self._sizes.append(min(size, _LONG_TAG_CHARS) if name in FORMATTING else 0)
            self._formatting_chars += self._sizes[-1]

    def _end(self, name: str) -> None:
        if name in _HOLDERS and self._innermost(1) in _IMPLIED and self._innermost(2) == name:
            self._pop()
        if self._innermost(1) == name:
            self._pop()

    def _innermost(self, distance: int) -> str:
        return self._open[-distance] if len(self._open) >= distance else ""

    def _pop(self) -> None:
        self._open.pop()
        self._formatting_chars -= self._sizes.pop()


def _hides_script(html: str, name: str, start: int, end: int) -> bool:
    # <script><!--<script></script> is still inside the first script (HTML §13.2.5.20).
    return name == "script" and html.find("<!--", start, end) >= 0


def _shorten(html: str, long_tags: Iterable[re.Match[str]]) -> str:
    pieces: list[str] = []
    position = 0
    for token in long_tags:
        pieces += (html[position : token.start()], rewritten_tag(token))
        position = token.end()
    return "".join((*pieces, html[position:]))


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
