"""What an answer claims to be, and whether it begins as an HTML page."""

import re

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_WINDOW_BYTES = 65_536
_PAGE_START = re.compile(rb"<(?:!doctype\s+html|html|head|body|title)[\s>/]", re.IGNORECASE)


def media_type(content_type: str | None) -> str:
    """The type without its parameters, lower case; '' when there is none."""
    return (content_type or "").partition(";")[0].partition(",")[0].strip().lower()


def is_html_type(content_type: str | None) -> bool:
    """Whether the answer says that it is a page for people."""
    return media_type(content_type) in _HTML_TYPES


def begins_as_page(body: bytes) -> bool:
    """Whether the first markup is that of an HTML page.

    A byte order mark, white space, comments and an XML declaration may stand before it.
    """
    rest = body[:_WINDOW_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    while (skipped := _after_prologue(rest)) is not None:
        rest = skipped.lstrip()
    return _PAGE_START.match(rest + b" ") is not None


def _after_prologue(markup: bytes) -> bytes | None:
    """What follows a leading comment or processing instruction; None when there is none."""
    for opening, closing in ((b"<!--", b"-->"), (b"<?", b"?>")):
        if markup.startswith(opening):
            return markup.partition(closing)[2]
    return None
