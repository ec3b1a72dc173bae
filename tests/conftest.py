"""What all tests share: how hypothesis looks for counter-examples, the order, temporary files, and the servers.

`make test` tries the same examples every time, so that a green tree stays green; `make fuzz` and
HYPOTHESIS_PROFILE=explore look for new ones.
"""

import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

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

# A busy machine draws slowly, and that is no failure.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _PATIENT, derandomize=True, max_examples=40)
settings.register_profile("explore", _PATIENT, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

keep_files_in_memory()

_FOLDER: Final = Path(__file__).parent
# These start, kill and restart processes and wait for them, or for answers: they begin first, so that in the end
# no test process is left alone with one of them.
_LONG: Final = (
    "integration/crash",
    "integration/chaos",
    "integration/roles",
    "integration/hostile",
    "integration/docs",
    "integration/engine/subscribe/test_pasted_inputs",
    "integration/interfaces/rest/test_openapi",
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


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `make coverage` do without laws: plain tests take the branches, a law takes them again."""
    if is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(trylast=True)  # after the order was drawn
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long tests first."""
    items.sort(key=_is_short)


def _is_short(item: pytest.Item) -> bool:
    return not item.path.relative_to(_FOLDER).as_posix().startswith(_LONG)
