"""What one request costs the fetcher: CPU time per answer, on loopback, server apart.

    python benchmarks/fetcher.py [--seconds 3] [--concurrency 64] [--profile]

Five loads: 304s on kept connections, 304s each on a new connection, compressed 200s, and https on
kept and on new connections (resumed sessions); then 304s of 500 and of 24,000 hosts, by turns. The server is a process of its own, so the figures
are the client's alone. Everything stops by itself.
"""

import argparse
import asyncio
import cProfile
import gzip
import multiprocessing
import pstats
import ssl
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

import trustme

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.config import FetchConfig
from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import Validators

HOSTS = 64
BODY = gzip.compress(b"<rss>" + b"".join(b"<item>%d</item>" % n for n in range(4_000)))
HEAD = (
    b'Date: Tue, 14 Oct 2025 08:00:00 GMT\r\nServer: bench\r\nETag: "abc"\r\n'
    b"Cache-Control: max-age=300\r\nVary: Accept-Encoding\r\n"
)
ANSWERS = {
    b"/304": b"HTTP/1.1 304 Not Modified\r\n" + HEAD + b"\r\n",
    b"/new": b"HTTP/1.1 304 Not Modified\r\n" + HEAD + b"Connection: close\r\n\r\n",
    b"/200": b"HTTP/1.1 200 OK\r\n" + HEAD + b"Content-Type: application/rss+xml\r\n"
    b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY,
}  # fmt: skip
VALIDATORS = Validators(etag='"abc"', last_modified="Tue, 14 Oct 2025 07:00:00 GMT")


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        ca_file = _certificates(Path(folder))
        ours, theirs = multiprocessing.Pipe()
        server = multiprocessing.Process(target=_serve, args=(theirs, folder), daemon=True)
        server.start()
        http_port, https_port = ours.recv()
        config = FetchConfig(
            allow_cidrs=("127.0.0.0/8",), ca_file=ca_file, max_idle_connections=2 * HOSTS
        )
        for name, origin, path in (
            ("http, kept, 304", f"http://127.0.1.{{}}:{http_port}", "/304"),
            ("http, new connection, 304", f"http://127.0.1.{{}}:{http_port}", "/new"),
            ("http, kept, 200 gzip", f"http://127.0.1.{{}}:{http_port}", "/200"),
            ("https, kept, 304", f"https://127.0.1.{{}}:{https_port}", "/304"),
            ("https, new connection, 304", f"https://127.0.1.{{}}:{https_port}", "/new"),
        ):
            urls = [origin.format(n + 1) + path for n in range(HOSTS)]
            _measure(name, urls, config, options)
        _many_hosts(http_port, config, options)
        server.kill()


def _many_hosts(port: int, config: FetchConfig, options: argparse.Namespace) -> None:
    """The cost of a fetch must not grow with the hosts that were asked within a minute."""
    costs: dict[int, list[float]] = {500: [], 24_000: []}
    for _ in range(2):
        for hosts, found in costs.items():
            addresses = (
                f"127.{2 + n // 62_500}.{n // 250 % 250}.{n % 250 + 1}" for n in range(hosts)
            )
            urls = [f"http://{address}:{port}/new" for address in addresses]
            longer = argparse.Namespace(**vars(options) | {"seconds": options.seconds * 8})
            done, _, cpu = _runner(options)(_load(urls, config, longer, None))
            found.append(cpu / done * 1000)
    few, many = (min(found) for found in costs.values())
    print(f"500 hosts {few:.3f} ms CPU each, 24,000 hosts {many:.3f}: {many / few:.2f} times")


def _measure(name: str, urls: list[str], config: FetchConfig, options: argparse.Namespace) -> None:
    profile = cProfile.Profile() if options.profile else None
    done, wall, cpu = _runner(options)(_load(urls, config, options, profile))
    print(
        f"{name:32} {done / wall:8.0f}/s {done / cpu:8.0f} per CPU-second"
        f" {cpu / done * 1000:7.3f} ms CPU each"
    )
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)


async def _load(
    urls: list[str],
    config: FetchConfig,
    options: argparse.Namespace,
    profile: cProfile.Profile | None,
) -> tuple[int, float, float]:
    fetcher = CurlFetcher(config, SystemClock())
    counts: dict[object, int] = {}

    async def work(first: int, until: float) -> None:
        number = first
        while time.monotonic() < until:
            plan = plan_fetch(urls[number % len(urls)], VALIDATORS, config)
            response = await fetcher.fetch(plan)
            counts[response.error or response.status] = (
                counts.get(response.error or response.status, 0) + 1
            )
            number += options.concurrency

    async def round_of(seconds: float) -> None:
        until = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for first in range(options.concurrency):
                group.create_task(work(first, until))

    await round_of(0.5)
    counts.clear()
    if profile is not None:
        profile.enable()
    wall, cpu = time.monotonic(), time.process_time()
    await round_of(options.seconds)
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    if profile is not None:
        profile.disable()
    await fetcher.close()
    if any(not isinstance(outcome, int) for outcome in counts):
        print("   not all went well:", counts)
    return sum(counts.values()), wall, cpu


def _runner(options: argparse.Namespace) -> Callable[..., tuple[int, float, float]]:
    if options.plain_asyncio:
        return asyncio.run
    import uvloop

    runner: Callable[..., tuple[int, float, float]] = uvloop.run
    return runner


def _serve(pipe: Connection, folder: str) -> None:
    import uvloop

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(folder) / "server.pem")
    uvloop.run(_listen(pipe, context))


async def _listen(pipe: Connection, context: ssl.SSLContext) -> None:
    loop = asyncio.get_running_loop()
    plain = await loop.create_server(_Answering, "0.0.0.0", 0, backlog=1024)
    tls = await loop.create_server(_Answering, "0.0.0.0", 0, ssl=context, backlog=1024)
    pipe.send([server.sockets[0].getsockname()[1] for server in (plain, tls)])
    await asyncio.sleep(600)


class _Answering(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one by shape only

    def data_received(self, data: bytes) -> None:
        path = data.split(b" ", 2)[1]
        self._transport.write(ANSWERS[path])
        if path == b"/new":
            self._transport.close()


def _certificates(folder: Path) -> str:
    authority = trustme.CA()
    leaf = authority.issue_cert(*[f"127.0.1.{n + 1}" for n in range(HOSTS)])
    leaf.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    return str(folder / "ca.pem")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="CPU per request of the fetcher")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--plain-asyncio", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
