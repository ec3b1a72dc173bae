"""The publisher as a process of its own: `python -m feedmill_demo.server.server`.

It prints one line of JSON when it listens, `{"origin": "http://127.0.0.1:8080", "port": 8080}`,
and ends on SIGTERM, SIGINT or after `--seconds`.
"""

import argparse
import asyncio
import contextlib
import signal
import ssl
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import uvloop

from feedmill.errors import UsageError
from feedmill_demo.living_feed import EPOCH
from feedmill_demo.load import LoadSite
from feedmill_demo.server.server import Publisher
from feedmill_demo.server.site import Site
from feedmill_demo.sites import DemoWeb


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until told to stop; exit code 1 when the port cannot be had."""
    options = _parser().parse_args(arguments)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(options))
    except UsageError as problem:
        sys.stderr.write(f"{problem}\n")
        sys.exit(1)


async def _serve(options: argparse.Namespace) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    publisher = Publisher(
        _site(options),
        port=options.port,
        addresses=options.addresses,
        tls=_tls(options.cert, options.key),
        record=0,
    )
    async with publisher:
        line = msgspec.json.encode({"origin": publisher.url(""), "port": publisher.port})
        sys.stdout.write(line.decode() + "\n")
        sys.stdout.flush()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(options.seconds):
                await stopping.wait()


def _site(options: argparse.Namespace) -> Site:
    if options.load:
        return LoadSite(
            fresh_every=options.fresh_every, entries=options.entries, close=options.close
        )
    return DemoWeb(start=options.start, pace=options.pace, hosts=options.addresses)


def _tls(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m feedmill_demo.server.server",
        description="Serve the demonstration village, or load, on loopback.",
    )
    add = parser.add_argument
    add("--port", type=int, default=0, help="0, the default: any free one")
    add("--addresses", type=int, default=0, metavar="N", help="serve 127.0.1.1 to 127.0.1.N too")
    add("--seconds", type=float, default=86_400.0, help="stop by itself after so long")
    add("--pace", type=float, default=1.0, help="how many times as often things happen")
    add("--start", type=_moment, default=EPOCH, help="what time it is in the village, ISO 8601")
    add("--load", action="store_true", help="serve /load/<number> instead of the village")
    add("--fresh-every", type=int, default=20, metavar="N", help="one request in N is a 200")
    add("--entries", type=int, default=30, help="entries per feed under load")
    add("--close", action="store_true", help="end every connection with its answer under load")
    add("--cert", type=Path, help="certificate chain, PEM: serve https")
    add("--key", type=Path, help="its key, PEM, when it is not in the same file")
    return parser


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
