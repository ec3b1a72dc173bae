"""What an answer means.

Walls against programs are told from refusals, pages and articles.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from feedmill.config import FetchConfig
from feedmill.fetch.judge import detect_bot_wall, judge
from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import (
    Failed,
    Fresh,
    Gone,
    Headers,
    Hop,
    RawDocument,
    RawResponse,
    Unchanged,
    Validators,
    Verdict,
)
from feedmill.model.parsed import Link

_NOW = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)
_URL = "https://example.com/feed"
_STORED = Validators(etag='"a"', last_modified="then", url=_URL)
_FEED = b"<?xml version='1.0'?><rss version='2.0'/>"
_PAGE = b"<!DOCTYPE html><title>Welcome</title>"
_HTML = ("Content-Type", "text/html; charset=utf-8")


def _judge(
    status: int | None = 200,
    headers: Headers = (),
    body: bytes = _FEED,
    stored: Validators | None = None,
    **more: Any,
) -> Verdict:
    plan = plan_fetch(_URL, stored, FetchConfig())
    response = RawResponse(
        url=_URL, final_url=_URL, status=status, headers=headers, body=body, **more
    )
    return judge(response, plan, _NOW)


def _reason(verdict: Verdict) -> str:
    assert isinstance(verdict, Failed)
    return verdict.reason


def test_a_whole_document_is_fresh_with_all_that_came_along() -> None:
    verdict = _judge(
        headers=(
            ("Content-Type", "application/rss+xml"),
            ("ETag", '"b"'),
            ("Vary", "Accept-Encoding"),
            ("Cache-Control", "max-age=600"),
            ("Link", '<https://hub.example/>; rel="hub"'),
            ("Content-Length", str(len(_FEED))),
        ),
        hops=(Hop(url="https://old.example/", status=301, location=_URL),),
    )

    assert verdict == Fresh(
        status=200,
        document=RawDocument(body=_FEED, url=_URL, content_type="application/rss+xml"),
        validators=Validators(
            etag='"b"', url=_URL, vary=(("accept-encoding", "gzip, deflate, br, zstd"),)
        ),
        freshness_sec=600,
        moved_to=_URL,
        links=(Link(href="https://hub.example/", rel="hub"),),
    )


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param((), _FEED, id="no type at all"),
        pytest.param((_HTML,), _FEED, id="a feed served as a page"),
        pytest.param((("Content-Type", "application/xml"),), _PAGE, id="a page served as XML"),
        pytest.param((), b'{"version":"https://jsonfeed.org/version/1.1"}', id="JSON"),
    ],
)
def test_whether_it_is_a_feed_is_left_to_the_parser(headers: Headers, body: bytes) -> None:
    assert isinstance(_judge(headers=headers, body=body), Fresh)


def test_a_transformed_answer_is_a_document_too() -> None:
    verdict = _judge(203)

    assert isinstance(verdict, Fresh)
    assert verdict.status == 203


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        pytest.param(b"", (), "empty-body", id="nothing"),
        pytest.param(b"\xef\xbb\xbf \r\n", (), "empty-body", id="only a mark and white space"),
        pytest.param(_PAGE, (_HTML,), "not-a-feed", id="a page that says so"),
        pytest.param(
            b"<html><title>Just a moment...</title>", (_HTML,), "bot-wall", id="a challenge"
        ),
    ],
)
def test_a_200_without_a_document_is_a_failure(body: bytes, headers: Headers, reason: str) -> None:
    verdict = _judge(body=body, headers=headers)

    assert _reason(verdict) == reason


class TestFraming:
    @pytest.mark.parametrize(
        ("more", "reason"),
        [
            pytest.param({"capped": True}, "too-large", id="over our limit"),
            pytest.param({"truncated": True}, "truncated", id="the connection ended early"),
        ],
    )
    def test_a_cut_document_is_kept_but_its_validators_are_not(
        self, more: dict[str, Any], reason: str
    ) -> None:
        verdict = _judge(headers=(("ETag", '"b"'),), **more)

        assert isinstance(verdict, Failed)
        assert verdict.reason == reason
        assert verdict.document == RawDocument(body=_FEED, url=_URL)

    @pytest.mark.parametrize(
        ("headers", "wire_length", "reason"),
        [
            pytest.param((("Content-Length", "1000"),), None, "truncated", id="shorter"),
            pytest.param((("Content-Length", "1000"),), 999, "truncated", id="one short"),
            pytest.param((("Content-Length", "9"),), None, "protocol-error", id="longer"),
            pytest.param((("Content-Length", "10, 11"),), 10, "protocol-error", id="two lengths"),
            pytest.param((("Content-Length", "ten"),), 10, "protocol-error", id="no number"),
            pytest.param((("Content-Length", "9" * 5000),), 10, "protocol-error", id="overflow"),
        ],
    )
    def test_the_announced_length_has_to_arrive(
        self, headers: Headers, wire_length: int | None, reason: str
    ) -> None:
        assert _reason(_judge(headers=headers, wire_length=wire_length)) == reason

    @pytest.mark.parametrize(
        ("headers", "wire_length"),
        [
            pytest.param((("Content-Length", "10"), ("Content-Length", "10")), 10, id="said twice"),
            pytest.param(
                (("Content-Length", "10"), ("Transfer-Encoding", "chunked")), 99, id="overridden"
            ),
            pytest.param(
                (("Content-Length", "10"), ("Content-Encoding", "gzip")), None, id="not counted"
            ),
            pytest.param((("Content-Encoding", "x-gzip"),), 10, id="no length"),
            pytest.param((("Content-Encoding", "identity, "),), None, id="identity"),
            pytest.param((("Content-Encoding", "gzip, BR"),), 10, id="two codings"),
        ],
    )
    def test_a_length_that_is_kept_or_unknown_is_no_fault(
        self, headers: Headers, wire_length: int | None
    ) -> None:
        assert isinstance(_judge(headers=headers, wire_length=wire_length), Fresh)

    @pytest.mark.parametrize(
        "coding",
        [
            pytest.param("compress", id="one that we did not offer"),
            pytest.param("gzip, gzip, gzip", id="wrapped too often"),
        ],
    )
    def test_a_coding_that_we_do_not_bound_is_not_read(self, coding: str) -> None:
        verdict = _judge(headers=(("Content-Encoding", coding),))

        assert _reason(verdict) == "unsupported-encoding"


class TestNotModified:
    def test_a_304_keeps_and_renews_what_we_have(self) -> None:
        headers = (
            ("Last-Modified", "now"),
            ("Cache-Control", "max-age=60"),
            ("Link", "<h>; rel=hub"),
        )

        verdict = _judge(304, headers, b"", stored=_STORED)

        assert verdict == Unchanged(
            validators=Validators(etag='"a"', last_modified="now", url=_URL),
            freshness_sec=60,
            links=(Link(href="https://example.com/h", rel="hub"),),
        )

    def test_a_304_for_another_document_is_a_success_that_asks_anew(self) -> None:
        verdict = _judge(304, (("ETag", '"b"'),), b"", stored=_STORED)

        assert verdict == Unchanged(validators=None)

    def test_a_304_that_nobody_asked_for_is_no_success(self) -> None:
        assert _reason(_judge(304, (), b"")) == "unasked-304"

    def test_a_304_to_a_hop_that_got_no_validators_is_no_success(self) -> None:
        verdict = _judge(304, (), b"", stored=_STORED, request_headers=(("Accept", "*/*"),))

        assert _reason(verdict) == "unasked-304"

    def test_a_304_to_a_hop_that_got_them_is(self) -> None:
        sent = (("if-modified-since", "then"),)

        verdict = _judge(304, (), b"", stored=_STORED, request_headers=sent)

        assert isinstance(verdict, Unchanged)


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        pytest.param(100, (), "unexpected-status", id="informational"),
        pytest.param(201, (), "unexpected-status", id="created"),
        pytest.param(204, (), "no-content", id="no content"),
        pytest.param(205, (), "no-content", id="reset"),
        pytest.param(206, (), "partial-content", id="a part"),
        pytest.param(226, (), "delta-content", id="a delta"),
        pytest.param(300, (), "unexpected-status", id="choices"),
        pytest.param(302, (), "no-location", id="redirect to nowhere"),
        pytest.param(308, (("Location", "/x"),), "redirect-not-followed", id="redirect"),
        pytest.param(400, (), "client-error", id="bad request"),
        pytest.param(401, (), "auth-required", id="credentials wanted"),
        pytest.param(403, (), "forbidden", id="forbidden"),
        pytest.param(403, (("cf-mitigated", "challenge"),), "bot-wall", id="challenge"),
        pytest.param(404, (), "not-found", id="not found"),
        pytest.param(418, (), "client-error", id="teapot"),
        pytest.param(429, (), "rate-limited", id="too many requests"),
        pytest.param(451, (), "legally-unavailable", id="by law"),
        pytest.param(500, (), "server-error", id="server error"),
        pytest.param(503, (), "unavailable", id="unavailable"),
        pytest.param(522, (), "server-error", id="behind a proxy"),
        pytest.param(999, (), "unexpected-status", id="no class of status"),
    ],
)
def test_every_other_status_is_a_failure_with_its_reason(
    status: int, headers: Headers, reason: str
) -> None:
    verdict = _judge(status, headers, _FEED, stored=_STORED)

    assert isinstance(verdict, Failed)
    assert verdict.reason == reason
    assert verdict.status == status


def test_a_failure_carries_the_wait_and_the_freshness_that_were_asked_for() -> None:
    headers = (("Retry-After", "120"), ("Cache-Control", "max-age=60"))

    verdict = _judge(503, headers, b"down")

    assert verdict == Failed(
        reason="unavailable",
        status=503,
        retry_after_sec=120,
        freshness_sec=60,
        document=RawDocument(body=b"down", url=_URL),
    )


def test_a_wall_is_named() -> None:
    verdict = _judge(503, (("CF-Mitigated", "challenge"),), b"")

    assert isinstance(verdict, Failed)
    assert verdict.detail == "cloudflare"


def test_gone_is_gone() -> None:
    verdict = _judge(410, (_HTML,), _PAGE, stored=_STORED)

    assert verdict == Gone(document=RawDocument(body=_PAGE, url=_URL, content_type=_HTML[1]))


def test_without_an_answer_the_reason_is_that_of_the_transport() -> None:
    assert _judge(None, error="timeout-connect") == Failed(reason="timeout-connect")
    assert _judge(None) == Failed(reason="connection-failed")


def test_an_error_within_an_answer_outweighs_its_status() -> None:
    verdict = _judge(200, error="decode-failed")

    assert isinstance(verdict, Failed)
    assert (verdict.reason, verdict.status) == ("decode-failed", 200)


def test_what_went_wrong_on_the_wire_is_kept_in_words() -> None:
    words = "the certificate is for another name"
    response = RawResponse(url=_URL, final_url=_URL, error="tls-failure", detail=words)

    verdict = judge(response, plan_fetch(_URL, None, FetchConfig()), _NOW)

    assert isinstance(verdict, Failed)
    assert verdict.detail == words


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        pytest.param("application/rss+xml; charset=utf-8", None, id="on the list"),
        pytest.param("text/html", "content-type", id="not on the list"),
        pytest.param(None, "content-type", id="no type at all"),
    ],
)
def test_a_type_that_is_not_on_the_list_is_refused_and_named(
    said: str | None, reason: str | None
) -> None:
    config = FetchConfig(content_types=("application/rss+xml",))
    headers = (("Content-Type", said),) if said else ()
    response = RawResponse(url=_URL, final_url=_URL, status=200, headers=headers, body=_FEED)

    verdict = judge(response, plan_fetch(_URL, None, config), _NOW)

    assert (verdict.reason if isinstance(verdict, Failed) else None) == reason


def _page(title: str, body: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head><title>{title}</title></head>{body}</html>".encode()


@pytest.mark.parametrize(
    ("status", "headers", "body", "product"),
    [
        pytest.param(403, (("CF-Mitigated", "challenge"),), b"", "cloudflare", id="field"),
        pytest.param(200, (("cf-mitigated", "Challenge"),), b"", "cloudflare", id="field on 200"),
        pytest.param(202, (("x-amzn-waf-action", "challenge"),), b"", "aws-waf", id="AWS"),
        pytest.param(202, (("sg-captcha", "challenge"),), b"", "siteground", id="SiteGround"),
        pytest.param(403, (("X-DataDome", "protected"),), b"", "datadome", id="DataDome"),
        pytest.param(403, (("Server", "ddos-guard"),), b"", "ddos-guard", id="DDoS-Guard"),
        pytest.param(503, (), _page("Just a moment..."), "cloudflare", id="title"),
        pytest.param(403, (), _page("Attention Required! | Cloudflare"), "cloudflare", id="block"),
        pytest.param(200, (), _page("Making sure you're not a bot!"), "anubis", id="Anubis"),
        pytest.param(
            403, (), _page("x", "<script src=/_Incapsula_Resource?x>"), "imperva", id="Imperva"
        ),
        pytest.param(403, (), _page("x", "<div id=px-captcha>"), "perimeterx", id="PerimeterX"),
        pytest.param(
            403, (), _page("Access Denied", "https://errors.edgesuite.net/1"), "akamai", id="Akamai"
        ),
        pytest.param(
            403, (), b"<html><div class=g-recaptcha>", "unknown", id="a captcha without a name"
        ),
    ],
)
def test_a_wall_is_known_by_its_marks(
    status: int, headers: Headers, body: bytes, product: str
) -> None:
    assert detect_bot_wall(status, headers, body) == product


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        pytest.param(403, (), _page("403 Forbidden"), id="a plain refusal"),
        pytest.param(403, (), b"", id="an empty refusal"),
        pytest.param(200, (("server", "ddos-guard"),), b"<rss/>", id="a feed behind a guard"),
        pytest.param(200, (("x-datadome", "protected"),), b"<rss/>", id="let through"),
        pytest.param(403, (("server", "nginx"),), b"", id="another server"),
        pytest.param(200, (), _page("Contact", "<div class=g-recaptcha>"), id="a form"),
        pytest.param(
            403, (), b"<rss><title>Just a moment...</title>g-recaptcha</rss>", id="an article"
        ),
    ],
)
def test_what_only_resembles_a_wall_is_none(status: int, headers: Headers, body: bytes) -> None:
    assert detect_bot_wall(status, headers, body) is None
