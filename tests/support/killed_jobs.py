"""Due jobs in a process of their own, which a failpoint may kill."""

import os
from pathlib import Path

from tests.support.archive_walk import end_leases
from tests.support.warm_process import CHILDREN, start_script


async def run_jobs_killed(home: Path, store_url: str | None, failpoint: str | None = None) -> int:
    """How the process ended; its leases are over, as if time had passed."""
    environment = {} if failpoint is None else {"FEEDMILL_FAILPOINT": failpoint}
    script, name = CHILDREN / "run_due_jobs.py", failpoint or "second"
    process = await start_script(
        script, str(home), name, store_url or "", env=os.environ | environment
    )
    ended = await process.wait()
    await end_leases(home, store_url)
    return ended
