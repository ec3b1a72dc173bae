"""An import that was interrupted goes on where it was, also when the clock was put right meanwhile."""

from datetime import timedelta

import pytest
from tests.integration.engine.subscribe.conftest import Visit
from tests.support.engine_harness import SteppedClock
from tests.support.subscribe_harness import Counter, feed_document

from feedmill.adapters.clock import SystemClock
from feedmill.engine.subscribe.import_list import import_outlines
from feedmill.engine.subscribe.list_formats import Outline, read_list
from feedmill.model.feed import ImportedOutline


class StoppedError(Exception):
    """What ends the first run."""


@pytest.mark.parametrize("hours", [-30, 30])
def test_what_is_done_is_not_asked_again_after_a_step_of_the_clock(
    visit: Visit, hours: int
) -> None:
    async def story(counter: Counter) -> None:
        clock = SteppedClock(SystemClock().now())
        services = counter.services._replace(clock=clock)
        outlines = [Outline(url=counter.url(f"/{name}")) for name in "abc"]
        counter.put("/c", feed_document())
        done: list[ImportedOutline] = []

        def told(item: ImportedOutline) -> None:
            done.append(item)
            clock.move(timedelta(hours=hours))
            if len(done) == 2:
                raise StoppedError

        with pytest.raises(ExceptionGroup):
            await import_outlines(outlines, services, told=told)
        before = {target.partition("?")[0] for target in counter.asked()}
        report = await import_outlines(outlines, services)
        after = {target.partition("?")[0] for target in counter.asked()}
        again = await import_outlines(outlines, services)

        assert before == {"/a", "/b"}
        assert after == {"/c"}
        assert [item.outcome for item in report.items] == ["failed", "failed", "added"]
        assert report.resumed == 2
        # A run that came to its end is over: what failed is tried anew.
        assert again.resumed == 0
        assert {"/a", "/b"} <= set(counter.asked())

    visit(story)


def test_a_list_that_is_nothing_but_brackets_is_refused_as_a_list() -> None:
    with pytest.raises(ValueError, match="begins like JSON"):
        read_list(b"[" * 100_000)
