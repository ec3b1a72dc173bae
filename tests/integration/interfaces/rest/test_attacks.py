"""Attacks on the doors from outside: climbing paths, hostile entries, addresses inside, crowds."""

import asyncio
import json
import re
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote

import feedparser
import pytest
from msgspec.structs import replace
from tests.integration.interfaces.rest.conftest import HASTY, fill
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import item, rss
from tests.support.feed_validation import complaints, strict_tree
from tests.support.loopback_fetcher import TableResolver
from tests.support.rest_client import JSON, RestMill
from tests.support.waiting import HANG_GUARD_SEC, block_until

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.canonicalise.urls import split_url
from feedmill.config import FetchConfig, ServeConfig
from feedmill.interfaces.rest.server import rest_server
from feedmill_demo.server.script import document

VECTORS = Path(__file__).parents[3] / "vectors"
XSS: list[dict[str, Any]] = json.loads((VECTORS / "xss.json").read_text("utf-8"))["cases"]
SSRF: list[dict[str, Any]] = json.loads((VECTORS / "ssrf_urls.json").read_text("utf-8"))["cases"]
# A redirect begins at a public server, which no test dials; redirects are the fetcher's story.
INSIDE = [case for case in SSRF if not case["allowed"] and "redirect_to" not in case]
CLIMBING = (
    "..%2f..%2ffeedmill.db", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..%5cfeedmill.db", "%00",
    "%2fetc%2fpasswd", "....%2f%2f....%2f%2fetc", "%c0%ae%c0%ae%2f", "a%0d%0aX-Evil:%201",
    "%ff%fe", "x" * 5_000, "' OR 1=1 --".replace(" ", "%20"), "%25n%25s", "..",
)  # fmt: skip
LINES = {"Accept": "application/x-ndjson"}
SCRIPT = re.compile(
    r"<(script|style|iframe|object|embed|form|input|svg|math|base|meta|link)\b"
    r"|<[^>]*\son\w+\s*=|(?:href|src)\s*=\s*[\"']?\s*(?:javascript|data|vbscript):",
    re.IGNORECASE,
)


class InsideOnly(TableResolver):
    """No public address is ever given out, so whatever the guard lets pass, nobody is dialled."""

    async def resolve(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        return tuple(one for one in self._table.get(host, [(host,)])[-1] if _is_inside(one))


class GuardedMill(RestMill):
    """A mill with the egress guard as it is delivered, whose names are in a table."""

    @property
    def asked(self) -> list[str]:
        """The names that somebody wanted to reach."""
        return self._resolver.asked

    async def _serve(self) -> None:
        self._resolver = InsideOnly(_names())
        async with _guarded(self._home, self._resolver, **self._parts) as stage:
            self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
            async with rest_server(stage.services, self.watch, port=0) as base:
                self._ready.set_result((stage, base))
                await self._end.wait()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestMill]:
    """A mill that has read every payload, as title, text, link and category of an entry."""
    with RestMill(tmp_path_factory.mktemp("hostile"), access=HASTY) as mill:
        mill.tell(_poisoned)
        yield mill


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedMill]:
    with GuardedMill(tmp_path_factory.mktemp("guarded"), access=HASTY) as mill:
        yield mill


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestMill]:
    with RestMill(tmp_path_factory.mktemp("filled"), access=HASTY) as mill:
        mill.tell(fill)
        yield mill


