"""Who may see the console, and whose forms it takes."""

import re
from urllib.parse import unquote

import pytest
from tests.integration.interfaces.console.conftest import OpenMill
from tests.support.console_client import FORM, Browser, ConsoleMill, form_token, text_of
from tests.support.engine_harness import Stage

from feedmill.config import ServeConfig
from feedmill.engine.service.auth import revoke_token


def log_in(browser: Browser, secret: str, **fields: str) -> int:
    return browser.send("/console/login", {"token": secret, **fields}).status


def test_without_tokens_everybody_on_this_machine_may_look(browser: Browser) -> None:
    answer = browser.open("/")

    assert answer.status == 200
    assert "Needs attention" in text_of(answer)
    assert "feedmill_session" not in browser.cookies


def test_pages_send_a_strict_policy_and_are_not_cached(browser: Browser) -> None:
    headers = browser.open("/").headers

    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    assert headers["content-type"] == "text/html; charset=utf-8"


def test_with_a_token_in_the_store_a_browser_has_to_log_in(mill: ConsoleMill) -> None:
    secret, browser = mill.issue("read"), mill.browser()

    first = browser.open("/console/feeds")
    assert browser.path == "/console/login?next=/console/feeds"
    assert "Log in" in text_of(first)

    assert log_in(browser, secret, next="/console/feeds") == 200
    assert browser.path == "/console/feeds"
    assert secret not in browser.cookies["feedmill_session"]


def test_login_leads_to_the_page_that_was_wanted_with_its_query(mill: ConsoleMill) -> None:
    secret, browser = mill.issue("read"), mill.browser()
    wanted = "/console/feeds?text=a%20b&order=added"

    browser.open(wanted)
    _, _, after = browser.path.partition("next=")
    log_in(browser, secret, next=unquote(after))

    assert browser.path == wanted


def test_the_session_cookie_is_kept_from_scripts_and_other_sites(mill: ConsoleMill) -> None:
    secret, browser = mill.issue("read"), mill.browser()
    token = form_token(browser.open("/console/login"))
    body = f"form_token={token}&token={secret}".encode()

    plain = browser.ask("/console/login", method="POST", body=body, headers=FORM)

    assert re.search("HttpOnly.*SameSite=strict", plain.headers["set-cookie"])


def test_behind_https_cookies_are_secure(mill: ConsoleMill) -> None:
    browser = mill.browser()

    answer = browser.ask("/console/login", headers={"X-Forwarded-Proto": "https"})

    assert "Secure" not in answer.headers.get("set-cookie", "")  # without a token nothing to log in
    mill.issue("read")
    answer = mill.browser().ask("/console/login", headers={"X-Forwarded-Proto": "https"})
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("given", ["", "fm_wrong", "fms_wrong", "nonsense\u00e9"])
def test_a_wrong_token_opens_no_session(mill: ConsoleMill, given: str) -> None:
    mill.issue("read")
    browser = mill.browser()

    assert log_in(browser, given) == 403
    assert "feedmill_session" not in browser.cookies


def test_the_secret_of_a_session_is_no_bearer_token(mill: ConsoleMill) -> None:
    browser, secret = mill.browser(), mill.issue("read")
    log_in(browser, secret)

    mill.token = browser.cookies["feedmill_session"]

    assert mill.ask("/feeds").problem == "unauthenticated"


def test_a_bearer_token_is_no_session_cookie(mill: ConsoleMill) -> None:
    browser = mill.browser()
    browser.cookies["feedmill_session"] = mill.issue("read")

    browser.open("/")

    assert browser.path.startswith("/console/login")


def test_logging_out_ends_the_session_on_the_server_too(mill: ConsoleMill) -> None:
    browser = mill.browser()
    log_in(browser, mill.issue("read"))
    kept = dict(browser.cookies)

    browser.send("/console/logout", {}, page="/")
    assert "feedmill_session" not in browser.cookies

    browser.cookies = kept
    browser.open("/")
    assert browser.path.startswith("/console/login")


