"""Several processes subscribe at the same moment: one feed comes of it, and one of them made it."""

import os
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen

from tests.support.command_line import Mill
from tests.support.subscribe_harness import feed_document, page
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import WarmPopen

from feedmill_demo.server.server import Publisher

CHILD = Path(__file__).parents[4] / "tests/support/children/subscribe_addresses.py"
ROUNDS = 8


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


def _child() -> Popen[bytes]:
    return WarmPopen([CHILD], stdin=PIPE, stdout=PIPE, env=dict(os.environ))


def _tell(child: Popen[bytes], line: str) -> None:
    assert child.stdin is not None
    child.stdin.write(line.encode() + b"\n")
    child.stdin.flush()


def _line(child: Popen[bytes]) -> list[str]:
    assert child.stdout is not None
    return child.stdout.readline().decode().split()
