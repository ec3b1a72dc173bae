"""Sniffs the kind of document, and names what was served instead of a feed."""

import re
from typing import Final, Literal

from feedmill.model.parsed import Unreadable, UnreadableReason
from feedmill.parse.xml.names import Prolog, read_prolog

DocumentKind = Literal["empty", "binary", "json", "html", "markup", "text"]

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
    (b"\xfd7zXZ\x00", "xz data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"SQLite format 3\x00", "a database"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
)
_MAGIC_BYTES: Final = tuple(magic for magic, _ in _MAGIC)
EBCDIC_MARK: Final = b"\x4c\x6f\xa7\x94"  # "<?xm", XML 1.0 appendix F
_BLANK: Final = re.compile(rb"(?:[\x00\s]++|\xef\xbb\xbf|\xff\xfe|\xfe\xff)*+")
_CONTROL: Final = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_NAME: Final = re.compile(rb"<(?:([A-Za-z_][\w.-]{0,30}):)?([A-Za-z_][\w.-]{0,60})")
# Where a feed can begin after a server's warnings, debug output or a stray byte.
_FEED_START: Final = re.compile(
    rb"<\?xml\s|<(?:[A-Za-z][\w.-]{0,30}:)?(?:rss|feed|rdf|channel)[\s/>]", re.IGNORECASE
)
# A feed that a program wrapped into a page: it is the first thing in its body.
_FEED_IN_PAGE: Final = re.compile(
    rb"<(?:html|body)(?:\s[^>]{0,500})?>\s*(?:<(?:pre|div)(?:\s[^>]{0,500})?>\s*){0,3}"
    rb"(?:<\?xml[^>]{0,200}>\s*)?<(?:feed|rss|rdf:rdf)[\s>]",
    re.IGNORECASE,
)
_DECLARATION_START: Final = re.compile(rb"<\?xml\s")
_FEED_ROOTS: Final = frozenset(b"rss feed rdf channel entry".split())
_PAGE_ROOTS: Final = frozenset(b"html head body".split())
# What a page, a warning of PHP or other debug output begins with.
_HTML_TAGS: Final = frozenset(
    b"html head body title meta link script style noscript div p br hr b i em strong font span pre"
    b" code center table ul ol h1 h2 h3 h4 img a iframe form main section nav header".split()
)
_JUNK_LIMIT: Final = 100_000

_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{0,300})", re.IGNORECASE)
_BOT_WALL: Final = re.compile(
    r"just a moment\.\.\.|attention required! \| cloudflare|cf-chl-|challenge-platform|ddos-guard"
    r"|checking your browser|verify(?:ing)? (?:that )?you are (?:a )?(?:not a robot|human)"
    r"|are you a robot|enable javascript and cookies|_incapsula_resource|px-captcha"
    r"|captcha-delivery\.com|sucuri website firewall|access denied - sucuri"
    r"|request unsuccessful\. incapsula|aws-waf|awswaf|akamai[^<]{0,80}reference"
)
# Ordinary pages carry these in their comment forms; only a page with little else is a wall.
_CAPTCHA: Final = re.compile(r"g-recaptcha|h-captcha|hcaptcha|cf-turnstile|datadome")
_SMALL_PAGE: Final = 15_000
_PASSWORD: Final = re.compile(r"""<input[^>]{0,300}type\s*=\s*["']?password""")
_LOGIN_TITLE: Final = re.compile(
    r"\b(?:log ?-?in|sign ?-?in|anmelden|anmeldung|connexion|iniciar sesi[oó]n|accedi|вход)\b"
    r"|登录|登入|ログイン|로그인"
)
_ERROR_TITLE: Final = re.compile(
    r"^\W*(?:error\b|[45]\d\d(?:\W*$|\s*[-|:–—(!]|\s+(?:error|page|not|forbidden|bad|service|internal|"
    r"gateway|unauthori[sz]ed|gone|too|request))|(?:page |file )?not found|forbidden|bad gateway"
    r"|service (?:temporarily )?unavailable|internal server error|gateway time-?out|access denied"
    r"|site (?:is )?(?:down|not found|offline)|account suspended|bandwidth limit exceeded)"
    r"|\b(?:error 4\d\d|error 5\d\d|page (?:could )?not (?:be )?found|404 not found)\b"
)
_ERROR_ROOTS: Final = frozenset(
    {"error", "errors", "fault", "envelope", "exception", "problem", "errorresponse", "response"}
)