def test_a_revoked_token_ends_its_sessions(mill: ConsoleMill) -> None:
    browser = mill.browser()
    log_in(browser, mill.issue("read"))

    async def revoke(stage: Stage) -> None:
        services = stage.services
        (token,) = await services.store.tokens()
        await revoke_token(token.id, services.store, services.clock)

    mill.tell(revoke)

    browser.open("/")
    assert browser.path.startswith("/console/login")


def test_a_read_token_changes_nothing(mill: ConsoleMill) -> None:
    browser = mill.browser()
    log_in(browser, mill.issue("read"))

    page = browser.open("/console/feeds")
    refused = browser.send("/console/feeds", {"url": "http://127.0.0.1/"}, page="/")

    assert b"Add or import" not in page.body
    assert refused.status == 403
    assert "needs the scope write" in text_of(refused)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_of_another_site_is_refused(browser: Browser, headers: dict[str, str]) -> None:
    token = form_token(browser.open("/console/feeds"))
    body = f"form_token={token}&url=http://127.0.0.1/".encode()

    answer = browser.ask("/console/feeds", method="POST", body=body, headers=FORM | headers)

    assert answer.status == 403


@pytest.mark.parametrize("token", ["", "0" * 64, "\u00e9"])
def test_a_form_without_its_token_is_refused(browser: Browser, token: str) -> None:
    browser.open("/console/feeds")

    answer = browser.send("/console/feeds", {"form_token": token, "url": "x"})

    assert answer.status == 403
    assert "open the page again" in text_of(answer)


def test_a_form_of_a_browser_without_cookies_is_refused(mill: ConsoleMill) -> None:
    token = form_token(mill.browser().open("/console/feeds"))

    answer = mill.browser().ask(
        "/console/feeds", method="POST", body=f"form_token={token}".encode(), headers=FORM
    )

    assert answer.status == 403


def test_after_login_no_other_site_is_opened(mill: ConsoleMill) -> None:
    browser = mill.browser()

    log_in(browser, mill.issue("read"), next="//evil.example/")

    assert browser.path == "/"


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        pytest.param("/console/login", b"a=1&" * 5_000, 413, id="a large login"),
        pytest.param("/console/logout", b"a=1&" * 5_000, 413, id="a large logout"),
        pytest.param("/console/feeds/import", b"a=1&" * 5_000, 422, id="fields that no page has"),
    ],
)
def test_form_that_takes_long_to_read_is_refused(
    browser: Browser, path: str, form: bytes, status: int
) -> None:
    answer = browser.ask(path, method="POST", body=form, headers=FORM)

    assert answer.status == status


def test_form_that_does_not_arrive_in_time_is_no_unexpected_error(open_mill: OpenMill) -> None:
    mill = open_mill(serve=ServeConfig(body_timeout_sec=0.05))
    headers = {"Content-Length": "10", **FORM}

    answer = mill.browser().ask("/console/login", method="POST", body=b"", headers=headers)

    assert answer.status == 408
    assert "did not arrive in time" in text_of(answer)


def test_json_is_no_form(browser: Browser) -> None:
    answer = browser.ask(
        "/console/feeds", method="POST", body=b"{}", headers={"Content-Type": "application/json"}
    )

    assert answer.status == 422


def test_an_unknown_page_says_so_as_a_page(browser: Browser) -> None:
    answer = browser.open("/console/nothing")

    assert answer.status == 404
    assert "There is no such page." in text_of(answer)


@pytest.mark.parametrize("name", ["console.css", "console.js", "icon.svg"])
def test_static_files_need_no_token_and_are_revalidated(mill: ConsoleMill, name: str) -> None:
    mill.issue("read")
    first = mill.ask(f"/console/static/{name}")

    again = mill.ask(f"/console/static/{name}", headers={"If-None-Match": first.headers["etag"]})

    assert (first.status, again.status) == (200, 304)
    assert mill.ask("/console/static/app.py").status == 404
