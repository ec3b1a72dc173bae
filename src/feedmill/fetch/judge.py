"""Judges a response: fresh, unchanged, gone or failed (RFC 9110 15, H09 to H25 of the standards notes).

Whether a document is a feed is for the parser to say. Here an answer is a failure only when its
status, its framing or its very first bytes say so.

Detects pages sent instead of a feed: HTML pages, and the challenges of bot protection.

A challenge is not the publisher's answer: the feed is neither gone nor broken, and trying
harder makes it worse. The table is short on purpose: each row is a mark that the product's own
documentation or its block page shows, and marks in a body count only when the body is a page,
so that an article about captchas stays an article.
"""

import re
from datetime import datetime

from feedmill.fetch.caching import freshness_sec, learn_validators, renew_validators
from feedmill.fetch.headers import (
    header_list,
    header_value,
    header_values,
    link_headers,
    retry_after_sec,
)
from feedmill.fetch.plan import permanent_target
from feedmill.model.fetch import (
    Failed,
    FailureReason,
    FetchPlan,
    Fresh,
    Gone,
    Headers,
    RawDocument,
    RawResponse,
    RefusalReason,
    Unchanged,
    Verdict,
)

_KNOWN_CODINGS = frozenset({"identity", "gzip", "x-gzip", "deflate", "br", "zstd"})
_MAX_CODINGS = 2
_CONDITIONS = frozenset({"if-none-match", "if-modified-since"})

_REASONS: dict[int, FailureReason] = {
    204: "no-content",
    205: "no-content",
    # A part of a document, or a change to one, must never replace the whole (H22).
    206: "partial-content",
    226: "delta-content",
    401: "auth-required",
    403: "forbidden",
    404: "not-found",
    429: "rate-limited",
    451: "legally-unavailable",
    503: "unavailable",
}
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


def judge(response: RawResponse, plan: FetchPlan, received_at: datetime) -> Verdict:
    """The one verdict on an answer; `plan` is what was asked."""
    status = response.status
    if response.error is not None:
        return _failed(response, response.error, received_at, detail=response.detail)
    if status is None:
        return _failed(response, "connection-failed", received_at)
    if status in (200, 203):
        return _judge_document(response, plan, status, received_at)
    if status == 304:
        return _judge_unchanged(response, plan, received_at)
    if status == 410:
        return Gone(document=_document(response))
    return _judge_refusal(response, status, received_at)


def _judge_document(
    response: RawResponse, plan: FetchPlan, status: int, received_at: datetime
) -> Fresh | Failed:
    fault = (
        _framing_fault(response, received_at)
        or _wall(response, status, received_at)
        or _refused_type(response, plan, received_at)
        or _content_fault(response, received_at)
    )
    return fault or Fresh(
        status=status,
        document=_document(response),
        validators=learn_validators(response.headers, _sent(response, plan), response.final_url),
        freshness_sec=freshness_sec(response.headers, received_at),
        moved_to=permanent_target(response.hops),
        links=link_headers(response.headers, response.final_url),
    )


def _judge_unchanged(
    response: RawResponse, plan: FetchPlan, received_at: datetime
) -> Unchanged | Failed:
    stored = plan.validators
    sent = _sent(response, plan)
    if stored is None or not _is_conditional(sent):
        # A 304 answers a conditional request only, and this one was not (RFC 9110 15.4.5).
        return _failed(response, "unasked-304", received_at)
    return Unchanged(
        validators=renew_validators(stored, response.headers, sent, response.final_url),
        freshness_sec=freshness_sec(response.headers, received_at),
        moved_to=permanent_target(response.hops),
        links=link_headers(response.headers, response.final_url),
    )


def _judge_refusal(response: RawResponse, status: int, received_at: datetime) -> Failed:
    reason = _reason_of_status(response, status)
    return _wall(response, status, received_at) or _failed(response, reason, received_at)


def _wall(response: RawResponse, status: int, received_at: datetime) -> Failed | None:
    product = detect_bot_wall(status, response.headers, response.body)
    if product is None:
        return None
    return _failed(response, "bot-wall", received_at, detail=product)


