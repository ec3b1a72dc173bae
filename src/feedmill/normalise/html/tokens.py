"""HTML tokeniser: finds the markup in a string in linear time.

The grammar is that of the WHATWG tokenizer (HTML §13.2.5), because a reader that disagrees with
browsers about where a tag ends is a reader that can be fooled. Every pattern is possessive, and a
token that nothing closes ends with the text, so that no input is looked at twice.

The HTML allow-list: elements, attributes and schemes that an entry may carry (measured: 0 of 162 payloads ran).

`cite`, `srcset`, `style`, `id`, `class` and `name` stay out, and so do SVG and MathML: each has
let a script, a disguise or a clobbered page through some sanitiser.
"""
# Tested in tests/unit/normalise/html/test_sanitise.py

import re
from collections.abc import Iterator

# Elements that stand on lines of their own.
BLOCK_TAGS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1",
    "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "legend", "li", "main", "menu",
    "nav", "ol", "optgroup", "option", "p", "pre", "section", "summary", "table", "tbody", "td",
    "tfoot", "th", "thead", "title", "tr", "ul",
})  # fmt: skip

VOID_TAGS = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img",
    "input", "keygen", "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip

ALLOWED_TAGS = frozenset({
    "a", "abbr", "acronym", "address", "article", "aside", "audio", "b", "bdi", "bdo", "big",
    "blockquote", "br", "caption", "center", "cite", "code", "col", "colgroup", "dd", "del",
    "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "h1", "h2", "h3",
    "h4", "h5", "h6", "header", "hr", "i", "img", "ins", "kbd", "li", "mark", "nav", "ol", "p",
    "picture", "pre", "q", "rp", "rt", "ruby", "s", "samp", "section", "small", "source", "span",
    "strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead",
    "time", "tr", "track", "tt", "u", "ul", "var", "video", "wbr",
})  # fmt: skip
# Elements of HTML that nh3 takes off by itself and whose text it keeps.
HARMLESS_TAGS = frozenset({
    "area", "base", "basefont", "bgsound", "blink", "body", "button", "canvas", "data", "datalist",
    "dialog", "dir", "fieldset", "font", "head", "hgroup", "html", "image", "input", "keygen",
    "label", "legend", "link", "main", "map", "marquee", "menu", "meta", "meter", "nobr", "output",
    "progress", "rb", "rtc", "search", "slot", "spacer",
})  # fmt: skip
# Removed together with what stands in them: no text that a reader would see (D39).
REMOVED_TAGS = frozenset({
    "annotation", "annotation-xml", "applet", "frameset", "iframe", "metadata", "noembed",
    "noframes", "script", "style", "template", "title",
})  # fmt: skip
_HTML_TAGS = (
    ALLOWED_TAGS | HARMLESS_TAGS | REMOVED_TAGS | {"embed", "form", "frame", "object", "select"}
)

_SPACE = r"[\t\n\f\r ]"
ATTRIBUTE_NAME = r"[^\t\n\f\r />][^\t\n\f\r />=]*+"
ATTRIBUTE_VALUE = (
    rf"(?:{_SPACE}*+={_SPACE}*+"
    r"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >"'][^\t\n\f\r >]*+|(?=>)|\Z))?+"""
)
_TAG_NAME = r"[A-Za-z][^\t\n\f\r />]*+"
_ATTRIBUTES = rf"(?:[\t\n\f\r /]++|{ATTRIBUTE_NAME}{ATTRIBUTE_VALUE})*+"
# An empty comment may be written <!--> or <!--->, and --!> closes one too.
_COMMENT = r"!--(?:-?>|(?s:.)*?(?:--!?>|\Z))"
TOKEN_PATTERN = re.compile(
    rf"<(?:(?P<slash>/?)(?P<name>{_TAG_NAME})(?P<attributes>{_ATTRIBUTES})(?P<end>>|\Z)"
    rf"|{_COMMENT}"
    r"|(?P<cdata>!\[CDATA\[)"
    r"|(?:[!?]|/(?![A-Za-z]))[^>]*+(?P<bogus_end>>|\Z))"
)
ATTRIBUTE_PATTERN = re.compile(f"({ATTRIBUTE_NAME})({ATTRIBUTE_VALUE})")
_SLASH = re.compile(r"""(?:\A|[\t\n\f\r "'])/\Z|\A[^=]*/\Z""")
# Tags and comments, for splitting a text at them in one go: name and end of a tag are captured.
TAG_PATTERN = re.compile(rf"<(?:/?({_TAG_NAME}){_ATTRIBUTES}(>|\Z)|{_COMMENT})")

