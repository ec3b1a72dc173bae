"""Ordinary markup, sanitised without building a tree: the very text the sanitiser would write.

Most contents are finished lower-case tags, closed in order, with quoted attributes and absolute
addresses. A tree builder makes of them what they already are, and dropping attributes is all that
is left to do. Only what is named here is taken: of anything else the answer is None, and the
sanitiser has the word. Wherever this module answers, nh3 gives the same: the tests hold that law.
"""

import re

from feedmill.model.base import Value
from feedmill.normalise.html.nesting import SMALL_CHARS, SMALL_TAGS
from feedmill.normalise.ordinary_tags import (
    HEADINGS,
    PARENTS,
    WITH_END,
    Tag,
    UnordinaryError,
    read_tag,
    remembered_tag,
    rewritten_references,
)

_MAX_DEPTH = 40
_MAX_GROWTH = 4  # no-break spaces are written as references
_TABLE_PARTS = frozenset({"table", "tbody", "thead", "tfoot", "tr"})

_MARKUP = re.compile(r"(<[^<>]*>)")
_LEADING_LINE = re.compile(r"<pre[^<>]*+>\n")  # which a tree builder drops
_FORBIDDEN = bytes({*range(0x20), 0x7F, *b"<>"} - {*b"\t\n"})


class Ordinary(Value):
    """Sanitised HTML, and the text of it with a blank wherever a block begins or ends."""

    html: str
    text: str  # its references are still there
    harmless: bool  # nothing in it looks like an attack, but for characters beyond ASCII


def sanitise_ordinary(html: str) -> Ordinary | None:
    """What the sanitiser would make of ordinary markup; None for any other."""
    if len(html) > SMALL_CHARS or ("<pre" in html and _LEADING_LINE.search(html)):
        return None
    pieces = _MARKUP.split(html)
    try:
        tags = [remembered_tag(piece) or read_tag(piece) for piece in pieces[1::2]]
        _check_nesting(tags)
        if "<table" in html:
            _check_tables(tags, pieces[0::2])
        texts = _rewritten_texts(pieces[0::2])
    except UnordinaryError:
        return None
    answer = _assembled(pieces, tags, texts)
    return answer if len(answer.html) <= _MAX_GROWTH * len(html) else None


def _assembled(pieces: list[str], tags: list[Tag], texts: list[str]) -> Ordinary:
    pieces[1::2] = [tag.text for tag in tags]
    text = "".join(pieces)
    pieces[0::2] = texts
    pieces[1::2] = [tag.written for tag in tags]
    # A value needs its sign: in a text without it there is nothing to find either.
    harmless = "=" not in text and False not in [tag.harmless for tag in tags]
    return Ordinary(html="".join(pieces), text=text, harmless=harmless)


def _check_nesting(tags: list[Tag]) -> None:
    """Refuse what a tree builder would close, move or open again (HTML §13.2.6.4.7)."""
    if len(tags) > SMALL_TAGS:
        raise UnordinaryError
    stack = [""]
    for tag in tags:
        role = tag.role
        if role == "end":
            if stack.pop() != tag.name:
                raise UnordinaryError
        elif role == "inline":
            stack.append(tag.name)
        elif role != "void":
            _check_start(tag.name, stack)
            if role == "block":
                stack.append(tag.name)
    if len(stack) != 1:
        raise UnordinaryError


def _check_start(name: str, stack: list[str]) -> None:
    """Refuse an element where it would close another one, and one that stands too deep."""
    if name == "a":
        refused = "a" in stack
    elif name in PARENTS:
        refused = stack[-1] not in PARENTS[name]
    else:
        refused = "p" in stack or (name in HEADINGS and stack[-1] in HEADINGS)
    if refused or len(stack) > _MAX_DEPTH:
        raise UnordinaryError


def _check_tables(tags: list[Tag], texts: list[str]) -> None:
    """Refuse what a tree builder would move out of a table: all but its parts and white space."""
    stack = [""]
    for tag, text in zip(tags, texts[1:], strict=True):
        if tag.role == "end":
            stack.pop()
        elif stack[-1] in _TABLE_PARTS and stack[-1] not in PARENTS.get(tag.name, ()):
            raise UnordinaryError
        elif tag.role in WITH_END:
            stack.append(tag.name)
        if stack[-1] in _TABLE_PARTS and text.strip(" \n"):
            raise UnordinaryError


def _rewritten_texts(texts: list[str]) -> list[str]:
    """The texts with each reference as the sanitiser writes it."""
    joined = "<".join(texts)
    try:
        encoded = joined.encode()
    except UnicodeEncodeError:
        raise UnordinaryError from None
    # In UTF-8 these bytes stand for nothing else, and removing them is the fastest search.
    if len(encoded.translate(None, _FORBIDDEN)) != len(encoded) - len(texts) + 1:
        raise UnordinaryError
    if "\ufffe" in joined or "\uffff" in joined:
        raise UnordinaryError
    if "&" not in joined and "\xa0" not in joined:
        return texts
    return rewritten_references(joined).split("<")
