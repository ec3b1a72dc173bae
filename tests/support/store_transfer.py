"""A move as tests ask for it: in this process, or as the command that can be killed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

from tests.support.populated_home import config_of, database
from tests.support.waiting import HANG_GUARD_SEC, hang_guard
from tests.support.warm_process import WarmPopen

from feedmill.adapters.store.transfer.copy import RowsDone
from feedmill.app.store_moves import compare_stores, transfer_store
from feedmill.model.running.worker import Transfer

COMMAND = Path(sys.executable).with_name("feedmill")


async def carried(home: Path, dsn: str, **options: Any) -> Transfer:
    """Move the store of a home folder."""
    async with hang_guard():
        return await transfer_store(config_of(home), database(home), dsn, silent, **options)


async def compared(home: Path, dsn: str) -> Transfer:
    """Compare the store of a home folder with another."""
    async with hang_guard():
        return await compare_stores(config_of(home), database(home), dsn, silent)


@contextmanager
def silent(_: int, __: str) -> Iterator[RowsDone]:
    """No bar."""
    yield lambda _: None


def command(*words: str, home: Path, **environment: str) -> tuple[int, str, str]:
    """The command line as a process; how it left, and what it printed."""
    own = {"FEEDMILL_HOME": str(home), "FEEDMILL_LOG": "error", **environment}
    with WarmPopen(
        [COMMAND, *words], stdout=PIPE, stderr=PIPE, env=os.environ | own, cwd=home.parent
    ) as process:
        out, err = process.communicate(timeout=HANG_GUARD_SEC)
    return process.returncode, out.decode(), err.decode()
