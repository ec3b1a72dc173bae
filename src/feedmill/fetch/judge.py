"""Judges a response: fresh, unchanged, gone or failed (RFC 9110 15, H09 to H25 of the standards notes).

Whether a document is a feed is for the parser to say. Here an answer is a failure only when its
status, its framing or its very first bytes say so.
"""

from datetime import datetime

from feedmill.fetch.bot_walls import begins_as_page, detect_bot_wall, is_html_type
from feedmill.fetch.caching import freshness_sec, learn_validators, renew_validators
from feedmill.fetch.headers import header_list, header_value, header_values, link_headers
from feedmill.fetch.redirects import permanent_target
from feedmill.fetch.retry_after import retry_after_sec
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
