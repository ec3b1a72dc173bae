"""A consumer as a program of its own: `consume_events.py KIND FOLDER REST_PORT GRPC_PORT HOOK_PORT`.

It reads the log in one of the ways that there are, keeps its journal in FOLDER, goes on whenever
the server goes away, and works until it is killed. The token and the webhook's secret come in the
environment. Where no library is needed, none is used.
"""

import asyncio
import hmac
import http.client
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.support.consumer_journal import Journal

SILENCE_SEC = 5.0  # signs of life come far more often
REST_SEC = 0.2  # before another try
PAGE = 100
TOKEN = os.environ.get("MILL_TOKEN", "")
SECRET = os.environ.get("HOOK_SECRET", "")
SERVER_AWAY = (OSError, http.client.HTTPException, json.JSONDecodeError)


def by_cursor(journal: Journal, port: int) -> None:
    """Page after page; an empty one means: look again."""
    _turn_pages(journal, port, f"&limit={PAGE}")


def by_long_poll(journal: Journal, port: int) -> None:
    """The same, and the server waits with its answer until there is one."""
    _turn_pages(journal, port, f"&limit={PAGE}&wait=2")


def by_lines(journal: Journal, port: int) -> None:
    """The rest of the log as NDJSON, again and again."""
    while True:
        with suppress(*SERVER_AWAY), closing(_asked(port, f"/events?after={journal.cursor}", Accept="application/x-ndjson")) as connection:  # fmt: skip
            for line in _lines(connection):
                journal.take([json.loads(line)])
        time.sleep(REST_SEC)


def by_stream(journal: Journal, port: int) -> None:
    """Server-sent events; the field that a browser sends says where it broke."""
    while True:
        with suppress(*SERVER_AWAY), closing(_asked(port, "/events/stream", **{"Last-Event-ID": str(journal.cursor)})) as connection:  # fmt: skip
            for line in _lines(connection):
                if line.startswith(b"data: "):
                    journal.take([json.loads(line[6:])])
        time.sleep(REST_SEC)


def by_grpc(journal: Journal, port: int) -> None:
    """`Events/Watch`, with nothing known but what reflection tells."""
    import grpc
    from tests.support.grpc_client import told, visiting

    async def watch() -> None:
        while True:
            with suppress(grpc.aio.AioRpcError):
                async with visiting(port, token=TOKEN) as visitor:
                    async for reply in visitor.stream("Events/Watch", after_seq=journal.cursor):
                        said = told(reply)
                        journal.take(said["events"], said["next"])
            await asyncio.sleep(REST_SEC)

    asyncio.run(watch())


def by_client(journal: Journal, port: int) -> None:
    """feedmill's own client, which goes on by itself."""
    from feedmill.client import Client

    async def watch() -> None:
        async with Client(f"http://127.0.0.1:{port}", token=TOKEN) as mill:
            async for event in mill.watch(after=journal.cursor, silence_sec=SILENCE_SEC):
                journal.take([{"seq": event.seq, "id": event.id}])

    asyncio.run(watch())


def by_webhook(journal: Journal, port: int) -> None:
    """An endpoint that is told; what was not signed with the secret is refused."""

    class Endpoint(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout: ClassVar[float] = SILENCE_SEC

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            signed = _is_signed(self.headers.get("Feedmill-Signature", ""), body)
            if signed:
                journal.take(json.loads(body))
            self.send_response(204 if signed else 401)
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # of the library
            pass

    HTTPServer(("127.0.0.1", port), Endpoint).serve_forever()


def _turn_pages(journal: Journal, port: int, how: str) -> None:
    while True:
        with suppress(*SERVER_AWAY):
            path = f"/events?after={journal.cursor}{how}"
            with closing(_asked(port, path)) as connection:
                page = json.loads(b"".join(_lines(connection)))
            journal.take(page["items"], page["next"])
            if page["items"]:
                continue
        time.sleep(REST_SEC)


def _asked(port: int, path: str, **headers: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SILENCE_SEC)
    connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}", **headers})
    return connection


def _lines(connection: http.client.HTTPConnection) -> Iterator[bytes]:
    """Whole lines of a good answer; the last one may have no end."""
    answer = connection.getresponse()
    if answer.status != 200:
        raise http.client.HTTPException(answer.status)
    while line := answer.readline():
        if not line.endswith(b"\n") and answer.length is None:
            raise http.client.IncompleteRead(line)
        yield line


def _is_signed(header: str, body: bytes) -> bool:
    pairs = dict(piece.split("=", 1) for piece in header.split(",") if "=" in piece)
    signed = f"{pairs.get('t', '')}.".encode() + body
    digest = hmac.new(SECRET.encode(), signed, sha256).hexdigest()
    return hmac.compare_digest(digest, pairs.get("v1", ""))


KINDS: dict[str, tuple[Callable[[Journal, int], Any], int]] = {
    # the way of reading, and which of the ports it needs
    "cursor": (by_cursor, 0),
    "long-poll": (by_long_poll, 0),
    "lines": (by_lines, 0),
    "stream": (by_stream, 0),
    "client": (by_client, 0),
    "grpc": (by_grpc, 1),
    "webhook": (by_webhook, 2),
}

if __name__ == "__main__":
    kind, folder, *ports = sys.argv[1:]
    read, which = KINDS[kind]
    read(Journal(Path(folder), kind), int(ports[which]))
