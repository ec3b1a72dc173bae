"""What a stranger at the HTTP door tries: odd dates and numbers, other ways in, no pace, no end."""

import http.client
import socket
from contextlib import closing

import pytest
from tests.integration.interfaces.rest.conftest import OpenMill
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss
from tests.support.rest_client import RestMill

from feedmill.config import AccessConfig, ServeConfig
from feedmill.engine.service.auth import revoke_token
from feedmill_demo.server.script import document


@pytest.mark.parametrize(
    "moment",
    [
        "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2024 99999999999999999999:00:00 GMT",
    ],
)
def test_a_date_that_no_calendar_has_is_no_condition(library: RestMill, moment: str) -> None:
    (first, *_) = library.ask("/entries").json["items"]

    found = library.ask(f"/entries/{first['entry_uid']}", headers={"If-Modified-Since": moment})

    assert found.status == 200


@pytest.mark.parametrize("number", ["0" * 20 + "9" * 25, "0" * 20 + "9" * 5_000, "9" * 25])
def test_a_number_that_no_event_has_is_refused_before_the_stream_begins(
    library: RestMill, number: str
) -> None:
    found = library.ask("/events/stream", headers={"Last-Event-ID": number})

    assert (found.status, found.problem) == (400, "bad-parameter")


@pytest.mark.parametrize(
    ("query", "where", "choices"),
    [
        ("/entries?order=size", "order", "published, first_seen, relevance"),
        ("/jobs?state=odd", "state", "queued, running, done, failed, cancelled"),
        ("/media?state=odd", "state", "queued, stored, failed, pruned"),
        ("/stats?granularity=week", "granularity", "hour, day"),
        ("/stats/top?by=beauty", "by", "new"),
        ("/simulation?policy=odd", "policy", "budget, seed"),
    ],
)
def test_a_value_that_is_no_choice_is_answered_with_the_parameter_and_its_choices(
    library: RestMill, query: str, where: str, choices: str
) -> None:
    found = library.ask(query)

    (mistake,) = found.json["errors"]
    assert (found.status, mistake["where"]) == (400, where)
    assert f"use one of: {choices}" in mistake["message"]


@pytest.mark.parametrize(
    "query",
    [
        "/service-levels?day=9999-12-31",
        "/stats?until=0001-01-01",
        "/stats/top?until=0001-01-01",
        "/stats/top?since=2020-01-01&until=9999-12-31T23:00:00Z",
    ],
)
def test_a_range_that_leaves_the_calendar_is_a_bad_parameter(library: RestMill, query: str) -> None:
    found = library.ask(query)

    assert (found.status, found.problem) == (400, "bad-parameter")


@pytest.mark.parametrize("path", ["/schema", "/schema/openapi.json", "/schema/swagger"])
def test_the_framework_adds_no_pages_of_its_own(library: RestMill, path: str) -> None:
    found = library.ask(path)

    assert (found.status, found.problem) == (404, "no-such-route")


def test_a_token_of_too_little_scope_has_a_pace_too(open_mill: OpenMill) -> None:
    mill = open_mill(access=AccessConfig(requests_per_sec=0.001, burst=3))
    mill.token = mill.issue("read")

    answers = [mill.ask("/webhooks").status for _ in range(5)]

    assert answers == [403, 403, 403, 429, 429]


def test_two_authorization_fields_are_none(mill: RestMill) -> None:
    good, bad = mill.issue("read"), "fm_somebody_elses"
    for first, second in ((good, bad), (bad, good), (good, good)):
        said = mill.say(
            f"GET /feeds HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            f"Authorization: Bearer {first}\r\nAuthorization: Bearer {second}\r\n\r\n".encode()
        )

        assert said.startswith(b"HTTP/1.1 401 ")


def test_a_list_of_lines_breaks_off_when_its_token_is_revoked(open_mill: OpenMill) -> None:
    # The reader takes nothing until the token is gone, and 60 MB do not fit what lies between.
    mill = open_mill(serve=ServeConfig(heartbeat_sec=0))
    mill.token = mill.issue("read")

    async def fill(stage: Stage) -> None:
        long = "word " * 20_000
        for number in range(6):
            items = [item(number * 100 + one, text=long) for one in range(100)]
            await stage.poll(await stage.add(f"/{number}", document(rss(*items))))

    async def revoke(stage: Stage) -> None:
        for token in await stage.services.store.tokens():
            await revoke_token(token.id, stage.services.store, stage.services.clock)

    mill.tell(fill)
    connection = mill.connect()
    own = {"Authorization": f"Bearer {mill.token}", "Accept": "application/x-ndjson"}
    with closing(connection), socket.socket() as narrow:
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)  # or the kernel takes it all
        narrow.settimeout(connection.timeout)
        narrow.connect(("127.0.0.1", mill.port))
        connection.sock = narrow
        connection.request("GET", "/entries?limit=1", headers=own)
        response = connection.getresponse()
        assert response.read(1) == b"{"
        mill.tell(revoke)

        # An end would say that this was all.
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            response.read()
