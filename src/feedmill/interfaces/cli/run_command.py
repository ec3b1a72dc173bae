"""Runs a command against the engine: settings, services, signals, errors as exit codes, and a bounded shutdown."""
# Tested in tests/integration/interfaces/cli/

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import FrameType
from typing import Any, Final, NoReturn, Protocol, TypeVar

import click

from feedmill.app.services import open_services
from feedmill.app.settings import load_config, set_up_logging
from feedmill.config import Config, RunConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.errors import ConfigError, FeedmillError, NotFoundError, UsageError
from feedmill.interfaces.cli.exit import (
    SIGNALS,
    early_signal,
    exit_interrupted,
    exit_with_error,
    is_json,
)
from feedmill.interfaces.cli.output import format_count
from feedmill.observe.log import logger

STOP_LIMIT: Final[ContextVar["StopLimit | None"]] = ContextVar("stop_limit", default=None)

_GRACE_SEC: Final = 2.0  # beyond the drain, for releasing and closing
_STATUS: Final = 1
_INTERRUPTED: Final = 130


@contextmanager
def bounded_stop(config: RunConfig) -> Iterator["StopLimit"]:
    """Bound what signals stop in this block (`stop_on_signals`)."""
    limit = StopLimit(config)
    before = STOP_LIMIT.set(limit)
    try:
        yield limit
    finally:
        STOP_LIMIT.reset(before)
        limit.cancel()


class StopLimit:
    """Two alarms that begin with the stop of a role; `end` is called when the second one rings.

    A disk that needs seconds for every sync, or a database that does not answer, holds up threads that Python waits
    for at its end. What was committed is safe, and leases that are not released end by themselves: to be
    killed here costs no more than a crash.
    """

    def __init__(self, config: RunConfig, end: Callable[[int], None] = os._exit) -> None:
        self._config, self._end = config, end
        self._alarms: list[threading.Timer] = []
        self.crashed_feeds: set[str] = set()  # for the exit code

    def crashed(self, feed_id: str, _url: str | None, _problem: Exception) -> None:
        """Note that a poll failed for a reason of feedmill's own."""
        self.crashed_feeds.add(feed_id)

    def begin(self, watch: Lifecycle) -> None:
        """Start both alarms, once."""
        if self._alarms:
            return
        first = self._config.drain_sec + _GRACE_SEC
        self._alarms = [
            threading.Timer(first, self._warn, (watch,)),
            threading.Timer(2 * first, self._give_up, (watch,)),
        ]
        self._start()

    def hurry(self, watch: Lifecycle) -> None:
        """End within the grace alone: a second signal asked for it."""
        self.cancel()
        self._alarms = [threading.Timer(_GRACE_SEC, self._give_up, (watch, _INTERRUPTED))]
        self._start()

    def cancel(self) -> None:
        """The role has ended by itself."""
        for alarm in self._alarms:
            alarm.cancel()

    def _start(self) -> None:
        for alarm in self._alarms:
            alarm.daemon = True
            alarm.start()

    def _warn(self, watch: Lifecycle) -> None:
        logger("stop").warning(
            "still stopping: the disk or the database does not answer",
            lanes=watch.lanes,
            ends_in_sec=self._config.drain_sec + _GRACE_SEC,
        )

    def _give_up(self, watch: Lifecycle, status: int = _STATUS) -> None:
        logger("stop").error(
            "stopped without waiting for the disk or the database; leases that were not released end by"
            " themselves",
            lanes=watch.lanes,
            lease_sec=self._config.lease_sec,
        )
        self._end(status)


T = TypeVar("T")


class HasId(Protocol):
    """A token, a webhook, a live screen."""

    @property
    def id(self) -> str: ...


Named = TypeVar("Named", bound=HasId)
_ONE_WISH_SEC: Final = 0.1  # a person who presses Ctrl-C again is slower


def config_of() -> Config:
    """The settings in force; every mistake in them is reported at once."""
    options: dict[str, Any] = click.get_current_context().find_root().obj or {}
    set_up_logging(options.get("verbose", 0), as_json=options.get("log_json", False))
    try:
        return load_config(options.get("config"), options.get("home"))
    except ConfigError as problem:
        if is_json():
            hint = "`feedmill config show --reference` lists every setting"
            exit_with_error(problem.reason, str(problem), hint, status=2)
        words = "\n  ".join(("invalid settings", *problem.mistakes))
        exit_with_error(problem.reason, words, status=2)


def with_services(action: Callable[[Services], Awaitable[T]], *, config: Config | None = None) -> T:
    """Open the services, run the action with them, close them; errors become exit codes."""
    settings = config or config_of()

    async def run() -> T:
        async with open_services(settings) as services:
            return await action(services)

    return run_async(run)


