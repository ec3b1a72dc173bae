"""The how-to about backups: its commands are run in their order, and nothing is lost on the way."""

import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.command_line import PublisherBeside
from tests.support.feed_documents import paper
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_command import warm_command

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "back-up-and-restore.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
FIRST, BACK_UP, RESTORE, UPGRADE, DOWNGRADE, FROM_SEGMENTS = BLOCKS


NEXT_EVENT = "SELECT type FROM outbox WHERE seq > ? ORDER BY seq LIMIT 1"


class Shell:
    """Runs blocks of the page in one folder."""

    def __init__(self, folder: Path, feed: str, programs: Path) -> None:
        self.folder = folder
        self.home = folder / "feedmill-data"
        self.environment = os.environ | {
            "FEED": feed,
            "FEEDMILL_HOME": "feedmill-data",
            "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
            "FEEDMILL_HOST_MIN_GAP_MS": "0",
            "PATH": f"{programs}:{os.environ['PATH']}",
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

    def last_seq(self) -> int:
        with closing(sqlite3.connect(self.home / "feedmill.db")) as database:
            (seq,) = database.execute("SELECT max(seq) FROM outbox").fetchone()
            return int(seq)

    def next_event(self, after: int) -> str:
        """The type of the event that a reader gets whose cursor stands there."""
        with closing(sqlite3.connect(self.home / "feedmill.db")) as database:
            (kind,) = database.execute(NEXT_EVENT, (after,)).fetchone()
            return str(kind)


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Path]:
    """The folder where the shell finds `feedmill`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    with warm_command(folder):
        yield folder


def test_reader_of_events_that_a_restored_backup_lacks_is_told_first(
    tmp_path: Path, programs: Path
) -> None:
    with PublisherBeside() as beside:
        beside.publisher.script("/feed", paper(1, 2), paper(2, 3), paper(4, 5, 6, 7, 8))
        shell = Shell(tmp_path, beside.publisher.url("/feed"), programs)
        shell.ok(FIRST)
        shell.ok(BACK_UP)
        shell.ok("feedmill sync --force")
        read_to = shell.last_seq()

        shell.ok(RESTORE)
        shell.ok("feedmill sync --force")

        assert shell.last_seq() > read_to
        assert shell.next_event(after=read_to) == "log.rewound"


def test_reader_of_a_store_that_was_rebuilt_on_a_new_machine_is_told_first(
    tmp_path: Path, programs: Path
) -> None:
    with PublisherBeside() as beside:
        beside.publisher.script("/feed", paper(1, 2), paper(3, 4, 5, 6, 7, 8, 9))
        shell = Shell(tmp_path, beside.publisher.url("/feed"), programs)
        shell.ok(FIRST)
        read_to = shell.last_seq()
        shell.ok(
            "mkdir new && mv feedmill-data/raw new/ && rm -r feedmill-data && mv new feedmill-data"
        )

        shell.ok("feedmill restore")
        shell.ok("feedmill sync --force")

        assert shell.last_seq() > read_to
        assert shell.next_event(after=read_to) == "log.rewound"


def test_commands_of_the_page_lose_nothing(tmp_path: Path, programs: Path) -> None:
    with PublisherBeside() as beside:
        beside.publisher.script("/feed", paper(1, 2))
        shell = Shell(tmp_path, beside.publisher.url("/feed"), programs)

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
