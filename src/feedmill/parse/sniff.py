"""What kind of document the bytes are, and the right name for those that are no feed."""

import re
from typing import Final, Literal

from feedmill.model.parsed import Unreadable, UnreadableReason

Kind = Literal["empty", "binary", "json", "html", "markup", "text"]

_MAGIC: Final = (
    (b"\x1f\x8b", "gzip data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"RIFF", "a RIFF file"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"BZh", "bzip2 data"),
    (b"ID3", "an MP3 file"),
    (b"OggS", "an Ogg file"),
)
# Where a feed can begin after a server's warnings, debug output or a stray byte.
_FEED_START: Final = re.compile(
    rb"<\?xml\s|<(?:[A-Za-z][\w.-]{0,30}:)?(?:rss|feed|rdf|channel)[\s/>]", re.IGNORECASE
)
_FIRST_TAG: Final = re.compile(rb"<(!doctype\s+html|[A-Za-z][\w.:-]{0,60})", re.IGNORECASE)
_HTML_TAGS: Final = frozenset(
    b"html head body title meta link script style div p h1 center table".split()
)
_JUNK_LIMIT: Final = 100_000

_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{0,300})", re.IGNORECASE)
_BOT_WALL: Final = re.compile(
    r"just a moment\.\.\.|attention required! \| cloudflare|cf-chl-|challenge-platform|ddos-guard"
    r"|checking your browser|verify you are (?:a )?human|are you a robot|enable javascript and cookies"
    r"|_incapsula_resource|px-captcha|datadome|g-recaptcha|h-captcha|hcaptcha|sucuri website firewall"
    r"|access denied - sucuri|request unsuccessful\. incapsula|aws-waf|akamai[^<]{0,80}reference"
)
_PASSWORD: Final = re.compile(r"""<input[^>]{0,300}type\s*=\s*["']?password""")
_LOGIN_TITLE: Final = re.compile(r"\b(?:log ?-?in|sign ?-?in|anmelden|connexion|登录|ログイン)\b")
_ERROR_TITLE: Final = re.compile(
    r"^\W*(?:error\b|[45]\d\d\b|(?:page )?not found|forbidden|bad gateway|service unavailable"
    r"|internal server error|access denied|site (?:is )?(?:down|not found|offline)|account suspended)"
)
_ERROR_ROOTS: Final = frozenset(
    {"error", "errors", "fault", "envelope", "exception", "problem", "errorresponse", "response"}
)


def kind_of(body: bytes) -> Kind:
    """A first look at the bytes, before any decoding."""
    head = body[:_JUNK_LIMIT].lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n\x0b\x0c")
    if not head:
        return "empty"
    if any(head.startswith(magic) for magic, _ in _MAGIC):
        return "binary"
    if head[:1] in (b"{", b"["):
        return "json"
    return _kind_of_markup(head.replace(b"\x00", b""))


def feed_start(utf8: bytes) -> int:
    """Where the feed begins: past white space, warnings and debug output; 0 if nobody can say."""
    found = _FEED_START.search(utf8[:_JUNK_LIMIT])
    return found.start() if found else 0


def name_binary(body: bytes) -> Unreadable:
    """Say which kind of file was served instead of a feed."""
    for magic, what in _MAGIC:
        if body.startswith(magic):
            return Unreadable(reason="binary", detail=f"the body is {what}, not a feed")
    return Unreadable(reason="binary", detail="the body is binary data, not a feed")


def name_page(text: str) -> Unreadable:
    """Say what an HTML page is: a challenge, a login, an error, or just a page."""
    head = text[:200_000].lower()
    found = _TITLE.search(head)
    title = " ".join(found[1].split()) if found else ""
    reason = _page_reason(head, title)
    shown = f" titled {title[:80]!r}" if title else ""
    words = {
        "bot-wall": "a challenge page that keeps programs out",
        "login-page": "a page that asks for a login",
        "error-document": "an error page",
        "html-page": "an HTML page",
    }
    return Unreadable(reason=reason, detail=f"{words[reason]}{shown} was served instead of a feed")


def name_root(tag: str, text: str) -> Unreadable:
    """Say what an XML document with a foreign root element is."""
    local = tag.rpartition("}")[2].rpartition(":")[2].lower()
    if local == "html":
        return name_page(text)
    if local == "opml":
        return Unreadable(reason="opml", detail="an OPML list of feeds; import it instead")
    if local in _ERROR_ROOTS:
        return Unreadable(reason="error-document", detail=f"an XML <{local}> document")
    if local in ("urlset", "sitemapindex"):
        return Unreadable(reason="not-a-feed", detail="an XML sitemap, not a feed")
    return Unreadable(reason="not-a-feed", detail=f"XML whose root is <{local[:60]}>, not a feed")


def _kind_of_markup(head: bytes) -> Kind:
    start = _FEED_START.search(head)
    first = _FIRST_TAG.search(head)
    if first is None:
        return "markup" if start else "text"
    name = first[1].lower()
    if name.startswith(b"!doctype") or name in (b"html", b"head", b"body"):
        return "html" if start is None or start.start() > first.start() else _under_xml(head, start)
    if start is not None:
        return "markup"
    return "html" if name in _HTML_TAGS else "markup"


def _under_xml(head: bytes, start: re.Match[bytes]) -> Kind:
    """An XML declaration came first: XHTML unless a feed root follows it."""
    root = _FEED_START.search(head, start.end())
    first = _FIRST_TAG.search(head, start.end())
    return "markup" if root and first and root.start() <= first.start() else "html"


def _page_reason(head: str, title: str) -> UnreadableReason:
    if _BOT_WALL.search(head):
        return "bot-wall"
    if _PASSWORD.search(head) or _LOGIN_TITLE.search(title):
        return "login-page"
    if _ERROR_TITLE.search(title):
        return "error-document"
    return "html-page"
