"""Several processes subscribe at the same moment: one feed comes of it, and one of them made it."""

import os
from contextlib import ExitStack
from pathlib import Path
from random import Random  # noqa: TID251  # with a seed
from subprocess import PIPE, Popen

import pytest
from tests.support.command_line import Mill
from tests.support.random_blog import FORMATS, Blog
from tests.support.subscribe_harness import feed_document, page
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import WarmPopen

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher

CHILD = Path(__file__).parents[4] / "tests/support/children/subscribe_addresses.py"
ROUNDS = 4
BLOGS = 8
TITLES = ("Paper", "Ada's notes", "日記", "Feed me")


def test_processes_that_add_one_feed_by_different_names_at_once_give_one_feed(
    mill: Mill, publisher: Publisher
) -> None:
    spellings = [_names(publisher, number) for number in range(ROUNDS)]
    answers: list[list[list[str]]] = []

    with ExitStack() as stack:
        children = [stack.enter_context(_child()) for _ in spellings[0]]
        for child in children:
            assert _line(child) == ["ready"]
        for names in spellings:  # everybody is told before anybody is listened to
            for child, name in zip(children, names, strict=True):
                _tell(child, name)
            answers.append([_line(child) for child in children])
        for child in children:
            _tell(child, "")
            assert child.wait(HANG_GUARD_SEC) == 0

    assert all(len({feed_id for feed_id, _ in round_}) == 1 for round_ in answers)
    assert all([made for _, made in round_].count("True") == 1 for round_ in answers)
    assert len(mill.json("list")["items"]) == ROUNDS


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_processes_that_add_random_blogs_in_any_format_leave_one_feed_of_each(
    mill: Mill, publisher: Publisher, store: str, request: pytest.FixtureRequest
) -> None:
    if store == "postgres":
        mill.setenv(DATABASE_URL=request.getfixturevalue("migrated_dsn"))
    mill.ok("init")
    chance = Random(20)  # the same blogs in every run
    blogs = [_random_blog(publisher, number, chance) for number in range(BLOGS)]

    with ExitStack() as stack:
        children = [stack.enter_context(_child()) for _ in range(2)]
        for child in children:
            assert _line(child) == ["ready"]
        for addresses in blogs:
            for pair in (addresses[:2], addresses[2:]):
                for child, address in zip(children, pair, strict=True):
                    _tell(child, address)
                for child in children:
                    assert len(_line(child)) == 2
        for child in children:
            _tell(child, "")
            assert child.wait(HANG_GUARD_SEC) == 0

    feeds = mill.json("list", "--limit", "500")["items"]
    entries = mill.json("entries", "--limit", "1000", "--duplicates")["items"]
    assert len(feeds) == BLOGS, sorted(feed["url"] for feed in feeds)
    assert len({entry["canonical_link"] for entry in entries}) == len(entries)


def test_commands_that_add_one_feed_by_different_names_at_once_give_one_feed(
    mill: Mill, publisher: Publisher
) -> None:
    names = _names(publisher, 0)
    mill.ok("init")

    with ExitStack() as stack:
        commands = [stack.enter_context(mill.start("add", name)) for name in names]
        statuses = [command.wait(HANG_GUARD_SEC) for command in commands]

    assert statuses == [0] * len(names)
    assert len(mill.json("list")["items"]) == 1


def _names(publisher: Publisher, number: int) -> list[str]:
    """Three names of a feed: its address, a spelling of it, and a page."""
    host = f"127.0.1.{number + 1}"
    answer = feed_document(number * 10 + 1, number * 10 + 2)
    for target in (f"/{number}/feed", f"/{number}/feed/"):
        publisher.script(target, answer)
    publisher.script(f"/{number}/", page({"href": f"/{number}/feed/"}))
    targets = (f"/{number}/feed", f"/{number}/feed/?utm_source=x", f"/{number}/")
    return [publisher.url(target, host=host) for target in targets]


def _random_blog(publisher: Publisher, number: int, chance: Random) -> list[str]:
    """A blog on a host of its own; four of its addresses, in any order: formats, spellings, its page."""
    host = f"127.0.1.{number + 1}"
    site = publisher.url("", host=host)
    shown = {form: chance.randint(3, 28) for form in FORMATS}
    blog = Blog(chance.randint(3, 28), shown, chance.choice(TITLES), www=False, site=site)
    for form in FORMATS:
        publisher.script(f"/feed.{form}", document(blog.document(form), "text/xml"), host=host)
    links = [
        {"href": f"/feed.{form}", "type": f"application/{form}+xml"} for form in ("rss", "atom")
    ]
    publisher.script("/", page(*links), host=host)
    targets = [f"/feed.{form}{query}" for form in FORMATS for query in ("", "?utm_source=x")]
    return [publisher.url(target, host=host) for target in chance.sample([*targets, "/"], 4)]


def _child() -> Popen[bytes]:
    return WarmPopen([CHILD], stdin=PIPE, stdout=PIPE, env=dict(os.environ))


def _tell(child: Popen[bytes], line: str) -> None:
    assert child.stdin is not None
    child.stdin.write(line.encode() + b"\n")
    child.stdin.flush()


def _line(child: Popen[bytes]) -> list[str]:
    assert child.stdout is not None
    return child.stdout.readline().decode().split()
