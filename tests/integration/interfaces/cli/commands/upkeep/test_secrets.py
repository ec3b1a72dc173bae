"""`feedmill secrets`: a key is made, secrets are encrypted, rotated and decrypted; doctor says what is plain."""

import pytest
from tests.support.command_line import Mill

WEBHOOK = ("webhook", "add", "https://a.example/hook")


def secrets_check(mill: Mill) -> str:
    checks = mill("doctor", "--json").json["items"]
    return next(str(one["detail"]) for one in checks if one["name"] == "secrets")


def test_status_says_that_nothing_is_stored(mill: Mill) -> None:
    assert mill.ok("secrets", "status").text == "no secrets are stored\n"
    assert mill.json("secrets", "status") == {"secrets": {}}


def test_key_is_needed_once_it_was_given_and_can_be_changed(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = mill.ok("secrets", "key").text.strip(), mill.json("secrets", "key")["key"]
    mill.ok(*WEBHOOK)
    assert "1 webhook secrets" in secrets_check(mill)
    assert mill("secrets", "encrypt").status == 1

    monkeypatch.setenv("FEEDMILL_SECRET_KEY", old)
    mill.ok("secrets", "encrypt")
    assert "1 stored, all encrypted" in secrets_check(mill)
    (name,) = mill.json("secrets", "status")["secrets"]

    monkeypatch.setenv("FEEDMILL_SECRET_KEY", new)
    refused = mill("webhook", "list")
    assert refused.status == 1
    assert f"encrypted with key {name}" in refused.err
    assert "FEEDMILL_SECRET_KEY_FILE" in refused.err
    assert f"encrypted with key {name}" in secrets_check(mill)
    monkeypatch.delenv("FEEDMILL_SECRET_KEY")
    assert "no key is given" in mill("list").err

    monkeypatch.setenv("FEEDMILL_SECRET_KEY", f"{new}\n{old}")
    mill.ok("secrets", "encrypt")
    monkeypatch.setenv("FEEDMILL_SECRET_KEY", new)
    assert [*mill.json("secrets", "status")["secrets"]] != [name]
    mill.ok("secrets", "decrypt")
    monkeypatch.delenv("FEEDMILL_SECRET_KEY")
    assert mill.json("secrets", "status")["secrets"] == {"plain": 1}
