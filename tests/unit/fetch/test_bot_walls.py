"""Walls against programs are told from refusals, pages and articles."""

import pytest

from feedmill.fetch.bot_walls import detect_bot_wall
from feedmill.model.fetch import Headers


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