class TestPaths:
    def test_no_parameter_of_any_path_leads_anywhere(self, filled: RestMill) -> None:
        templates = [
            (method.upper(), path)
            for path, methods in filled.ask("/openapi.json").json["paths"].items()
            for method in methods
            if "{" in path
        ]
        before = filled.ask("/stats").json["counts"]

        for method, template in templates:
            for name in CLIMBING:
                body = b"{}" if method in ("POST", "PATCH") else None
                path = name.join(re.split(r"\{\w+\}", template))
                answer = filled.ask(path, method=method, body=body, headers=JSON)

                # A tag of that name has no feeds: an empty collection is all there is to see.
                fits = (200,) if template.startswith("/tags/") else ()
                assert answer.status in (400, 404, 405, *fits), (method, path, answer.status)
                assert answer.status in fits or answer.problem
                assert "x-evil" not in answer.headers
                assert b"root:" not in answer.body
                assert b"SQLite format" not in answer.body

        assert len(templates) >= 18
        assert filled.ask("/stats").json["counts"] == before

    @pytest.mark.parametrize(
        "query",
        [
            "limit=999999999999999999999999",
            "limit=-1",
            "text=" + "x" * 5_000,
            "cursor=" + "A" * 5_000,
            "category=%00%0d%0a",
            "feed=" + "&feed=".join("x" * 8 for _ in range(600)),
            "since=99999999999999999999",
            "cursor=e30",
        ],
    )
    def test_a_page_has_a_size_whatever_is_asked_for(self, filled: RestMill, query: str) -> None:
        answer = filled.ask(f"/entries?{query}")

        assert answer.status in (200, 400)
        assert len(answer.body) < 100_000
        assert answer.status == 200 or answer.problem in ("bad-parameter", "bad-cursor")

    @pytest.mark.parametrize("path", ["/feeds", "/import", "/canonicalize", "/webhooks"])
    def test_a_body_beyond_the_limit_is_not_even_read(self, filled: RestMill, path: str) -> None:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 99999999999\r\nConnection: close\r\n\r\n"
        )

        said = filled.say(head.encode())

        assert said.startswith(b"HTTP/1.1 413 ")
        assert b"/problems/too-large" in said


class TestHostileEntries:
    def test_all_of_them_are_there(self, hostile: RestMill) -> None:
        assert len(hostile.ask("/entries?limit=1000").json["items"]) == len(XSS)

    def test_json_and_lines_hold_no_markup_that_runs(self, hostile: RestMill) -> None:
        page = hostile.ask("/entries?limit=1000")
        lines = hostile.ask("/entries", headers=LINES)

        assert page.headers["content-type"] == "application/json"
        assert [json.loads(line) for line in lines.body.decode().splitlines()] == page.json["items"]
        for entry in page.json["items"]:
            assert not SCRIPT.search(entry["content"] or ""), entry
            for name in ("link", "canonical_link", "image", "comments_url"):
                assert re.match(r"https?://[^\s\"<>]*$", entry[name] or "https://"), entry

    def test_the_log_and_the_stream_have_one_line_for_each_event(self, hostile: RestMill) -> None:
        events = hostile.ask("/events?limit=1000").json
        lines = hostile.ask("/events", headers=LINES).body.decode().splitlines()
        with _stream(hostile) as wire:
            told = _read_until(wire, b"id: %d\n" % events["last_seq"], b"\n\n")

        assert [json.loads(line) for line in lines] == events["items"]
        fields = [line.partition(": ") for line in told.splitlines() if ": " in line]
        data = [json.loads(value) for name, _, value in fields if name == "data"]
        assert {name for name, _, _ in fields} == {"retry", "id", "event", "data"}
        assert data == events["items"]

    @pytest.mark.parametrize("kind", ["atom", "rss", "json"])
    def test_a_collection_stays_a_feed(self, hostile: RestMill, kind: str) -> None:
        answer = hostile.ask(f"/collections/feed.{kind}?limit=200")

        assert complaints(answer.body, kind) == []
        assert b"<!ENTITY" not in answer.body or kind == "json"
        if kind == "json":
            shown = [
                (one.get("title"), one.get("content_html", "")) for one in answer.json["items"]
            ]
        else:
            strict_tree(answer.body)
            found = feedparser.parse(answer.body, sanitize_html=False).entries
            shown = [(one.get("title", ""), _content(one)) for one in found]
        assert len(shown) == len(XSS)
        assert not [html for _, html in shown if SCRIPT.search(html)]

    def test_no_header_is_made_of_what_strangers_wrote(self, hostile: RestMill) -> None:
        uid = hostile.ask("/entries?limit=1").json["items"][0]["entry_uid"]
        for path in (f"/entries/{uid}/raw", "/collections/feed.atom", "/export.opml"):
            headers = hostile.ask(path).headers

            assert "set-cookie" not in headers
            assert not [value for value in headers.values() if re.search(r"[\r\n<]script", value)]

    def test_raw_bytes_are_a_download_that_no_browser_shows(self, hostile: RestMill) -> None:
        entry = hostile.ask("/entries?limit=1").json["items"][0]
        fetch_id = entry["raw_refs"][0]["fetch_id"]
        for path in (f"/entries/{entry['entry_uid']}/raw", f"/raw/{fetch_id}"):
            headers = hostile.ask(path).headers

            assert headers["content-type"] == "application/octet-stream"
            assert headers["content-disposition"].startswith("attachment; ")
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["content-security-policy"] == "default-src 'none'; sandbox"

    def test_the_page_for_people_shows_nothing_of_an_entry(self, hostile: RestMill) -> None:
        page = hostile.ask("/docs").body.decode()

        assert "__xss" not in page
        assert not re.search(r"<script|\son\w+=", page)


