"""Every refusal is a problem document with a stable type, and nothing was done."""

from pathlib import Path

import pytest
from tests.integration.interfaces.rest.conftest import OpenMill, fill
from tests.support.engine_harness import Stage
from tests.support.rest_client import JSON, RestMill

from feedmill.config import ServeConfig
from feedmill.errors import StoreError
from feedmill.interfaces.rest.problems import PROBLEM_KINDS

OPML = {"Content-Type": "text/x-opml"}
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "problems.md"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nowhere", 404, "no-such-route"),
        ("/feeds/nobody", 404, "not-found"),
        ("/feeds/nobody/entries", 404, "not-found"),
        ("/feeds/nobody/schedule", 404, "not-found"),
        ("/feeds/nobody/health", 404, "not-found"),
        ("/entries/nobody", 404, "not-found"),
        ("/entries/nobody/revisions", 404, "not-found"),
        ("/entries/nobody/raw", 404, "not-found"),
        ("/raw/nobody", 404, "not-found"),
        ("/raw/nobody/headers", 404, "not-found"),
        ("/webhooks/nobody", 404, "not-found"),
        ("/webhooks/nobody/dead", 404, "not-found"),
        ("/problems/nobody", 404, "not-found"),
        ("/feeds?limit=many", 400, "bad-parameter"),
        ("/entries?since=yesterdayish", 400, "bad-parameter"),
        ("/entries?until=", 400, "bad-parameter"),
        ("/entries?tag=", 400, "bad-parameter"),
        ("/entries?category=%20", 400, "bad-parameter"),
        ("/entries?author=", 400, "bad-parameter"),
        ("/entries?language=", 400, "bad-parameter"),
        ("/entries?text=&q=title", 400, "bad-parameter"),
        ("/feeds?tag=", 400, "bad-parameter"),
        ("/export.opml?tag=", 400, "bad-parameter"),
        ("/collections/feed.atom?q=", 400, "bad-parameter"),
        ("/collections/feed.json?since=2025-10-14&until=2025-10-13", 400, "bad-parameter"),
        ("/events?after=-1", 400, "bad-parameter"),
        ("/events?after=9223372036854775808", 400, "bad-parameter"),
        ("/events?types=new_entry,gossip", 400, "bad-parameter"),
        ("/events?types=,", 400, "bad-parameter"),
        ("/events?wait=long", 400, "bad-parameter"),
        ("/feeds?cursor=made-up", 400, "bad-cursor"),
        ("/entries?cursor=%FF", 400, "bad-cursor"),
        ("/articles?cursor=1.2", 400, "bad-cursor"),
        ("/entries?" + "&".join(["feed=x"] * 501), 400, "bad-parameter"),
    ],
)
def test_a_question_without_meaning_is_a_problem(
    library: RestMill, path: str, status: int, code: str
) -> None:
    answer = library.ask(path)

    assert (answer.status, answer.problem) == (status, code)
    assert answer.json["title"] == PROBLEM_KINDS[code].title


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/entries?limt=5", [("limt", "unknown parameter; did you mean limit?")]),
        ("/feeds?limit=5&_=1", [("_", "unknown parameter; this route has: cursor, limit, tag")]),
        (
            "/entries/nobody?fulltext=true",
            [("fulltext", "unknown parameter; did you mean full_text?")],
        ),
        ("/healthz?a=1&b", [("a", "unknown parameter; this route has none")]),
    ],
)
def test_an_unknown_parameter_is_refused_with_the_nearest_known_one(
    library: RestMill, path: str, said: list[tuple[str, str]]
) -> None:
    answer = library.ask(path)

    assert (answer.status, answer.problem) == (400, "bad-parameter")
    assert [(one["where"], one["message"]) for one in answer.json["errors"]][:1] == said


def test_many_unknown_parameters_are_not_each_compared_with_the_known_ones(
    library: RestMill,
) -> None:
    answer = library.ask("/entries?" + "&".join(f"limi{n}" for n in range(3_000)))

    assert (answer.status, answer.problem) == (400, "bad-parameter")
    assert [one["where"] for one in answer.json["errors"]] == [f"limi{n}" for n in range(20)]


