"""`make chaos`: many workers on one store, everything that can be struck is struck, and the books are read.

    python -m tools.chaos [--feeds 2400] [--hosts 80] [--workers 5] [--keep FOLDER]

PostgreSQL, NATS and an S3 server are started from the test extra; five workers poll feeds that grow,
and readers of every kind follow the log. A worker is killed, one is stopped past its lease with
answers under way, one is told to leave; NATS and the database are restarted, readers, relay and API
are killed. Then the judge reads what is left. It talks to loopback only, ends by itself after about
two minutes, and leaves with 1 when a promise was broken.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.support.servers.nats import NatsServer
from tests.support.servers.postgres import PostgresServer, StopMode
from tests.support.servers.seaweedfs import S3Server
from tests.support.servers.server_process import Server
from tools.chaos.books import TAP, evidence_of
from tools.chaos.diary import Moment
from tools.chaos.judge import Finding, is_kept, judge, table
from tools.chaos.plan import Plan
from tools.chaos.scene import Scene, scene

READERS = ("cursor", "stream", "lines", "grpc", "webhook", "nats", "store", TAP)


def main() -> int:
    """One trial; 0 when every promise was kept."""
    options = _options()
    plan = Plan(feeds=options.feeds, hosts=options.hosts, workers=options.workers)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="feedmill-chaos-") as name:
        folder = Path(name)
        try:
            findings = asyncio.run(_trial(folder, plan))
        except AssertionError as broken:
            print(f"a promise was broken: {broken}")
            return 1
        finally:
            if options.keep is not None:
                shutil.copytree(folder, options.keep, dirs_exist_ok=True)
    print(table(findings))
    print(f"{time.monotonic() - began:.0f} s in all, the machine's load {os.getloadavg()[0]:.1f}")
    return 0 if is_kept(findings) else 1


async def _trial(folder: Path, plan: Plan) -> list[Finding]:
    with PostgresServer(durable=True) as database, NatsServer() as nats, S3Server() as objects:
        variables = {
            **objects.variables,
            "FEEDMILL_BLOBS_URL": f"s3://{objects.bucket}/chaos",
            "FEEDMILL_BUS_URL": nats.url,
        }
        dsn = database.create_database()
        async with scene(folder, plan, dsn, variables=variables, readers=READERS) as one:
            await _strike(one, database, nats)
            _say("growing no more: every feed is read to its end")
            await one.settled()
            await one.end()
        tap = one.home / "out" / "events"
        readers = [name for name in READERS if name != TAP]
        return judge(await evidence_of(folder, dsn, readers=readers, tap=tap), plan)


async def _strike(one: Scene, database: PostgresServer, nats: NatsServer) -> None:
    """Everything that is done to them, one after the other, each while they work."""
    plan = one.plan
    await one.requests(plan.warm_up)
    victim = await one.busiest(3)
    _say(f"SIGKILL: {victim}, and another in its place")
    await one.kill(victim)
    await one.hire()
    await one.requests(plan.between)

    sleeper = await one.busiest(3)
    _say(f"SIGSTOP: {sleeper}, with answers under way, for longer than its lease")
    async with asyncio.TaskGroup() as group:
        group.create_task(one.stop(sleeper, plan.lease_sec + 3))
        group.create_task(_meanwhile(one, nats))
    await one.requests(plan.between)

    await _restart(one, database, "fast")
    await one.control(slow=False, growing=False)  # a drain waits for answers: these are quick
    await one.requests(plan.between)
    await one.calm()
    leaver = one.workers[0]
    drain = await one.dismiss(leaver)
    words = f"left after {drain.took * 1000:.0f} ms, {drain.waited * 1000:.0f} without a processor"
    _say(f"SIGTERM: {leaver} {words}")
    await one.control(slow=True, growing=True)
    await one.hire()
    await one.requests(plan.between)

    await _restart(one, database, "immediate")
    _say("SIGKILL: the API and the readers")
    await one.restart("api", *(name for name in one.readers if name not in ("nats", "store")))
    await one.limited()
    await one.requests(plan.between)


async def _meanwhile(one: Scene, nats: NatsServer) -> None:
    """While a worker sleeps: the bus is restarted, the relay and two readers are killed."""
    await one.requests(one.plan.between)
    _say("NATS is restarted; SIGKILL: the relay and two readers")
    began = Moment.now()
    await asyncio.to_thread(Server.restart, nats)
    one.diary.note("bus", "nats", began)
    await one.requests(one.plan.between)
    await one.restart("relay", "nats", "store")


async def _restart(one: Scene, database: PostgresServer, mode: StopMode) -> None:
    _say(f"the database is restarted: {mode}")
    began = Moment.now()
    await asyncio.to_thread(database.restart, mode)
    one.diary.note("database", mode, began)
    await one.requests(one.plan.between)


def _say(words: str) -> None:
    print(f"{time.monotonic() - _BEGAN:6.1f} s  {words}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="strike whatever can be struck, and read the books"
    )
    parser.add_argument("--feeds", type=int, default=2_400)
    parser.add_argument("--hosts", type=int, default=80)
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the logs there")
    return parser.parse_args()


_BEGAN = time.monotonic()

if __name__ == "__main__":
    sys.exit(main())