def _reason_of_status(response: RawResponse, status: int) -> FailureReason | RefusalReason:
    if status in _REASONS:
        return _REASONS[status]
    if status in (301, 302, 303, 307, 308):
        has_location = header_value(response.headers, "location") is not None
        return "redirect-not-followed" if has_location else "no-location"
    if 400 <= status < 500:
        return "client-error"
    return "server-error" if 500 <= status < 600 else "unexpected-status"


def _framing_fault(response: RawResponse, received_at: datetime) -> Failed | None:
    """Why the bytes are not the whole document. Its validators would confirm the cut for ever."""
    codings = _codings(response)
    reason: FailureReason | None
    if response.capped:
        reason = "too-large"
    elif response.truncated:
        reason = "truncated"
    elif len(codings) > _MAX_CODINGS or not _KNOWN_CODINGS.issuperset(codings):
        reason = "unsupported-encoding"
    else:
        reason = _length_fault(response, coded=bool(set(codings) - {"identity"}))
    return None if reason is None else _failed(response, reason, received_at)


def _codings(response: RawResponse) -> list[str]:
    listed = header_list(response.headers, "content-encoding").lower().split(",")
    return [coding.strip() for coding in listed if coding.strip()]


def _length_fault(response: RawResponse, *, coded: bool) -> FailureReason | None:
    announced = {
        length.strip()
        for value in header_values(response.headers, "content-length")
        for length in value.split(",")
    }
    # RFC 9112 6.3: Transfer-Encoding overrides Content-Length.
    if not announced or header_value(response.headers, "transfer-encoding") is not None:
        return None
    length = announced.pop()
    if announced or not (length.isascii() and length.isdigit() and len(length) < 20):
        return "protocol-error"
    received = response.wire_length
    if received is None and not coded:
        received = len(response.body)
    if received is None or received == int(length):
        return None
    return "truncated" if received < int(length) else "protocol-error"


def _refused_type(response: RawResponse, plan: FetchPlan, received_at: datetime) -> Failed | None:
    """A type that is not on the list, where there is one; the type is named."""
    allowed = plan.limits.content_types
    if not allowed:
        return None
    said = header_value(response.headers, "content-type") or ""
    essence = said.partition(";")[0].strip().lower()
    if essence in {one.strip().lower() for one in allowed}:
        return None
    detail = f"{essence or 'no type'} is not among [fetch] content_types: {', '.join(allowed)}"
    return _failed(response, "content-type", received_at, detail=detail[:300])


def _content_fault(response: RawResponse, received_at: datetime) -> Failed | None:
    # A 200 with an empty body is how some servers say "restarting". Read as "every entry
    # withdrawn" it would empty the feed.
    if not response.body.removeprefix(b"\xef\xbb\xbf").strip():
        return _failed(response, "empty-body", received_at)
    content_type = header_value(response.headers, "content-type")
    if is_html_type(content_type) and begins_as_page(response.body):
        return _failed(response, "not-a-feed", received_at)
    return None


def _sent(response: RawResponse, plan: FetchPlan) -> Headers:
    return response.request_headers or plan.headers


def _is_conditional(sent: Headers) -> bool:
    return not _CONDITIONS.isdisjoint([name.lower() for name, _ in sent])


def _failed(
    response: RawResponse,
    reason: FailureReason | RefusalReason,
    received_at: datetime,
    *,
    detail: str = "",
) -> Failed:
    status = response.status
    if status is None:
        return Failed(reason=reason, detail=detail)
    return Failed(
        reason=reason,
        status=status,
        detail=detail,
        retry_after_sec=retry_after_sec(status, response.headers, received_at),
        freshness_sec=freshness_sec(response.headers, received_at),
        document=_document(response),
    )


def _document(response: RawResponse) -> RawDocument:
    return RawDocument(
        body=response.body,
        url=response.final_url,
        content_type=header_value(response.headers, "content-type"),
    )


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