def kind_of(body: bytes) -> DocumentKind:
    """A first look at the bytes, before any decoding."""
    start = _end_of_blank(body)
    head = body[start : start + _JUNK_LIMIT]
    if not head:
        return "empty"
    if head.startswith(EBCDIC_MARK):
        return "markup"
    if _magic(body) is not None:
        return "binary"
    if head[:1] in (b"{", b"["):
        return "json"
    return _kind_of_markup(head.replace(b"\x00", b""))


def holds_feed(utf8: bytes) -> bool:
    """True when something like a feed begins somewhere near the start."""
    return _FEED_START.search(utf8, 0, _JUNK_LIMIT) is not None


def find_feed_start(utf8: bytes) -> tuple[int, Prolog]:
    """Where the document begins, past warnings and debug output, and what its prolog holds.

    What stands before a root that could be a page's is junk if a feed follows. An unknown root is
    another kind of XML, whatever it contains, unless a declaration follows it.
    """
    start = max(utf8.find(b"<"), 0)
    prolog = read_prolog(utf8, start)
    name = _root_name(utf8, prolog)
    if name in _FEED_ROOTS:
        return start, prolog
    pattern = _FEED_START if name is None or name in _HTML_TAGS else _DECLARATION_START
    after = max(prolog.root, start + 1)
    found = pattern.search(utf8, after, after + _JUNK_LIMIT)
    if found is None:
        return start, prolog
    return found.start(), read_prolog(utf8, found.start())


def declaration_start(body: bytes) -> int:
    """Where an XML declaration stands, if there is one: at the start, or after junk."""
    start = _end_of_blank(body)
    if body.startswith((b"<?xml", b"{", b"["), start):
        return start
    found = _FEED_START.search(body, start, start + _JUNK_LIMIT)
    return found.start() if found else start


def classify_binary(body: bytes) -> Unreadable:
    """Say which kind of file was served instead of a feed."""
    what = _magic(body) or "binary data"
    return Unreadable(reason="binary", detail=f"the body is {what}, not a feed")


def classify_page(text: str) -> Unreadable:
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


def classify_root(tag: str, text: str) -> Unreadable:
    """Say what an XML document with a foreign root element is."""
    local = tag.rpartition("}")[2].rpartition(":")[2].lower()
    if local == "html":
        return classify_page(text)
    if local == "opml":
        return Unreadable(reason="opml", detail="an OPML list of feeds; import it instead")
    if local in _ERROR_ROOTS:
        return Unreadable(reason="error-document", detail=f"an XML <{local}> document")
    if local in ("urlset", "sitemapindex"):
        return Unreadable(reason="not-a-feed", detail="an XML sitemap, not a feed")
    return Unreadable(reason="not-a-feed", detail=f"XML whose root is <{local[:60]}>, not a feed")


def _end_of_blank(body: bytes) -> int:
    found = _BLANK.match(body)
    return found.end() if found else 0


def _magic(body: bytes) -> str | None:
    if body.startswith(_MAGIC_BYTES):
        return next(what for magic, what in _MAGIC if body.startswith(magic))
    return "an MP4 file" if body[4:8] == b"ftyp" else None


def _kind_of_markup(head: bytes) -> DocumentKind:
    name = _root_name(head, read_prolog(head, 0))
    if name in _FEED_ROOTS:
        return "markup"
    if name in _PAGE_ROOTS:
        return "markup" if _FEED_IN_PAGE.search(head) else "html"
    if _FEED_START.search(head):
        return "markup"
    if _CONTROL.search(head, 0, 512):
        return "binary"
    if name is None:
        return "text"
    return "html" if name in _HTML_TAGS else "markup"


def _root_name(utf8: bytes, prolog: Prolog) -> bytes | None:
    found = _NAME.match(utf8, prolog.root) if prolog.root >= 0 else None
    return found[2].lower() if found else None


def _page_reason(head: str, title: str) -> UnreadableReason:
    if _BOT_WALL.search(head) or (len(head) < _SMALL_PAGE and _CAPTCHA.search(head)):
        return "bot-wall"
    if _PASSWORD.search(head) or _LOGIN_TITLE.search(title):
        return "login-page"
    if _ERROR_TITLE.search(title):
        return "error-document"
    return "html-page"
