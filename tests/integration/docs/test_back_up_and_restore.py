"""The how-to about backups: its commands are run in their order, and nothing is lost on the way."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.support.command_line import PublisherBeside
from tests.support.feed_documents import paper
from tests.support.waiting import HANG_GUARD_SEC

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "back-up-and-restore.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
FIRST, BACK_UP, RESTORE, UPGRADE, DOWNGRADE, FROM_SEGMENTS = BLOCKS


class Shell:
    """Runs blocks of the page in one folder."""

    def __init__(self, folder: Path, feed: str) -> None:
        self.folder = folder
        self.home = folder / "feedmill-data"
        self.environment = os.environ | {
            "FEED": feed,
            "FEEDMILL_HOME": "feedmill-data",
            "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
            "FEEDMILL_HOST_MIN_GAP_MS": "0",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }

    def run(self, block: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-eu", "-c", block],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HANG_GUARD_SEC,
            check=False,
        )

    def ok(self, block: str) -> None:
        done = self.run(block)
        assert done.returncode == 0, (block, done.stdout, done.stderr)

    def titles(self) -> list[str]:
        with closing(sqlite3.connect(self.home / "feedmill.db")) as database:
            return sorted(title for (title,) in database.execute("SELECT title FROM entries"))


def test_commands_of_the_page_lose_nothing(tmp_path: Path) -> None:
    with PublisherBeside() as beside:
        beside.publisher.script("/feed", paper(1, 2))
        shell = Shell(tmp_path, beside.publisher.url("/feed"))

        shell.ok(FIRST)
        before = shell.titles()
        assert len(before) == 2
        shell.ok(BACK_UP)
        shell.ok(RESTORE)
        assert shell.titles() == before
        shell.ok(UPGRADE)

        with closing(sqlite3.connect(shell.home / "feedmill.db")) as database, database:
            database.execute("INSERT INTO schema_versions VALUES (9999, 'later', 'x')")
        refused = shell.run("feedmill verify")
        assert refused.returncode == 1
        assert "newer" in refused.stderr or "install the feedmill that wrote it" in refused.stderr
        shell.ok(DOWNGRADE)
        assert shell.titles() == before

        shell.ok(FROM_SEGMENTS)
        assert shell.titles() == before
        searched = shell.run(f'feedmill search "{before[0]}" --json')
        assert json.loads(searched.stdout)["items"][0]["title"] == before[0]