def run_async(action: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine on uvloop where available; errors become exit codes, and Ctrl-C ends it within a limit."""
    try:
        if STOP_LIMIT.get() is not None:  # the command stops on signals itself
            return _loop(action)
        with bounded_stop(RunConfig()) as limit:
            return _loop(lambda: _interruptible(action, limit))
    except (KeyboardInterrupt, asyncio.CancelledError):
        if early_signal() in (signal.SIGTERM, signal.SIGHUP):
            sys.exit(0)  # stopped before it began: no work is lost
        exit_interrupted()
    except Exception as problem:
        cause = _cause(problem)
        if isinstance(cause, FeedmillError):
            give_up(cause)
        if cause is not problem:
            raise cause from problem
        raise


def describe_crashes(feeds: int) -> str:
    """How many polls failed because of feedmill or its store, and what to do."""
    return (
        f"{format_count(feeds, 'feed')} failed for a reason of feedmill's own; see the log,"
        " and check the store with `feedmill verify`"
    )


class SignalHandler:
    """Stops a lifecycle on SIGTERM, SIGHUP and Ctrl-C and remembers the signal; a second one stops at once.

    Within `bounded_stop` the end does not wait for a disk or a database for longer than that allows.
    A supervisor may send the same signal twice in a row, once to the process and once to its group,
    as `timeout` does: that counts as one.
    """

    def __init__(self, watch: Lifecycle) -> None:
        self.by: signal.Signals | None = None
        self._watch = watch
        self._task = asyncio.current_task()
        self._asked_sec = 0.0
        self._limit, self._is_hurried = STOP_LIMIT.get(), False
        if self._limit is not None:
            watch.stop_listeners += (partial(self._limit.begin, watch),)

    def ask(self, number: signal.Signals) -> None:
        """Stop gracefully; at the second signal, cancel the task."""
        now_sec = asyncio.get_running_loop().time()
        is_new = self.by is None
        if not is_new and self._task is not None and now_sec - self._asked_sec > _ONE_WISH_SEC:
            self._task.cancel()
            if not self._is_hurried and self._limit is not None:
                self._limit.hurry(self._watch)
            self._is_hurried = True
        if is_new:
            self._asked_sec = now_sec
        self.by = number
        self._watch.stop()


def stop_on_signals(watch: Lifecycle) -> SignalHandler:
    """Install the handlers of SIGTERM, SIGHUP and Ctrl-C for this task."""
    stopping = SignalHandler(watch)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.ask, number)
    return stopping


def pick_one(
    known: Iterable[Named], name: str, kind: str, hint: str, *, by_name: bool = False
) -> Named:
    """The one thing with this id, start or end of an id, or name; NotFoundError or UsageError otherwise."""
    found = [one for one in known if one.id == name]
    if name and not found:
        found = [one for one in known if _is_called(one, name, by_name=by_name)]
    if not found:
        message = f"there is no {kind} {name!r}"
        raise NotFoundError(message, hint)
    if len(found) > 1:
        message = f"{name!r} matches {len(found)} {kind}s; use more of the id"
        raise UsageError(message)
    return found[0]


def _is_called(one: Any, name: str, *, by_name: bool) -> bool:  # noqa: ANN401  # anything with an id
    return one.id.startswith(name) or one.id.endswith(name) or (by_name and one.name == name)


async def _interruptible(action: Callable[[], Awaitable[T]], limit: StopLimit) -> T:
    """Run it; the first Ctrl-C, which cancels it, bounds its end, and a second one does so more closely."""
    loop, before, watch = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT), Lifecycle("")
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        return await action()
    bounds = iter((limit.begin, limit.hurry))

    def interrupt(number: int, frame: FrameType | None) -> None:
        bound = next(bounds, None)
        if bound is not None:
            # Not here: a thread must not be started while another one is.
            loop.call_soon_threadsafe(bound, watch)
        before(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        return await action()
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)


def _loop(action: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await action()

    try:
        import uvloop  # noqa: PLC0415  # not on every platform
    except ImportError:
        return asyncio.run(main())
    result: T = uvloop.run(main())
    return result


def _cause(problem: BaseException) -> BaseException:
    """The first exception of an exception group."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def give_up(problem: FeedmillError, *, as_json: bool | None = None) -> NoReturn:
    """Exit with the words of an error: 2 for wrong usage and settings, 1 for anything else."""
    status = 2 if isinstance(problem, UsageError | ConfigError) else 1
    exit_with_error(problem.reason, str(problem), problem.hint, as_json=as_json, status=status)
