"""`feedmill run` killed with -9 twice while it walks an archive; `make archive-check` does the same at length."""

import asyncio
from pathlib import Path

from tests.support.archive_walk import walk_killed

PAGES, PER_PAGE, KILLS, GAP_MS = 12, 3, 2, 60


def test_archive_walk_killed_twice_stores_every_entry_once_and_asks_no_page_more_than_twice(
    tmp_path: Path, store_url: str | None
) -> None:
    walked = asyncio.run(
        walk_killed(
            tmp_path / "home",
            store_url,
            pages=PAGES,
            per_page=PER_PAGE,
            kills=KILLS,
            gap_ms=GAP_MS,
        )
    )

    # A busy publisher notes one request late and the next in time; `make archive-check` is strict.
    walked.check(PAGES, PER_PAGE, KILLS, GAP_MS // 2)
