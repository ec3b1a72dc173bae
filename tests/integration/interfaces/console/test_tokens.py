"""API tokens: create, rotate, revoke."""

import re

import pytest
from tests.support.console_client import Browser, ConsoleMill, text_of


def create(browser: Browser, **fields: str) -> str:
    """Create a token; its secret."""
    answer = browser.send("/console/tokens", fields, page="/console/tokens")
    found = re.search(r"fm_[\w-]+", text_of(answer))
    assert found is not None, text_of(answer)
    return found[0]


def test_the_first_token_closes_the_console(mill: ConsoleMill, browser: Browser) -> None:
    secret = create(browser, name="robot", scope="write")

    browser.open("/console/tokens")
    assert browser.path.startswith("/console/login")
    browser.send("/console/login", {"token": mill.issue("admin"), "next": "/console/tokens"})

    words = text_of(browser.open("/console/tokens"))
    assert "2 tokens" in words
    assert secret not in words


def test_no_program_on_loopback_makes_itself_a_token_that_confirms(
    mill: ConsoleMill, browser: Browser
) -> None:
    fields = {"name": "me", "scope": "admin"}

    refused = browser.send("/console/tokens", fields, page="/console/tokens")

    assert refused.status == 403
    assert "feedmill token create NAME --scope admin" in text_of(refused)
    assert "<option>admin" not in browser.open("/console/tokens").body.decode()
    browser.send("/console/login", {"token": mill.issue("admin"), "next": "/"})
    assert create(browser, **fields).startswith("fm_")


def test_a_token_is_rotated_and_revoked_after_a_question(
    mill: ConsoleMill, browser: Browser
) -> None:
    browser.send("/console/login", {"token": mill.issue("admin"), "next": "/"})
    secret = create(browser, name="robot", scope="read", days="7")
    page = browser.open("/console/tokens").body.decode()
    change = re.findall(r'action="(/console/tokens/[^"]+/change)"', page)[-1]

    rotated = browser.send(change, {"action": "rotate"}, page="/console/tokens")
    asked = browser.send(change, {"action": "revoke"}, page="/console/tokens")
    mill.token = secret
    assert mill.ask("/feeds").status == 200  # still valid: nothing was revoked yet
    done = browser.send(change, {"action": "revoke", "confirmed": "1"}, page="/console/tokens")

    assert "was replaced" in text_of(rotated)
    assert "Revoke robot?" in text_of(asked)
    assert "Revoked robot." in text_of(done)
    assert mill.ask("/feeds").status == 401


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "x", "scope": "god"},
        {"name": "x", "scope": "read", "days": "-1"},
        {"name": "", "scope": "read"},
    ],
)
def test_a_token_that_has_no_meaning_is_refused(browser: Browser, fields: dict[str, str]) -> None:
    assert browser.send("/console/tokens", fields, page="/console/tokens").status == 422


def test_pages_of_administrators_are_not_for_readers(mill: ConsoleMill, browser: Browser) -> None:
    browser.send("/console/login", {"token": mill.issue("write"), "next": "/"})

    assert browser.open("/console/tokens").status == 403
    assert browser.open("/console/webhooks").status == 403
    assert b"/console/tokens" not in browser.open("/").body
