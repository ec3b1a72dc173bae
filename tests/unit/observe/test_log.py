"""One record is one line, whatever strangers put into it.

Addresses are shown without what opens them.
"""

import json

import pytest

from feedmill.model.addresses import mask_address
from feedmill.observe import log
from feedmill.observe.log import database_address, mask_all_secrets, mask_secrets

EVIL = "a\nlevel=error event=forged\r\x1b[31m\u2028\u202e\x00\x85 \U000e0001"


def logged(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("as_json", [False, True])
def test_no_value_can_begin_a_line_or_write_to_a_terminal(
    capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    log.set_up("info", as_json=as_json)

    log.logger("engine").info("refreshed", title=EVIL)

    (line,) = logged(capsys)
    assert line.isprintable()
    assert "forged" in line


def test_lines_for_people_begin_with_time_level_and_event(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log.set_up("info")

    log.logger("engine").info("refreshed", new=3, nothing=None)

    (line,) = logged(capsys)
    assert line.startswith("timestamp=")
    assert "level=info event=refreshed component=engine new=3" in line
    assert "nothing" not in line


def test_lines_for_machines_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("debug", as_json=True)

    log.logger("engine").debug("looked", url="https://example.com/ü")

    (line,) = logged(capsys)
    record = json.loads(line)
    assert (record["event"], record["level"]) == ("looked", "debug")
    assert record["url"] == "https://example.com/ü"


def test_what_is_below_the_level_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("warning")

    log.logger("engine").info("refreshed")
    log.logger("engine").warning("trouble")

    assert len(logged(capsys)) == 1


def test_the_trace_of_a_surprise_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("error")

    try:
        raise ValueError(EVIL)  # noqa: TRY301
    except ValueError as problem:
        log.logger("engine").error("unexpected error", exc_info=problem)

    (line,) = logged(capsys)
    assert "ValueError" in line
    assert line.isprintable()


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
        ("https://h/f?auth=pw&sig=pw&author=x", "https://h/f?auth=***&sig=***&author=x"),
        ("nats://a@h and redis://:pw@h2", "nats://***@h and redis://:***@h2"),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_only_what_is_secret_is_hidden(text: str, shown: str) -> None:
    assert mask_secrets(text) == shown
    assert mask_secrets(shown) == shown


@pytest.mark.parametrize(
    "piece",
    ["://", "://a:", "://a@", "://push/", "key", "?key", "?token=", "%3Ftoken%3D", "%26", "%25"],
)
def test_long_text_is_masked_in_linear_time(piece: str) -> None:
    text = f"http://a/?{piece * (200_000 // len(piece))}"  # minutes, if each piece looked at all that follow

    assert len(mask_secrets(text)) > 3
    assert len(mask_address(text)) > 3


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
        pytest.param(
            "https://a.example/f?access%5Ftoken=abc&t%6fken=d&x=%41",
            "https://a.example/f?access%5Ftoken=***&t%6fken=***&x=%41",
            id="name-with-escapes",
        ),
        pytest.param(
            "https://a.example/f?token%3Dabc%26x%3D1",
            "https://a.example/f?token%3D***%26x%3D1",
            id="escaped-equals-sign",
        ),
        pytest.param(
            "https://proxy.example/?url=https%3A%2F%2Fa.example%2Ff%3Fx%3D1%26token%3Da%2Fb%26y%3D2&z=3",
            "https://proxy.example/?url=https%3A%2F%2Fa.example%2Ff%3Fx%3D1%26token%3D***%26y%3D2&z=3",
            id="address-in-an-address",
        ),
        pytest.param(
            "https://a.example/f?accessToken=abc&userKey=abc&rsstoken=abc",
            "https://a.example/f?accessToken=***&userKey=***&rsstoken=***",
            id="words-without-separator",
        ),
        pytest.param(
            "https://tracker.example/rss?user=7&passkey=abc&torrent_pass=abc&pass=abc&jwt=a.b.c",
            "https://tracker.example/rss?user=7&passkey=***&torrent_pass=***&pass=***&jwt=***",
            id="pass-and-jwt",
        ),
        pytest.param(
            "https://a.example/f#access_token=abc",
            "https://a.example/f#access_token=***",
            id="fragment",
        ),
        pytest.param(
            "https://a.example/f?token[]=abc&auth%5Bkey%5D=abc&user[name]=x",
            "https://a.example/f?token[]=***&auth%5Bkey%5D=***&user[name]=x",
            id="brackets",
        ),
        pytest.param(
            "https://a.example/f?token=&x=1", "https://a.example/f?token=&x=1", id="empty"
        ),
        pytest.param(
            "https://a.example/f?token=a?key=b&x=1",
            "https://a.example/f?token=***&x=1",
            id="parameter-in-a-value",
        ),
        pytest.param(
            "https://a.example/f?compass=n&author=x&turkey=1&design=2&bypass=3&x=%3Fmonkey%3D2",
            "https://a.example/f?compass=n&author=x&turkey=1&design=2&bypass=3&x=%3Fmonkey%3D2",
            id="words-that-end-alike",
        ),
    ],
)
def test_address_of_a_feed_is_shown_without_its_tokens(url: str, shown: str) -> None:
    assert mask_address(url) == shown
    assert mask_address(shown) == shown


def test_dedupe_key_keeps_the_id_after_the_masked_address_of_its_feed() -> None:
    key = "guid:https://news.example/feed?token=hush&x=1:urn:item:7"

    assert mask_address(key) == "guid:https://news.example/feed?token=***&x=1:urn:item:7"
    assert mask_address("guid:https://news.example/feed?key=hush:7").endswith("?key=***:7")