def test_a_cursor_of_another_list_is_refused(mill: RestMill) -> None:
    for n in range(2):
        mill.send("/feeds", {"url": f"https://paper.example/{n}", "as_is": True})
    cursor = mill.ask("/feeds?limit=1").json["next"]

    assert mill.ask(f"/entries?cursor={cursor}").problem == "bad-cursor"
    assert mill.ask(f"/feeds?cursor={cursor[:-2]}").problem == "bad-cursor"
    assert mill.ask(f"/feeds?cursor={cursor}").status == 200


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("order=relevance", "relevance is the order of a search: give one"),
        ("q=title&direction=asc", "for the oldest first, order it by published or first_seen"),
        ("since=2025-10-14T09:00:00+02:00", "a + in an address is written %2B"),
    ],
)
def test_a_problem_says_what_to_do(library: RestMill, query: str, words: str) -> None:
    answer = library.ask(f"/entries?{query}")

    assert (answer.status, answer.problem) == (400, "bad-parameter")
    assert words in answer.json["detail"]


@pytest.mark.parametrize(
    ("of", "used_with"),
    [
        ("order=published", "order=first_seen"),
        ("order=first_seen", "order=published"),
        ("q=title", "order=published"),
        ("q=title", "q=title&order=published"),
        ("q=title&order=published", "q=title"),
        ("q=title", "q=titles"),
    ],
)
def test_a_cursor_of_entries_in_another_order_is_refused_as_it_was_given(
    library: RestMill, of: str, used_with: str
) -> None:
    cursor = library.ask(f"/entries?limit=1&{of}").json["next"]

    answer = library.ask(f"/entries?cursor={cursor}&{used_with}")

    assert (answer.status, answer.problem) == (400, "bad-cursor")
    assert cursor in answer.json["detail"]
    assert library.ask(f"/entries?cursor={cursor}&{of}").status == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "bad-request"),
        (b"\xff", 400, "bad-request"),
        (b"{}", 422, "invalid-body"),
        (b"[]", 422, "invalid-body"),
        (b'{"url": 7}', 422, "invalid-body"),
        (b'{"url": ""}', 422, "invalid-body"),
        (b'{"url": "https://a.example/", "titel": "typo"}', 422, "invalid-body"),
        (b'{"url": "https://a.example/", "title": "two\\nlines"}', 422, "invalid-body"),
        (b'{"url": "https://a.example/", "tags": ["a\\n"]}', 422, "invalid-body"),
        (b'{"url": "https://a.example/", "headers": [["X", "a\\r\\nY: b"]]}', 422, "invalid-body"),
        (
            b'{"url": "https://a.example/", "min_interval_sec": 9, "max_interval_sec": 8}',
            422,
            "invalid-body",
        ),
        (b'{"url": "not a web address"}', 422, "bad-address"),
        (b'{"url": "file:///etc/passwd"}', 422, "bad-address"),
        (b'{"url": "http://169.254.169.254/"}', 422, "bad-address"),
        (b'{"url": "http://10.0.0.1/", "as_is": true}', 422, "bad-address"),
    ],
)
def test_a_body_without_meaning_is_a_problem_and_adds_nothing(
    empty: RestMill, body: bytes, status: int, code: str
) -> None:
    answer = empty.ask("/feeds", method="POST", body=body, headers=JSON)

    assert (answer.status, answer.problem) == (status, code)
    assert empty.ask("/feeds").json["items"] == []


def test_what_is_no_feed_is_said_with_its_reason(mill: RestMill) -> None:
    async def put_up(stage: Stage) -> str:
        return stage.publisher.url("/nothing", host="127.0.0.1")

    answer = mill.send("/feeds", {"url": mill.tell(put_up)})
    named = mill.send("/canonicalize", {"url": mill.tell(put_up)})

    assert (answer.status, answer.problem, answer.json["reason"]) == (
        422,
        "no-feed-found",
        "not-found",
    )
    assert named.problem == "no-feed-found"


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_what_a_form_of_a_page_can_send_is_not_read(empty: RestMill, kind: str) -> None:
    body = b'{"url": "https://a.example/feed", "as_is": true}'

    added = empty.ask("/feeds", method="POST", body=body, headers={"Content-Type": kind})
    listed = empty.ask("/import", method="POST", body=body, headers={"Content-Type": kind})

    assert (added.status, added.problem) == (415, "unsupported-media-type")
    assert listed.problem == "unsupported-media-type"
    assert empty.ask("/feeds").json["items"] == []


