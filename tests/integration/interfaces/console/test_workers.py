"""Workers: heartbeats and leases."""

from datetime import timedelta

from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage

from feedmill.model.running.worker import Worker


def test_workers_are_listed_with_their_last_heartbeat(mill: ConsoleMill, browser: Browser) -> None:
    assert "No process is registered." in text_of(browser.open("/console/workers"))

    async def work(stage: Stage) -> None:
        now = stage.clock.now()
        alive = Worker(name="alive", role="run", version="1", started_at=now, seen_at=now)
        dead = now - timedelta(minutes=5)
        silent = Worker(name="silent", role="worker", version="1", started_at=dead, seen_at=dead)
        await stage.services.store.save_worker(alive)
        await stage.services.store.save_worker(silent)
        await stage.add("/due")
        store = stage.services.store
        await store.claim("alive", now=now, lease_sec=60, max_lanes=1, max_feeds=9)

    mill.tell(work)
    words = text_of(browser.open("/console/workers"))

    assert "alive run, version 1" in words
    assert "1 leased host" in words
    assert "silent: it was killed" in words
