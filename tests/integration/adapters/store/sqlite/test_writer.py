"""Large jobs take turns with the small ones that wait; none is forgotten at the end."""

import asyncio
from itertools import takewhile

from feedmill.adapters.store.sqlite.writer import WriteJob, _Queue


def test_small_job_waits_for_one_large_job_at_most() -> None:
    assert _order("A B a C b c d") == "a A b B c C d"


def test_large_jobs_alone_are_done_in_order() -> None:
    assert _order("A B C") == "A B C"


def test_everything_that_waits_is_taken_at_once() -> None:
    queue = _filled("A a B b")

    assert [str(job.run) for job in queue.take_all()] == ["a", "b", "A", "B"]
    assert queue.next() is None


def _order(names: str) -> str:
    queue = _filled(names)
    jobs = takewhile(lambda job: job is not None, iter(queue.next, ...))
    return " ".join(str(job.run) for job in jobs if job is not None)


def _filled(names: str) -> _Queue:
    """A queue with these jobs, the large ones in capitals, and its end."""
    queue, loop = _Queue(), asyncio.new_event_loop()
    for name in names.split():
        queue.put(WriteJob(name, loop.create_future(), loop, name.isupper()))  # type: ignore[arg-type]
    queue.put(None)
    loop.close()
    return queue
