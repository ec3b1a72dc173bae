"""Large jobs take turns with the small ones that wait; none is forgotten at the end."""

import asyncio
from collections.abc import Iterable
from itertools import takewhile

from feedmill.adapters.store.sqlite.writer import WriteJob, _Queue


def test_small_job_waits_for_one_large_job_at_most() -> None:
    assert _order("A B a C b c d") == "a A b B c C d"


def test_large_jobs_alone_are_done_in_order() -> None:
    assert _order("A B C") == "A B C"


def test_large_job_rests_after_one_that_kept_small_jobs_waiting() -> None:
    queue = _filled("A B a b", end=False)
    begun = [queue.next(), queue.next()]
    queue.rest(3_600.0)

    begun.append(queue.next())
    queue.put(_job("c"))
    begun.append(queue.next())

    assert _names(begun) == "a A b c"


def test_large_job_goes_on_when_the_one_before_kept_nobody_waiting() -> None:
    queue = _filled("A B", end=False)
    begun = [queue.next()]
    queue.rest(3_600.0)

    begun.append(queue.next())

    assert _names(begun) == "A B"


def test_rest_of_a_large_job_ends_when_no_small_job_comes() -> None:
    queue = _filled("A B a b", end=False)
    begun = [queue.next(), queue.next()]
    queue.rest(3_600.0)

    begun += [queue.next(), queue.next()]

    assert _names(begun) == "a A b B"


def test_end_of_the_store_ends_the_rest_of_a_large_job() -> None:
    queue = _filled("A B a b")
    begun = [queue.next(), queue.next()]
    queue.rest(3_600.0)

    begun += [queue.next(), queue.next()]

    assert _names(begun) == "a A b B"
    assert queue.next() is None


def test_everything_that_waits_is_taken_at_once() -> None:
    queue = _filled("A a B b")

    assert [str(job.run) for job in queue.take_all()] == ["a", "b", "A", "B"]
    assert queue.next() is None


def _order(names: str) -> str:
    queue = _filled(names)
    return _names(takewhile(lambda job: job is not None, iter(queue.next, ...)))


def _names(jobs: Iterable[WriteJob | None]) -> str:
    return " ".join(str(job.run) for job in jobs if job is not None)


def _filled(names: str, *, end: bool = True) -> _Queue:
    """A queue with these jobs, the large ones in capitals, and its end."""
    queue = _Queue()
    for name in names.split():
        queue.put(_job(name))
    if end:
        queue.put(None)
    return queue


def _job(name: str) -> WriteJob:
    loop = asyncio.new_event_loop()
    loop.close()
    return WriteJob(name, loop.create_future(), loop, name.isupper())  # type: ignore[arg-type]  # its name, never called
