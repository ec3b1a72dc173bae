"""The demonstration publisher as a process: `python -m feedmill_demo.server`.

It prints one line of JSON when it listens, `{"origin": "http://127.0.0.1:8080", "port": 8080}`,
and ends on SIGTERM, SIGINT or after `--seconds`.
"""

import argparse
import asyncio
import contextlib
import signal
import ssl
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import uvloop

from feedmill.errors import UsageError
from feedmill_demo.living_feed import EPOCH
from feedmill_demo.server.server import Publisher
from feedmill_demo.server.site import Site
from feedmill_demo.sites import DemoWeb


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the demonstration sites."""
    parser = publisher_parser(
        "python -m feedmill_demo.server", "Serve the demonstration sites on loopback."
    )
    add = parser.add_argument
    add("--pace", type=float, default=1.0, help="how many times as often things happen")
    add("--start", type=_moment, default=EPOCH, help="the time at which the sites start, ISO 8601")
    run_publisher(parser.parse_args(arguments), _demo_web)


def publisher_parser(prog: str, description: str) -> argparse.ArgumentParser:
    """The options of every publisher process: where it listens, TLS and how long."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    add = parser.add_argument
    add("--port", type=int, default=0, help="0, the default: any free one")
    add(
        "--addresses",
        type=int,
        default=0,
        metavar="N",
        help="serve 127.0.1.1 to 127.0.1.N too; more than 254: all of 127/8",
    )
    add("--seconds", type=float, default=86_400.0, help="stop after this long")
    add("--cert", type=Path, help="certificate chain, PEM: serve https")
    add("--key", type=Path, help="its key, PEM, when it is not in the same file")
    return parser


def run_publisher(
    options: argparse.Namespace, make_site: Callable[[argparse.Namespace], Site]
) -> None:
    """Serve a site until a signal; exit code 1 when the port cannot be bound."""
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(options, make_site(options)))
    except UsageError as problem:
        sys.stderr.write(f"{problem}\n")
        sys.exit(1)


async def _serve(options: argparse.Namespace, site: Site) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    publisher = Publisher(
        site,
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


def _demo_web(options: argparse.Namespace) -> Site:
    return DemoWeb(start=options.start, pace=options.pace, hosts=options.addresses)


def _tls(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


if __name__ == "__main__":
    main()
