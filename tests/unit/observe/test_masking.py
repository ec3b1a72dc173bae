"""Addresses are shown without what opens them."""

import pytest

from feedmill.model.addresses import mask_address
from feedmill.observe.masking import database_address, mask_all_secrets, mask_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:pw@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:p/w@x@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgresql://u@h1,h2/db", "postgresql://u@h1,h2/db"),
        ("postgres://u@h/db?password=pw&sslmode=require",
         "postgres://u@h/db?password=***&sslmode=require"),
        ("postgresql://h/db?sslpassword=pw", "postgresql://h/db?sslpassword=***"),
        ("nats://token@h:4222", "nats://***@h:4222"),
        ("redis://:pw@h/0", "redis://:***@h/0"),
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("az://c/p?access_key=pw", "az://c/p?access_key=***"),
        ("kafka://h?sasl.username=u&sasl.password=pw", "kafka://h?sasl.username=u&sasl.password=***"),
        ("kafka://h?ssl.key.pem=pw&ssl.ca.location=c", "kafka://h?ssl.key.pem=***&ssl.ca.location=c"),
        ("kafka://h?sasl%2Epassword=pw", "kafka://h?sasl%2Epassword=***"),
        ("https://hub.example/?hub.secret=pw&hub.mode=subscribe", "https://hub.example/?hub.secret=***&hub.mode=subscribe"),
        (f"POST https://mill.example/x/push/{'t' * 43} failed", "POST https://mill.example/x/push/*** failed"),
        ("https://blog.example/push/notes", "https://blog.example/push/notes"),
        ("https://example.com/@somebody", "https://example.com/@somebody"),
        ("no address at all: a@b", "no address at all: a@b"),
        ("0-511=postgresql://a:pw@h/1", "0-511=postgresql://a:***@h/1"),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_only_what_is_secret_is_hidden(text: str, shown: str) -> None:
    assert mask_secrets(text) == shown
    assert mask_secrets(shown) == shown


def test_every_text_of_a_shape_is_masked_and_everything_else_stays() -> None:
    shape = {"url": "nats://u:pw@h", "n": 5, "many": ["redis://:pw@h", None], "plain": "pw@h"}

    assert mask_all_secrets(shape) == {
        "url": "nats://u:***@h",
        "n": 5,
        "many": ["redis://:***@h", None],
        "plain": "pw@h",
    }


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:pw@h:5432/db?password=x", "postgresql://u@h:5432/db"),
        ("postgresql://u:p/w@x@h/db", "postgresql://u@h/db"),
        ("postgresql://u/pw@h/db", "postgresql://u@h/db"),
        ("password=pw host=h", "the database"),
    ],
)
def test_database_address_has_neither_password_nor_parameters(url: str, shown: str) -> None:
    assert database_address(url) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("https://a.example/f?token=abc", "https://a.example/f?token=***", id="token"),
        pytest.param(
            "https://a.example/f?x=1&api_key=abc&y=2",
            "https://a.example/f?x=1&api_key=***&y=2",
            id="key-between-others",
        ),
        pytest.param(
            "https://a.example/f?Access-Token=a%20b#c",
            "https://a.example/f?Access-Token=***#c",
            id="several-words",
        ),
        pytest.param("https://a.example/f?apikey=1", "https://a.example/f?apikey=***", id="apikey"),
        pytest.param(
            "https://a.example/f?keyword=climate&monkey=2&tokens=3",
            "https://a.example/f?keyword=climate&monkey=2&tokens=3",
            id="no-secret",
        ),
        pytest.param("https://a.example/f", "https://a.example/f", id="no-parameter"),
    ],
)
def test_address_of_a_feed_is_shown_without_its_tokens(url: str, shown: str) -> None:
    assert mask_address(url) == shown


def test_dedupe_key_keeps_the_id_after_the_masked_address_of_its_feed() -> None:
    key = "guid:https://news.example/feed?token=hush&x=1:urn:item:7"

    assert mask_address(key) == "guid:https://news.example/feed?token=***&x=1:urn:item:7"
    assert mask_address("guid:https://news.example/feed?key=hush:7").endswith("?key=***:7")
