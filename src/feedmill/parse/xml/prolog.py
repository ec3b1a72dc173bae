"""The prolog before the root element, and removal of its DOCTYPE; the namespace of the root.

A DOCTYPE can name files to open and entities to expand. It is overwritten with blanks of the
same length before any XML parser sees it, so every offset still holds (D16). So is a default
namespace that is not the format's own: its publisher meant another prefix, or mistyped it.
"""
# Tested in tests/unit/parse/xml/test_tree.py

import re
from typing import Final

from feedmill.model.base import Value
from feedmill.parse.xml.names import is_atom_namespace, is_rss_namespace

_OUTSIDE: Final = re.compile(rb"""(<!--|<\?|["'\[\]>])""")
# In the internal subset, what a declaration says does not matter, nor where it ends.
_INSIDE: Final = re.compile(
    rb"""(?:[^"'\[\]<]++|"[^"]*+"|'[^']*+'|<(?!!--|\?))*+(<!--|<\?|["'\[\]])"""
)
# Enough for any real internal subset; a longer one does not describe a feed.
_MAX_TOKENS: Final = 50_000
_MAX_DOCTYPES: Final = 4  # XML allows one
_BLANKS: Final = bytes(byte if byte == ord("\n") else ord(" ") for byte in range(256))
_ROOT: Final = re.compile(
    rb"""<(rss|feed)(?=\s)(?:[^<>"'x]++|"[^"]*+"|'[^']*+'|(?<!\s)x|x(?!mlns\s*+=))*+"""
    rb"""(xmlns\s*+=\s*+(?:"([^"<]*+)"|'([^'<]*+)'))""",
    re.IGNORECASE,
)
_ENTRY: Final = re.compile(rb"<entry[\s>]", re.IGNORECASE)
_ENDS: Final = {b"<!--": b"-->", b"<?": b"?>", b'"': b'"', b"'": b"'"}


class Prolog(Value):
    """Where the root element begins (-1 when there is none) and where a DOCTYPE stands."""

    root: int
    doctypes: tuple[tuple[int, int], ...] = ()


def read_prolog(utf8: bytes, start: int) -> Prolog:
    """Step over declarations, comments, instructions and DOCTYPEs up to the first element."""
    doctypes: list[tuple[int, int]] = []
    position = start
    while (at := utf8.find(b"<", position)) >= 0:
        if utf8.startswith(b"<?", at):
            position = _end_of(utf8, b"?>", at + 2)
        elif utf8.startswith(b"<!--", at):
            position = _end_of(utf8, b"-->", at + 4)
        elif utf8.startswith(b"<!", at):
            if len(doctypes) < _MAX_DOCTYPES:
                position = _end_of_doctype(utf8, at)
                doctypes.append((at, position))
            else:  # one long blank, with whatever stands between them
                position = _end_of(utf8, b">", at)
                doctypes[-1] = (doctypes[-1][0], position)
        else:
            return Prolog(root=at, doctypes=tuple(doctypes))
    return Prolog(root=-1, doctypes=tuple(doctypes))


def without_doctype(utf8: bytes, prolog: Prolog) -> bytes:
    """The same bytes with every DOCTYPE turned into blanks; its line ends stay, for line numbers."""
    for start, end in prolog.doctypes:
        utf8 = utf8[:start] + utf8[start:end].translate(_BLANKS) + utf8[end:]
    return utf8


def without_wrong_namespace(utf8: bytes, root: int) -> bytes:
    """The same bytes without the default namespace of an <rss> or <feed> that is none of theirs.

    Another program's <feed> has no entries; RSS is known by the name of its root alone.
    """
    found = _ROOT.match(utf8, root)
    if found is None:
        return utf8
    uri = (found[3] or found[4] or b"").decode("utf-8", "replace")
    is_atom = found[1].lower() == b"feed"
    if not uri.strip() or is_rss_namespace(uri) or (is_atom and is_atom_namespace(uri)):
        return utf8
    if is_atom and _ENTRY.search(utf8, found.end()) is None:
        return utf8
    return utf8[: found.start(2)] + found[2].translate(_BLANKS) + utf8[found.end(2) :]


def _end_of(utf8: bytes, mark: bytes, position: int) -> int:
    found = utf8.find(mark, position)
    return len(utf8) if found < 0 else found + len(mark)


def _end_of_doctype(utf8: bytes, start: int) -> int:
    """Past the closing > of a declaration, minding its quotes, comments and internal subset."""
    depth = 0
    position = start + 2
    for _ in range(_MAX_TOKENS):
        found = _INSIDE.match(utf8, position) if depth > 0 else _OUTSIDE.search(utf8, position)
        if found is None:
            break
        token = found[1]
        position = found.end()
        if token in _ENDS:
            end = utf8.find(_ENDS[token], position)
            if end < 0:
                break
            position = end + len(_ENDS[token])
        elif token == b">":
            return position
        else:
            depth += 1 if token == b"[" else -1
    return _end_of(utf8, b">", start)  # its quotes or brackets do not balance
