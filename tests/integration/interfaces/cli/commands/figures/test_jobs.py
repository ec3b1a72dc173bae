"""`feedmill jobs` as a person and as a program use it."""

import asyncio

from tests.support.command_line import Mill

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.model.running.job import NewJob


def _queue(mill: Mill, *keys: str) -> None:
    async def add() -> None:
        store = await SqliteStore.open(mill.home / "feedmill.db")
        try:
            for key in keys:
                url = f"https://user:secret@archive.example/{key}"
                new = NewJob(kind="walk", key=key, url=url, payload={"token": "hidden"})
                await store.add_job(new, now=SystemClock().now())
        finally:
            await store.close()

    asyncio.run(add())


def test_jobs_are_listed_newest_first_without_credentials(mill: Mill) -> None:
    mill.ok("init")
    assert mill.ok("jobs").text.strip() == "no jobs"
    _queue(mill, "one", "two")

    listed = mill.json("jobs", "--state", "queued")
    shown = mill.ok("jobs", "--limit", "1")

    assert [one["key"] for one in listed["items"]] == ["two", "one"]
    assert listed["items"][0]["url"] == "https://archive.example/two"
    assert "https://archive.example/two" in shown.text
    assert "next page: --after" in shown.err
    assert "secret" not in f"{listed}{shown.text}"
    assert "hidden" not in f"{listed}{shown.text}"
    assert mill.json("jobs", "--kind", "other")["items"] == []


def test_job_is_cancelled_and_queued_again(mill: Mill) -> None:
    mill.ok("init")
    _queue(mill, "one")

    assert mill.ok("jobs", "cancel", "1").text == "cancelled: job 1 (walk one)\n"
    assert "has ended already" in mill("jobs", "cancel", "1").err
    assert mill.json("jobs", "retry", "1")["state"] == "queued"
    assert "there is no job 9" in mill("jobs", "retry", "9").err
