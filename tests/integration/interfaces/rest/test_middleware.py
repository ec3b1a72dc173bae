"""Strangers at the door: other names, other origins, paths that climb, and those that never finish."""

import socket
from contextlib import suppress

import pytest
from tests.integration.interfaces.rest.conftest import OpenMill
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss
from tests.support.rest_client import JSON, RestMill
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.config import ServeConfig
from feedmill_demo.server.script import document

WISH = b'{"url": "https://a.example/feed", "as_is": true}'


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "10.0.0.1", "", "a b"]
)
def test_a_request_for_another_host_is_refused(library: RestMill, host: str) -> None:
    """DNS rebinding: the page's own name points here, and its browser says that name."""
    answer = library.ask("/entries", headers={"Host": host.format(port=library.port)})

    assert answer.status in (400, 421)
    assert answer.problem in ("bad-request", "bad-host")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8642", "127.1.2.3"]
)
def test_this_machine_has_several_names(library: RestMill, host: str) -> None:
    assert library.ask("/feeds", headers={"Host": host}).status == 200


def test_names_of_a_proxy_can_be_given(open_mill: OpenMill) -> None:
    mill = open_mill(serve=ServeConfig(hosts=("mill.example",)))

    assert mill.ask("/feeds", headers={"Host": "mill.example"}).status == 200
    assert mill.ask("/feeds", headers={"Host": "evil.example"}).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_page_of_another_origin_changes_nothing(empty: RestMill, headers: dict[str, str]) -> None:
    answer = empty.ask("/feeds", method="POST", body=WISH, headers={**JSON, **headers})

    assert (answer.status, answer.problem) == (403, "cross-origin")
    assert empty.ask("/feeds").json["items"] == []


def test_a_page_of_our_own_may(mill: RestMill) -> None:
    own = {"Origin": f"http://127.0.0.1:{mill.port}", "Sec-Fetch-Site": "same-origin"}
    assert mill.ask("/feeds", method="POST", body=WISH, headers={**JSON, **own}).status == 201


def test_no_page_is_told_that_it_may_read(library: RestMill) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}

    answers = [
        library.ask("/entries", headers=asked),
        library.ask("/feeds", method="OPTIONS", headers=asked),
    ]

    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "path",
    [
        "/raw/..%2f..%2ffeedmill.db",
        "/raw/../../feedmill.db",
        "/raw/%2e%2e/%2e%2e/etc/passwd",
        "/raw/..%5c..%5cfeedmill.db",
        "/raw/%00",
        "/raw//etc/passwd",
        "/entries/..%2f..%2ffeedmill.db/raw",
        "/docs/../../../etc/passwd",
        "/problems/..%2f..%2fsettings",
        "/feeds/%0d%0aX-Evil:%201",
    ],
)
def test_a_path_that_climbs_leads_nowhere(library: RestMill, path: str) -> None:
    answer = library.ask(path)

    assert answer.status == 404
    assert answer.problem in ("not-found", "no-such-route")
    assert "x-evil" not in answer.headers


def test_every_answer_keeps_browsers_in_check(library: RestMill) -> None:
    for path in ("/feeds", "/nowhere", "/docs", "/events", "/healthz"):
        headers = library.ask(path).headers

        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_a_hostile_entry_cannot_split_a_line_or_an_event(mill: RestMill) -> None:
    title = "a\u2028b\u2029c\u0085d</script>\r\nid: 99\r\nevent: forged"
    body = rss(item(1, title=title.replace("\r\n", "&#13;&#10;")))

    async def polled(stage: Stage) -> None:
        await stage.poll(await stage.add("/feed", document(body)))

    mill.tell(polled)

    lines = mill.ask("/entries", headers={"Accept": "application/x-ndjson"}).body
    assert len(lines.decode().splitlines()) == 1
    events = mill.ask("/events", headers={"Accept": "application/x-ndjson"}).body
    assert len(events.decode().splitlines()) == 2


def test_what_is_no_http_is_a_problem_too(library: RestMill) -> None:
    said = library.say(b"GET /feeds\x00 HTTP/1.1\r\n\r\n")

    assert said.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in said
    assert b"/problems/bad-request" in said


def test_a_head_of_endless_headers_is_refused(library: RestMill) -> None:
    said = library.say(b"GET /feeds HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000)

    assert said.startswith(b"HTTP/1.1 400 ")


def test_a_request_whose_head_never_ends_is_cut_off(open_mill: OpenMill) -> None:
    # The whole head has to be read within the limit on a busy machine too.
    mill = open_mill(serve=ServeConfig(header_timeout_sec=1.0, keep_alive_sec=1))

    assert _reads_until_the_end(mill, b"GET /feeds HTTP/1.1\r\nHost: loc") == b""
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert _reads_until_the_end(mill, whole + b"GET /fe").endswith(b"ok\n")


def test_a_body_that_never_ends_is_a_problem(open_mill: OpenMill) -> None:
    mill = open_mill(serve=ServeConfig(body_timeout_sec=0.2))
    head = (
        b"POST /feeds HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{"
    )

    said = mill.say(head)

    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"/problems/too-slow" in said
    assert b"connection: close\r\n" in said.lower()


def test_a_client_that_leaves_in_the_middle_of_its_body_harms_nobody(mill: RestMill) -> None:
    head = (
        b"POST /feeds HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{"
    )
    for _ in range(3):
        mill.say(head, until_closed=False)

    assert mill.ask("/feeds").json["items"] == []


def test_more_requests_than_connections_are_allowed_are_sent_away(open_mill: OpenMill) -> None:
    mill = open_mill(serve=ServeConfig(max_connections=2))
    busy = [socket.create_connection(("127.0.0.1", mill.port)) for _ in range(2)]
    for wire in busy:  # heard of for certain
        wire.sendall(b"GET /events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.recv(100).startswith(b"HTTP/1.1 200")

    crowded = mill.ask("/healthz")
    for wire in busy:
        wire.close()

    assert (crowded.status, crowded.problem) == (503, "too-many-connections")


@pytest.mark.parametrize(
    "said", [b"", b"GET /", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ids=["nothing", "half a head", "one request"],
)  # fmt: skip
def test_connections_that_say_nothing_leave_room_for_others(
    open_mill: OpenMill, said: bytes
) -> None:
    mill = open_mill(serve=ServeConfig(max_connections=5, header_timeout_sec=600.0))
    silent = [
        socket.create_connection(("127.0.0.1", mill.port), source_address=("127.0.0.2", 0))
        for _ in range(20)
    ]
    for wire in silent:
        with suppress(ConnectionError):  # the first ones are closed already
            wire.sendall(said)

    answers = [mill.ask("/healthz").status for _ in range(3)]
    for wire in silent:
        wire.close()

    assert answers == [200, 200, 200]


def _reads_until_the_end(mill: RestMill, raw: bytes) -> bytes:
    """What comes back before the other side ends the connection, kindly or not."""
    with socket.create_connection(("127.0.0.1", mill.port), timeout=HANG_GUARD_SEC) as wire:
        wire.sendall(raw)
        said = b""
        try:
            while piece := wire.recv(65_536):
                said += piece
        except ConnectionResetError:
            pass
        return said
