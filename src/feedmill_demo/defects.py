"""The most common defects of real feeds, each as a function over a valid document.

The list follows what a survey of wild feeds found most often; every defect keeps at least one
entry that a patient parser can save.
"""

from collections.abc import Callable

Defect = Callable[[bytes], bytes]


def bare_ampersands(body: bytes) -> bytes:
    """`&` as it is, in texts and links."""
    linked = body.replace(b"</link>", b"?from=rss&kind=item</link>")
    return linked.replace(b"&amp;", b"&")


def html_entities(body: bytes) -> bytes:
    """Named entities that XML does not know."""
    return body.replace(b"<description>", b"<description>Caf&eacute;&nbsp;&ndash; ")


def mismatched_tags(body: bytes) -> bytes:
    """An unclosed bold element and a title closed by the wrong name, in one entry of the middle."""
    head, item, rest = _split_at_item(body, 2)
    return (
        head
        + item.replace(b"</title>", b" <b>really</title>", 1).replace(b"</guid>", b"</id>", 1)
        + rest
    )


def less_than_in_text(body: bytes) -> bytes:
    """`<` as it is, in the text of one entry."""
    head, item, rest = _split_at_item(body, 1)
    return head + item.replace(b"<description>", b"<description>a < b and 3 <4: ", 1) + rest


def warnings_first(body: bytes) -> bytes:
    """A scripting language's complaint before the document."""
    return (
        b"\n<br />\n<b>Warning</b>: Undefined variable $ads in <b>feed.php</b> on line <b>12</b><br />\n"
        + body
    )


def control_characters(body: bytes) -> bytes:
    """Octets that XML forbids, pasted in from a word processor."""
    return body.replace(b"<description>", b"<description>\x0b\x02")


def wrong_encoding(body: bytes) -> bytes:
    """Windows-1252 under a declaration that says UTF-8."""
    return body.decode().encode("cp1252", "xmlcharrefreplace")


def cut_short(body: bytes) -> bytes:
    """The document ends in the middle of its last entries."""
    return body[: len(body) * 3 // 4]


def _split_at_item(body: bytes, number: int) -> tuple[bytes, bytes, bytes]:
    pieces = body.split(b"<item>")
    head = b"<item>".join(pieces[: number + 1])
    rest = b"<item>".join(pieces[number + 2 :])
    return head, b"<item>" + pieces[number + 1], b"<item>" + rest if rest else b""
