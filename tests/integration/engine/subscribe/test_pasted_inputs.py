"""What people paste, end to end: the feed that comes of it, the requests it costs, the first line printed."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN
from tests.support.pasted_web import pasted_web

from feedmill.app.services import open_services
from feedmill.engine.run.services import Services
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.engine.subscribe.add_feed import Subscribed
from feedmill.engine.subscribe.subscriber import CountedFetcher, FeedChoices
from feedmill.errors import FeedmillError
from feedmill.interfaces.cli.subscribe_addresses import (
    AddAnswer,
    RejectedAddress,
    print_answers,
)

TABLE = Path(__file__).with_name("pasted_inputs.txt")
ROWS = [line.split(" | ") for line in TABLE.read_text("utf-8").splitlines() if line]
PUBLIC = replace(PLAIN, fetch=replace(PLAIN.fetch, allow_cidrs=()))  # the guard as it is by default
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def test_every_pasted_input_leads_where_the_table_says(capsys: pytest.CaptureFixture[str]) -> None:
    async def story() -> list[list[str]]:
        async with open_services(PUBLIC, memory=True) as services:
            web = pasted_web()
            return [
                await pasted(row[0], services._replace(fetcher=web.fetcher), capsys) for row in ROWS
            ]

    assert len(ROWS) >= 150
    assert asyncio.run(story()) == ROWS


async def pasted(address: str, services: Services, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """One row: the input, the feed or the reason, the requests, the first line."""
    counted = CountedFetcher(services.fetcher)
    answer: AddAnswer
    try:
        subscriber = open_subscriber(services._replace(fetcher=counted))
        answer = await subscriber.subscribe(_written(address))
    except FeedmillError as problem:
        answer = RejectedAddress(address, problem)
    with click.Context(click.Command("add")):
        print_answers([answer])
    printed = capsys.readouterr()
    line = _ID.sub("ID", (printed.out or printed.err).splitlines()[0])
    await _forget(services)
    return [address, " ".join(_outcome(answer)), str(counted.requests), line]


def _written(address: str) -> str:
    """The input; a table has no line ends."""
    return address.replace("\\n", "\n").replace("\\t", "\t")


def _outcome(answer: AddAnswer) -> Iterator[str]:
    match answer:
        case Subscribed(feed=feed):
            yield feed.url
        case FeedChoices(feeds=feeds):
            yield f"choices: {len(feeds)}"
        case RejectedAddress(problem=problem):
            yield f"refused: {problem.reason}"


async def _forget(services: Services) -> None:
    for feed in (await services.store.feeds(limit=10)).items:
        await services.store.remove_feed(feed.id)
