"""Detects pages sent instead of a feed: HTML pages, and the challenges of bot protection.

A challenge is not the publisher's answer: the feed is neither gone nor broken, and trying
harder makes it worse. The table is short on purpose: each row is a mark that the product's own
documentation or its block page shows, and marks in a body count only when the body is a page,
so that an article about captchas stays an article.
"""

import re

from feedmill.fetch.headers import header_value
from feedmill.model.fetch import Headers

_WINDOW_BYTES = 65_536
_TITLE = re.compile(rb"<title[^>]{0,200}>([^<]{0,300})", re.IGNORECASE)
_BLOCKING = frozenset({401, 403, 405, 406, 429, 503})

# field, value that it contains, product: sent with a challenge only
_CHALLENGE_FIELDS = (
    ("cf-mitigated", "challenge", "cloudflare"),
    ("x-amzn-waf-action", "c", "aws-waf"),  # challenge or captcha
    ("x-vercel-mitigated", "challenge", "vercel"),
    ("sg-captcha", "challenge", "siteground"),
)

# field, value that it contains, product: these mean a wall only together with a refusal
_GUARD_FIELDS = (
    ("x-datadome", "", "datadome"),
    ("x-dd-b", "", "datadome"),
    ("server", "ddos-guard", "ddos-guard"),
)

_CHALLENGE_TITLES = (
    (b"just a moment", "cloudflare"),
    (b"attention required! | cloudflare", "cloudflare"),
    (b"please wait... | cloudflare", "cloudflare"),
    (b"checking your browser", "cloudflare"),
    (b"ddos-guard", "ddos-guard"),
    (b"making sure you're not a bot", "anubis"),
    (b"making sure you&#39;re not a bot", "anubis"),
    (b"vercel security checkpoint", "vercel"),
    (b"sucuri website firewall", "sucuri"),
    (b"pardon our interruption", "imperva"),
    (b"are you a robot", "unknown"),
    (b"are you human", "unknown"),
    (b"human verification", "unknown"),
    (b"robot challenge screen", "siteground"),
)

# in the page of an answer that refuses
_CHALLENGE_MARKS = (
    (b"/cdn-cgi/challenge-platform/", "cloudflare"),
    (b"cf-chl-", "cloudflare"),
    (b"captcha-delivery.com", "datadome"),
    (b"_incapsula_resource", "imperva"),
    (b"px-captcha", "perimeterx"),
    (b"perimeterx", "perimeterx"),
    (b"errors.edgesuite.net", "akamai"),
    (b"/_sec/cp_challenge/", "akamai"),
    (b"awswafintegration", "aws-waf"),
    (b"sucuri_cloudproxy_js", "sucuri"),
    (b"ddos-guard", "ddos-guard"),
    (b"g-recaptcha", "unknown"),
    (b"h-captcha", "unknown"),
    (b"cf-turnstile", "unknown"),
)
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_PAGE_START = re.compile(rb"<(?:!doctype\s+html|html|head|body|title)[\s>/]", re.IGNORECASE)


def detect_bot_wall(status: int, headers: Headers, body: bytes) -> str | None:
    """The product whose wall this is ('unknown' for a nameless one), or None."""
    refusing = status in _BLOCKING
    fields = _CHALLENGE_FIELDS + (_GUARD_FIELDS if refusing else ())
    for name, mark, product in fields:
        value = header_value(headers, name)
        if value is not None and mark in value.lower():
            return product
    return _wall_in_page(body, refusing=refusing) if begins_as_page(body) else None


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


def _wall_in_page(body: bytes, *, refusing: bool) -> str | None:
    page = body[:_WINDOW_BYTES].lower()
    title = _TITLE.search(page)
    if title is not None and (product := _first_mark(title[1], _CHALLENGE_TITLES)) is not None:
        return product
    return _first_mark(page, _CHALLENGE_MARKS) if refusing else None


def _first_mark(text: bytes, marks: tuple[tuple[bytes, str], ...]) -> str | None:
    return next((product for mark, product in marks if mark in text), None)


def _after_prologue(markup: bytes) -> bytes | None:
    """What follows a leading comment or processing instruction; None when there is none."""
    for opening, closing in ((b"<!--", b"-->"), (b"<?", b"?>")):
        if markup.startswith(opening):
            return markup.partition(closing)[2]
    return None