# What the end of a text may have cut off: a name, and the beginning of an attribute's name.
_CUT_TAG = re.compile(r"</?+([A-Za-z][\w:-]*+)?+(?:\s++([\w:-]*+))?+", re.ASCII)
_FREQUENT_ATTRIBUTES = (
    "align", "alt", "border", "class", "data-", "dir", "height", "href", "id", "lang", "name", "rel",
    "src", "style", "target", "title", "width",
)  # fmt: skip

_CLOSERS = {
    name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII)
    for name in REMOVED_TAGS
}
# Tested in tests/unit/normalise/html/test_sanitise.py


ALLOWED_ATTRIBUTES = {
    "a": frozenset({"href", "title", "hreflang"}),
    "abbr": frozenset({"title"}),
    "img": frozenset({"src", "alt", "title", "width", "height"}),
    "audio": frozenset({"src", "controls", "preload"}),
    "video": frozenset({"src", "poster", "controls", "preload", "width", "height"}),
    "source": frozenset({"src", "type"}),
    "td": frozenset({"colspan", "rowspan"}),
    "th": frozenset({"colspan", "rowspan", "scope"}),
    "ol": frozenset({"start", "reversed"}),
    "time": frozenset({"datetime"}),
    "*": frozenset({"lang", "dir"}),
}


URL_SCHEMES = frozenset({"http", "https", "mailto"})
LINK_REL = "noopener noreferrer nofollow"


def html_tokens(text: str, *, swallowing: bool = True) -> Iterator[tuple[re.Match[str], int]]:
    """The markup of a text in order, each with the place where the text goes on.

    That place is the end of the match, or the end tag of an element that is removed whole. Of
    these, `script` and `style` swallow the rest of the text when nothing closes them, unless they
    are known to be no markup; another one that is never closed is only a tag, and so is one that
    closes itself as in XML: `<script/>`.
    """
    unclosed: set[str] = set()
    position = 0
    search = TOKEN_PATTERN.search
    while found := search(text, position):
        position = found.end()
        slash, name = found.group(1, 2)
        if name and not slash and name not in ALLOWED_TAGS:
            name = tag_name(found)
            if name in REMOVED_TAGS and not is_self_closed(found):
                position = _end_of_content(text, name, position, unclosed, swallowing)
        yield found, position


def is_self_closed(token: re.Match[str]) -> bool:
    """Whether a start tag ends in `/>` as in XML; the slash of an unquoted value ends nothing."""
    return _SLASH.search(token["attributes"]) is not None


def tag_name(token: re.Match[str]) -> str:
    """The lower-case name of a start or end tag; empty for other markup.

    Only ASCII letters have a case here: a Kelvin sign in `lin\u212a` does not make it a `link`.
    """
    name = token["name"] or ""
    return name.lower() if name.isascii() else name


def is_address(name: str) -> bool:
    """Whether a tag's name is an address in angle brackets, which is text: `<jane@example.com>`."""
    return name in ("http:", "https:") or "@" in name


def is_cut_off(rest: str) -> bool:
    """Whether a tag that nothing closes is markup that was cut off: `x <y then` is text."""
    rest = rest.rstrip(".…")  # with which publishers mark the end
    found = _CUT_TAG.match(rest)
    name, attribute = (part.lower() for part in found.groups("")) if found else ("", "")
    is_whole = found is not None and found.end() == len(rest)
    if not name:
        return is_whole
    if is_whole and not attribute:
        return any(tag.startswith(name) for tag in _HTML_TAGS)
    if name not in _HTML_TAGS:
        return False
    if is_whole:
        return any(known.startswith(attribute) for known in _FREQUENT_ATTRIBUTES)
    return "=" in rest


def _end_of_content(text: str, name: str, start: int, unclosed: set[str], swallowing: bool) -> int:
    if name in unclosed:
        return start
    if closer := _CLOSERS[name].search(text, start):
        return closer.start()
    if swallowing and name in ("script", "style"):
        return len(text)
    unclosed.add(name)  # once it is known that nothing closes it, never look again
    return start
