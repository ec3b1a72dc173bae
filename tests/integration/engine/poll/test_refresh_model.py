"""A feed against a model of it: items come, change, go, return and get new ids; polls fail, are redirected,
die before their commit, repeat and restart; documents are read again.

Whatever the order, every item is one entry with its last text, one event tells that it is new, and one event tells each
change that a poll has seen.
"""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.support.engine_harness import opened
from tests.support.feed_documents import item, rss

from feedmill.engine.poll.replay import replay
from feedmill.errors import StoreError
from feedmill_demo.server.script import Answer, document, redirect

NUMBERS = st.integers(1, 6)
TEXTS = st.sampled_from(["One.", "Two.", "Three."])


class FeedModel(RuleBasedStateMachine):
    """What the publisher offers, what polls have seen of it, and what the store makes of that."""

    def __init__(self) -> None:
        super().__init__()
        self.offered: dict[int, tuple[str, int]] = {}  # number: text, and which id it has
        self.seen: dict[int, str] = {}
        self.told: Counter[str] = Counter()
        self._loop, self._stack = asyncio.new_event_loop(), AsyncExitStack()
        home = Path(self._stack.enter_context(TemporaryDirectory()))
        self.stage = self.run(self._stack.enter_async_context(opened(home)))
        self.feed = self.run(self.stage.add("/feed", document(rss())))

    def run(self, work: Any) -> Any:  # of any coroutine
        return self._loop.run_until_complete(work)

    def teardown(self) -> None:
        try:
            self.run(self._stack.aclose())
        finally:
            self._loop.close()

    @rule(number=NUMBERS, text=TEXTS)
    def offer(self, number: int, text: str) -> None:
        """A new item, a changed one, or one that comes back."""
        self.offered[number] = (text, self.offered.get(number, ("", 0))[1])

    @rule(number=NUMBERS)
    def withdraw(self, number: int) -> None:
        self.offered.pop(number, None)

    @rule(number=NUMBERS)
    def give_another_id(self, number: int) -> None:
        if number in self.offered:
            text, version = self.offered[number]
            self.offered[number] = (text, version + 1)

    @rule(failure=st.sampled_from([500, 404, 410, 304]))
    def fail(self, failure: int) -> None:
        """An answer without a document changes nothing; the host that fails again and again is left alone for a time."""
        self.stage.publish(self.feed, Answer(status=failure))
        self.run(self.stage.poll(self.feed))
        self.stage.later(hours=2)

    @rule()
    def restart(self) -> None:
        self.run(self.stage.reopen())

    @rule()
    def read_again(self) -> None:
        """Reading the last document again changes nothing."""
        feed = self.run(self.stage.feed(self.feed))
        self.run(replay(feed, self.stage.services, write=True))

    @precondition(lambda self: self.offered)
    @rule()
    def die(self) -> None:
        """The process dies between the answer and the commit: the next poll brings all of it."""
        self.stage.publish(self.feed, document(self._body(), etag='"dead"'))
        store, death = self.stage.services.store, StoreError("dead", reason="closed")

        async def commit(_: object) -> None:
            raise death

        vars(store)["commit"] = commit
        with pytest.raises(StoreError):
            self.run(self.stage.poll(self.feed))
        self.run(self.stage.reopen())
        self.stage.later(minutes=5)  # the lease of the dead process

    @precondition(lambda self: self.offered)
    @rule(times=st.integers(1, 2), is_redirected=st.booleans())
    def poll(self, times: int, is_redirected: bool) -> None:
        # Twice: a field that changes with every document would be learnt as volatile.
        for extra in ("", "<ttl>60</ttl>"):
            answer = document(self._body(extra))
            if is_redirected:
                self.stage.publisher.script("/elsewhere", answer, host="127.0.0.1")
                answer = redirect("/elsewhere", 302)
            self.stage.publish(self.feed, answer)
            self.run(self.stage.poll(self.feed, times=times))
        for number, (text, _) in self.offered.items():
            if number not in self.seen:
                self.told["new_entry"] += 1
            elif self.seen[number] != text:
                self.told["entry.updated"] += 1
            self.seen[number] = text

    def _body(self, extra: str = "") -> bytes:
        items = [
            item(number, guid=f"id-{number}-{version}", text=text)
            for number, (text, version) in self.offered.items()
        ]
        return rss(*items, extra=extra)

    @invariant()
    def every_item_is_one_entry_and_was_told_once(self) -> None:
        entries = self.run(self.stage.entries())
        events = Counter(event.type for event in self.run(self.stage.events()))
        assert {one.title: one.summary for one in entries} == {
            f"Title {number}": text for number, text in self.seen.items()
        }
        assert len(entries) == len(self.seen)
        for kind in ("new_entry", "entry.updated", "entry.removed"):
            assert events[kind] == self.told[kind]


FeedModel.TestCase.settings = settings(
    max_examples=8,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestFeedModel = FeedModel.TestCase
