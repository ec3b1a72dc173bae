"""A publisher that attacks: every document of the attack vectors, and every misuse of HTTP."""

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import brotli
import zstandard

from feedmill_demo.living_feed import LivingFeed
from feedmill_demo.server.script import (
    Answer,
    Request,
    document,
    hang_up,
    no_answer,
    raw_answer,
    redirect,
)
from feedmill_demo.server.site import Site

VECTORS: Final = Path(__file__).parents[1] / "vectors" / "xml_attacks"
BOMB: Final = b"<rss>" + bytes(64 * 1024 * 1024)  # six times what is ever read
FIRST_HOST: Final = 101  # the good feeds live below
CANARY_TEXT: Final = "canary-8c2f91"

Attack = Callable[[Request, int], Answer]


class Attackers(Site):
    """One attack per loopback address; `canaries` counts what nobody may ever ask for."""

    def __init__(self, folder: Path) -> None:
        self.canaries = 0
        self.asked: dict[str, int] = {}
        self._canary_file = folder / "canary.txt"
        self._canary_file.write_text(CANARY_TEXT, "utf-8")
        self._attacks: dict[str, Attack] = {}
        self._port = ""

    def opened(self, origin: str) -> None:
        self._port = origin.rpartition(":")[2]
        canary = f"http://127.0.0.1:{self._port}/canary"  # outside what the mill may reach
        self._attacks = {**_documents(self._canary_file, canary), **_misuses(canary)}

    @property
    def addresses(self) -> dict[str, str]:
        """Where each attack is to be met."""
        return {
            name: f"http://127.0.1.{FIRST_HOST + at}:{self._port}/attack/{name}"
            for at, name in enumerate(self._attacks)
        }

    def answer(self, request: Request) -> Answer | None:
        if request.path.startswith("/canary"):
            self.canaries += 1
            return document(CANARY_TEXT.encode())
        if not request.path.startswith("/attack/"):
            return None
        name = request.path.split("/")[2]
        self.asked[name] = self.asked.get(name, 0) + 1
        return self._attacks[name](request, self.asked[name])


def _documents(canary_file: Path, canary_url: str) -> dict[str, Attack]:
    """The attack vectors, a little different each time so that they are read each time."""
    found: dict[str, Attack] = {}
    for path in sorted(VECTORS.glob("*.json")):
        case = json.loads(path.read_text("utf-8"))
        if "generator" not in case:
            continue
        names: dict[str, Callable[[str, str], bytes]] = {}
        exec(case["generator"]["code"], names)
        body = names["gen"](str(canary_file), canary_url)
        found[case["name"]] = _served(body, case["content_type"])
    return found


def _served(body: bytes, content_type: str) -> Attack:
    return lambda _, turn: document(body + b"\n" * turn, content_type)


def _misuses(canary: str) -> dict[str, Attack]:
    feed = LivingFeed(seed="attacker", home="http://127.0.1.1/attacker/")
    feed.publish(10)
    body = feed.body()
    answers: dict[str, Answer] = {
        "bomb-gzip": _coded("gzip", gzip.compress(BOMB, 1)),
        "bomb-gzip-twice": _coded("gzip, gzip", gzip.compress(gzip.compress(BOMB, 1))),
        "bomb-deflate": _coded("deflate", zlib.compress(BOMB, 1)),
        "bomb-br": _coded("br", brotli.compress(BOMB, quality=1)),
        "bomb-zstd": _coded("zstd", zstandard.compress(BOMB, 1)),
        "broken-gzip": _coded("gzip", gzip.compress(body)[:-20] + b"\xff" * 20),
        "drip": Answer(body=body, piece_bytes=1, pause_sec=0.2),
        "drip-head": Answer(body=body, piece_bytes=1, pause_sec=0.2, drip_head=True),
        "endless-chunks": Answer(body=b"<!-- -->" * 8192, framing="chunked", repeat=1_000_000),
        "endless-body": Answer(body=b"<!-- -->" * 8192, framing="close", repeat=1_000_000),
        "length-too-long": Answer(body=body, content_length=len(body) + 5000),
        "length-too-short": Answer(body=body, content_length=300),
        "length-absurd": raw_answer(
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n<rss"
        ),
        "two-lengths": raw_answer(
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 900\r\n\r\n<rss>"
        ),
        "many-headers": Answer(headers=tuple((f"X-{n}", "v" * 90) for n in range(5000)), body=body),
        "huge-header": Answer(headers=(("X-Huge", "v" * 1_000_000),), body=body),
        "endless-head": raw_answer(b"HTTP/1.1 200 OK\r\n" + b"X-More: of the same\r\n" * 200_000),
        "no-http": raw_answer(b"\x00\xff\xfe this is no protocol\r\n\r\n"),
        "to-private": redirect("http://10.0.0.1/feed"),
        "to-metadata": redirect("http://169.254.169.254/latest/meta-data/", 302),
        "to-canary": redirect(canary, 307),
        "to-mapped": redirect(canary.replace("127.0.0.1", "[::ffff:127.0.0.1]"), 308),
        "to-file": redirect("file:///etc/passwd"),
        "to-ftp": redirect("ftp://127.0.0.1/feed"),
        "to-gopher": redirect("gopher://127.0.0.1:70/_feed"),
        "to-data": redirect("data:text/xml,<rss/>"),
        "reset": hang_up("reset"),
        "hang-up": hang_up("cut"),
        "reset-in-body": Answer(body=body, fault="reset", fault_at=500),
        "cut-in-body": Answer(body=body, fault="cut", fault_at=500),
        "stall-in-body": Answer(body=body, fault="stall", fault_at=500),
        "black-hole": no_answer(),
    }
    return {
        **{name: _always(answer) for name, answer in answers.items()},
        "redirect-loop": lambda request, _: redirect(request.path),
        "redirect-chain": lambda request, turn: redirect(f"{request.path}/{turn}"),
    }


def _always(answer: Answer) -> Attack:
    return lambda _, __: answer


def _coded(coding: str, body: bytes) -> Answer:
    kind = ("Content-Type", "application/rss+xml")
    return Answer(headers=(kind, ("Content-Encoding", coding)), body=body)
