"""What all tests share: how hypothesis looks for counter-examples, the order, temporary files, and the servers.

`make test` tries the same examples every time, so that a green tree stays green; `make fuzz` and
HYPOTHESIS_PROFILE=explore look for new ones.
"""

import asyncio
import gc
import os
import signal
from collections.abc import Generator
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.support.long_tests import long_first
from tests.support.memory_files import keep_files_in_memory
from tests.support.servers.databases import (  # noqa: F401 - likewise
    emptied_dsn,
    migrated_dsn,
    one_database,
)
from tests.support.servers.fixtures import (  # noqa: F401 - pytest finds fixtures by their names here
    nats_server,
    postgres,
    postgres_dsn,
    s3_server,
    valkey_server,
)
from tests.support.waiting import hang_guard

# A busy machine draws slowly, and that is no failure.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _PATIENT, derandomize=True, max_examples=40)
settings.register_profile("explore", _PATIENT, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

keep_files_in_memory()

# A shell ignores Ctrl-C in what it starts with `&`, and `nohup` a closed terminal: so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_FOLDER: Final = Path(__file__).parent
# These start, kill and restart processes and wait for them, or for answers, or take seconds of CPU: they begin first, so
# that in the end no test process is left alone with one of them.
_LONG: Final = (
    "integration/adapters/screeners/test_embedding",
    "integration/adapters/store/postgres/test_event_log",
    "integration/chaos",
    "integration/client/test_client",
    "integration/crash",
    "integration/docs",
    "integration/engine/maintain/test_move_blobs",
    "integration/engine/subscribe/test_pasted_inputs",
    "integration/engine/subscribe/test_subscriber_processes",
    "integration/hostile",
    "integration/interfaces/cli/commands/servers",
    "integration/interfaces/rest/routes/test_events",
    "integration/interfaces/rest/test_openapi",
    "integration/interfaces/test_exactly_once",
    "integration/roles",
    "integration/support/test_servers",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import every test without looking for garbage: a third of the time that it takes.

    What was imported stays to the end, so that later looks leave it out too.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in a loop of its own, within a limit."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def guarded() -> None:
        async with hang_guard():
            await pyfuncitem.obj(**given)

    asyncio.run(guarded())
    return True


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `make coverage` do without laws: plain tests take the branches, a law takes them again."""
    if is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(trylast=True)  # after the order was drawn
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long tests first in every test process."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = long_first(items, _is_long, _file, processes)


def _is_long(item: pytest.Item) -> bool:
    return _file(item).startswith(_LONG)


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(_FOLDER).as_posix()
