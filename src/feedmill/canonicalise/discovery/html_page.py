"""Reads an HTML page as far as feed discovery needs it: link, a, base and meta elements.

One pass of a token scan, no tree. On 10 MB of anchors lxml's hardened HTML parser takes 0.85 s and
400 MB for a tree of which a few elements are wanted, and it drops what is nested deeper than 256
elements; the scan takes 0.2 s (0.4 s without its limit of characters), 0.6 s on the worst markup
that we could think of, and memory for what it keeps. A comment or the text of a script is skipped
as a browser skips it; what a page never closes swallows the rest of it. Every character is looked
at a bounded number of times, whatever the markup.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from feedmill.canonicalise.pasted_url import decode_entities
from feedmill.canonicalise.urls import http_url, strip_userinfo_and_fragment
from feedmill.model.base import Value
from feedmill.model.parsed import Link

MAX_PAGE_CHARS: Final = 4_000_000  # the page of a video channel has 1.5 million
MAX_ELEMENTS: Final = 10_000  # of each kind
_MAX_ATTRIBUTES: Final = 50
_MAX_VALUE_CHARS: Final = 4_096
_MAX_TEXT_CHARS: Final = 200
_MARKUP_AROUND_TEXT: Final = 600  # an anchor's text may be wrapped in spans and pictures

_KINDS: Final = ("link", "a", "meta")
_ATTRIBUTES: Final = frozenset(
    (
        *("href", "rel", "type", "title", "hreflang", "aria-label"),
        *("name", "property", "itemprop", "content", "http-equiv"),
    )
)
_TOKEN: Final = re.compile(
    r"<(?:(!--)|(script|style|textarea|title|xmp|iframe|noembed|noframes|plaintext)(?=[\s/>])"
    r"|(link|a|base|meta)(?=[\s/]))",
    re.IGNORECASE,
)
_ATTRIBUTE: Final = re.compile(
    r"""[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"?|'([^']*+)'?|([^\s>"'][^\s>]*+))?)?"""
)
_COMMENT_END: Final = re.compile(r"--!?>")
_TAG: Final = re.compile(r"<[^<>]*+>?")
_ALT: Final = re.compile(r"""\salt\s*=\s*["']([^"'<>]{1,100})["']""", re.IGNORECASE)

_REFRESH: Final = re.compile(
    r"\s*+([0-9]{0,9})[0-9.]*+(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+[\"']?+([^\"']++)", re.IGNORECASE
)
_MAX_REFRESH_SEC: Final = 30  # after which a page shows its reader something else

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_CHARSET_WINDOW: Final = 4_096  # HTML requires 1,024; many pages put it later
# Encodings in which the ASCII of the markup is ASCII; titles are all that is at stake. A label that
# is not here, such as utf-7, is read as UTF-8.
_CODECS: Final = {
    "iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "windows-1252": "cp1252",
    "iso-8859-2": "iso8859_2", "iso-8859-5": "iso8859_5", "iso-8859-7": "iso8859_7",
    "iso-8859-9": "cp1254", "iso-8859-15": "iso8859_15", "windows-1250": "cp1250",
    "windows-1251": "cp1251", "windows-1253": "cp1253", "windows-1254": "cp1254",
    "windows-1255": "cp1255", "windows-1256": "cp1256", "windows-1257": "cp1257",
    "koi8-r": "koi8_r", "koi8-u": "koi8_u", "shift_jis": "cp932", "shift-jis": "cp932",
    "euc-jp": "euc_jp", "euc-kr": "cp949", "gb2312": "gb18030", "gbk": "gb18030",
    "gb18030": "gb18030", "big5": "big5hkscs",
}  # fmt: skip


class Element(NamedTuple):
    """One tag: the attributes that matter, entities decoded, and for an anchor its text."""

    attributes: Mapping[str, str]
    text: str = ""

    def get(self, name: str) -> str:
        """The attribute's value; empty when there is none."""
        return self.attributes.get(name, "")


class HtmlPage(Value):
    """The elements of a page that may lead to a feed."""

    url: str  # where it was served, without credentials and fragment
    base: str  # what its references are joined with
    announced: tuple[Link, ...] = ()  # by the HTTP header
    links: tuple[Element, ...] = ()
    anchors: tuple[Element, ...] = ()
    metas: tuple[Element, ...] = ()
    text: str = ""  # all of it, for the rules that look into scripts