class TestAddressesInside:
    def test_discover_asks_no_address_inside_and_tells_nothing_of_it(
        self, guarded: GuardedMill
    ) -> None:
        for case in INSIDE:
            answer = guarded.ask(f"/discover?url={quote(case['url'], safe='')}")

            assert answer.status in (400, 422), (case, answer.body)
            assert answer.problem in ("bad-address", "no-feed-found", "bad-parameter"), case

    def test_a_page_of_another_site_cannot_make_the_server_send_requests(
        self, guarded: GuardedMill
    ) -> None:
        from_there = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}

        answer = guarded.ask("/discover?url=https://paper.example/", headers=from_there)

        assert (answer.status, answer.problem) == (403, "cross-origin")

    @pytest.mark.parametrize("path", ["/feeds", "/canonicalize", "/webhooks"])
    def test_an_address_inside_is_not_asked_and_nothing_is_kept(
        self, guarded: GuardedMill, path: str
    ) -> None:
        for case in INSIDE:
            answer = guarded.send(path, {"url": case["url"]})

            if answer.status == 201:
                # A name: what it leads to is looked at when it is dialled, and only then.
                assert path == "/webhooks", case
                hook = answer.json["id"]
                assert guarded.ask(f"/webhooks/{hook}", method="DELETE").status == 204
                continue
            assert answer.status == 422, (case, answer.body)
            assert answer.problem in ("bad-address", "no-feed-found", "invalid-body"), case

        assert guarded.ask("/feeds").json["items"] == []
        assert guarded.ask("/webhooks").json["items"] == []
        counts = guarded.ask("/stats").json["counts"]
        assert counts["fetches"] == counts["entries"] == counts["blobs"] == 0

    def test_a_list_of_such_addresses_subscribes_to_none_of_them(self, tmp_path: Path) -> None:
        feeds = [{"url": case["url"]} for case in INSIDE if not case.get("policy_dependent")]
        with GuardedMill(tmp_path, access=HASTY) as mill:
            answer = mill.send("/import", {"feeds": feeds})
            kept = [split_url(feed["url"]).host for feed in mill.ask("/feeds").json["items"]]

        assert answer.status == 200
        assert len(answer.json["failed"]) > 100
        # A name may stay, because only dialling shows what it leads to; an address may not.
        assert [host for host in kept if re.fullmatch(r"[\d.]+|\[.*\]", host)] == []