def test_a_wrong_method_names_the_right_ones(library: RestMill) -> None:
    for method in ("PUT", "OPTIONS", "TRACE", "BREW"):
        answer = library.ask("/feeds", method=method)

        assert (answer.status, answer.problem) == (405, "method-not-allowed")
        assert answer.headers["allow"] == "GET, HEAD, POST"


def test_a_list_that_cannot_be_read_is_a_problem(empty: RestMill) -> None:
    answer = empty.ask("/import", method="POST", body=b"<html></html>", headers=OPML)

    assert (answer.status, answer.problem) == (422, "bad-list")


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_its_limit_is_refused_however_it_comes(
    open_mill: OpenMill, *, announced: bool
) -> None:
    mill = open_mill(serve=ServeConfig(body_bytes=1_000, import_bytes=2_000))
    pieces = [b'{"url": "https://a.example/', *[b"x" * 100] * 15, b'"}']
    connection = mill.connect()
    if announced:
        connection.request("POST", "/feeds", body=b"".join(pieces), headers=JSON)
    else:
        connection.request("POST", "/feeds", body=iter(pieces), headers=JSON, encode_chunked=True)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()

    assert (answer.status, b"/problems/too-large" in body) == (413, True)
    listed = mill.ask("/import", method="POST", body=b"x" * 2_001, headers=OPML)
    assert listed.problem == "too-large"
    assert mill.ask("/feeds").json["items"] == []


def test_a_fault_of_our_own_shows_nothing_of_itself(
    mill: RestMill, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        message = "the secret is in /very/private/place"
        raise RuntimeError(message)

    monkeypatch.setattr(mill.stage.services.store, "feeds", broken)

    answer = mill.ask("/feeds")

    assert (answer.status, answer.problem) == (500, "surprise")
    assert b"private" not in answer.body
    assert b"Traceback" not in answer.body
    assert mill.ask("/healthz").status == 200


def test_a_store_that_cannot_answer_is_503_without_its_path(
    mill: RestMill, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_: object, **__: object) -> None:
        message = "/very/private/place: the database is held"
        raise StoreError(message, reason="busy")

    monkeypatch.setattr(mill.stage.services.store, "last_seq", busy)

    answer = mill.ask("/readyz")

    assert (answer.status, answer.problem) == (503, "store-unavailable")
    assert (answer.json["reason"], answer.headers["retry-after"]) == ("busy", "5")
    assert b"private" not in answer.body


def test_a_document_that_retention_took_is_gone(mill: RestMill) -> None:
    feed = mill.tell(fill)

    async def forget(stage: Stage) -> str:
        fetch = (await stage.fetches(feed))[0]
        assert fetch.body_sha256 is not None
        await stage.services.store.delete_blobs([fetch.body_sha256])
        return fetch.fetch_id

    fetch_id = mill.tell(forget)

    assert (mill.ask(f"/raw/{fetch_id}").status, mill.ask(f"/raw/{fetch_id}").problem) == (
        410,
        "not-kept",
    )


def test_the_type_of_a_problem_leads_to_its_meaning(library: RestMill) -> None:
    for code, kind in PROBLEM_KINDS.items():
        shown = library.ask(f"/problems/{code}").json

        assert shown == {"type": f"/problems/{code}", "title": kind.title, "status": kind.status}


def test_every_problem_is_in_the_reference_with_its_status() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line[:3] == "| `"]

    assert [(row[0].strip("| `"), row[1]) for row in rows] == [
        (code, str(kind.status)) for code, kind in PROBLEM_KINDS.items()
    ]