def read_page(
    html: str | bytes, url: str, announced: Sequence[Link] = (), *, content_type: str | None = None
) -> HtmlPage:
    """The page behind the markup; `announced` are the links of the HTTP header.

    Never raises on bad markup. A page whose own address is no http(s) URL is empty: nothing in it
    could be resolved.
    """
    own_url = plain_url(url)
    if own_url is None:
        return HtmlPage(url=url, base=url)
    text = page_text(html, content_type)
    found, base = _scan(text)
    return HtmlPage(
        url=own_url,
        base=(plain_url(base, own_url) if base else None) or own_url,
        announced=tuple(announced),
        links=tuple(found["link"]),
        anchors=tuple(found["a"]),
        metas=tuple(found["meta"]),
        text=text,
    )


def refresh_target(page: HtmlPage) -> str | None:
    """Where a page sends its reader on at once (`http-equiv="refresh"`); None where it stays."""
    for meta in page.metas:
        if meta.get("http-equiv").lower() != "refresh":
            continue
        found = _REFRESH.match(meta.get("content"))
        if found is None or int(found[1] or 0) > _MAX_REFRESH_SEC:
            return None
        url = plain_url(found[2].strip(), page.base)
        return None if url == page.url else url
    return None


def page_text(html: str | bytes, content_type: str | None = None) -> str:
    """The markup as text: by its BOM, the header, its meta charset, else as UTF-8; never raises."""
    if isinstance(html, str):
        return html[:MAX_PAGE_CHARS]
    for mark, codec in _BOMS:
        if html.startswith(mark):
            return html[len(mark) : MAX_PAGE_CHARS].decode(codec, "replace")
    head = html[:_CHARSET_WINDOW].decode("latin-1")
    label = _CHARSET.search(content_type or "") or _CHARSET.search(head)
    codec = _CODECS.get(label[1].lower(), "utf-8") if label else "utf-8"
    return html[:MAX_PAGE_CHARS].decode(codec, "replace")


def plain_url(reference: str, base: str | None = None) -> str | None:
    """The http(s) URL of a reference without credentials and fragment, or None.

    A page does not choose which credentials we send.
    """
    href = http_url(reference, base) if len(reference) <= _MAX_VALUE_CHARS else None
    if href is None:
        return None
    if "@" not in href and "#" not in href:
        return href
    return strip_userinfo_and_fragment(href)


def _scan(text: str) -> tuple[dict[str, list[Element]], str]:
    """The elements of each kind in their order, and the first base."""
    found: dict[str, list[Element]] = {name: [] for name in _KINDS}
    left = dict.fromkeys((*_KINDS, "base"), MAX_ELEMENTS)
    base, position = "", 0
    while (token := _TOKEN.search(text, position)) is not None:
        position = token.end()
        if token[3] is None:
            position = _end_of_text(text, token)
            continue
        name = token[3].lower()
        if not left[name]:
            continue
        left[name] -= 1
        attributes, position = _attributes(text, position)
        if name == "base":
            base = base or attributes.get("href", "")
        elif attributes:
            inner = _text_after(text, position) if name == "a" else ""
            found[name].append(Element(attributes, inner))
    return found, base


def _end_of_text(text: str, token: re.Match[str]) -> int:
    """Where a comment or the text of a script ends; the end of the page when it does not."""
    if token[1] is not None:
        end = _COMMENT_END.search(text, token.end() - 2)  # `<!-->` is a whole comment
    else:
        end = re.compile(rf"</{token[2]}(?=[\s/>])", re.IGNORECASE).search(text, token.end())
    return len(text) if end is None else end.end()


def _attributes(text: str, position: int) -> tuple[dict[str, str], int]:
    """The attributes that matter, the first of each name, and where the tag ends."""
    found: dict[str, str] = {}
    for _ in range(_MAX_ATTRIBUTES):
        attribute = _ATTRIBUTE.match(text, position)
        if attribute is None:
            break
        position = attribute.end()
        name = attribute[1].lower()
        if name in _ATTRIBUTES and name not in found:
            value = attribute[2] or attribute[3] or attribute[4] or ""
            found[name] = decode_entities(value[:_MAX_VALUE_CHARS]).strip()
    return found, position


def _text_after(text: str, position: int) -> str:
    """What a person reads on an anchor: its text, else the words for its picture."""
    inner = text[position : position + _MARKUP_AROUND_TEXT]
    inner = inner.partition(">")[2].partition("</a")[0].partition("</A")[0]
    words = " ".join(decode_entities(_TAG.sub(" ", inner)).split())
    picture = None if words else _ALT.search(inner)
    return (picture[1] if picture else words)[:_MAX_TEXT_CHARS]