class TestCrowds:
    def test_a_thousand_that_only_listen_cost_nobody_else_anything(self, tmp_path: Path) -> None:
        serve = ServeConfig(max_streams=1_000, max_connections=1_200, heartbeat_sec=60.0)
        with _many_files(4_096), RestMill(tmp_path, access=HASTY, serve=serve) as mill:
            mill.tell(fill)
            end = mill.ask("/events").json["last_seq"]
            with ExitStack() as crowd:
                wires = [crowd.enter_context(_stream(mill, after=end)) for _ in range(1_000)]
                opened_all = [_read_until(wire, b"retry: 2000\n\n") for wire in wires]

                answers = [mill.ask("/entries") for _ in range(20)]
                one_more = mill.ask("/events/stream")
                mill.tell(_one_more_event)
                last = mill.ask("/events").json["last_seq"]

            assert len(opened_all) == 1_000
            assert {answer.status for answer in answers} == {200}
            assert (one_more.status, one_more.problem) == (503, "too-many-streams")
            assert last > 0
            block_until(
                lambda: mill.ask("/events/stream", method="HEAD").status == 200, "a free stream"
            )

    def test_a_hundred_that_dawdle_are_sent_away_and_hold_nobody_up(self, tmp_path: Path) -> None:
        serve = ServeConfig(header_timeout_sec=2.0, max_connections=150)
        with RestMill(tmp_path, access=HASTY, serve=serve) as mill, ExitStack() as stack:
            slow = [
                stack.enter_context(
                    socket.create_connection(("127.0.0.1", mill.port), HANG_GUARD_SEC)
                )
                for _ in range(100)
            ]
            for wire in slow:
                wire.sendall(b"GET /feeds HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")

            answers = [mill.ask("/feeds").status for _ in range(10)]
            ends = [_end_of(wire) for wire in slow]

        assert set(answers) == {200}
        assert set(ends) == {b""}


async def _poisoned(stage: Stage) -> None:
    """One entry for each payload; what XML cannot hold is left out, as a publisher would."""
    items = []
    for number, case in enumerate(XSS):
        text = "".join(one for one in case["payload"] if _is_xml(one))
        link = text if case["context"] == "link_url" else f"https://paper.example/{number}"
        title = f"{number} {text}"
        items.append(item(number, title=title, text=text, link=link, guid=f"{number} {text}"))
    await stage.poll(await stage.add("/feed", document(rss(*items))))


async def _one_more_event(stage: Stage) -> None:
    await stage.poll(await stage.add("/other", document(rss(item(77)))))


@asynccontextmanager
async def _guarded(home: Path, resolver: TableResolver, **parts: Any) -> AsyncIterator[Stage]:
    async with opened(home, **parts) as stage:
        config = replace(stage.config, fetch=FetchConfig(connection_attempts=1, timeout_ms=2_000))
        fetcher = CurlFetcher(config.fetch, SystemClock(), resolver=resolver)
        try:
            stage.services = stage.services._replace(fetcher=fetcher, config=config)
            yield stage
        finally:
            await fetcher.close()


def _names() -> dict[str, list[tuple[str, ...]]]:
    """What each name of the vectors leads to in the end; all other names lead nowhere."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for case in INSIDE:
        last = {host: answers[-1] for host, answers in case.get("dns_sequence", {}).items()}
        found |= {host: [tuple(one)] for host, one in {**case.get("dns", {}), **last}.items()}
    return found


def _is_inside(text: str) -> bool:
    try:
        return not ip_address(text.strip("[]")).is_global
    except ValueError:  # a name that is not in the table
        return False


def _is_xml(one: str) -> bool:
    return (
        one in "\t\n\r"
        or "\x20" <= one <= "\ud7ff"
        or "\ue000" <= one <= "\ufffd"
        or one > "\uffff"
    )


def _content(entry: Any) -> str:
    pieces = [one.value for one in entry.get("content", ())]
    return " ".join([*pieces, entry.get("summary", "")])


@contextmanager
def _stream(mill: RestMill, after: int = 0) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", mill.port), timeout=HANG_GUARD_SEC) as wire:
        request = f"GET /events/stream?after={after} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        wire.sendall(request.encode())
        yield wire


def _read_until(wire: socket.socket, *marks: bytes) -> str:
    """The body up to the last of the marks, out of its chunks."""
    taken = b""
    while True:
        body = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", b"\r\n" + taken.partition(b"\r\n\r\n")[2])
        at = 0
        for mark in marks:
            at = body.find(mark, at)
            if at < 0:
                break
        else:
            return body[: at + len(marks[-1])].decode()
        piece = wire.recv(65_536)
        assert piece, taken[-200:]
        taken += piece


@contextmanager
def _many_files(count: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _end_of(wire: socket.socket) -> bytes:
    try:
        return wire.recv(1_000)
    except ConnectionResetError:
        return b""
