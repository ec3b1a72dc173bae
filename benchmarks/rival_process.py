"""lemon24's `reader` as a process of its own, driven like `mill_process.py` on the same feeds.

    reader.update_feeds(scheduled=False, workers=N)

It does less per poll than the mill (no raw bytes, no fetch history, no decisions, no events), and
it is the closest thing that others have built.
"""

import importlib
import json
import os
import sys
import time
import warnings
from typing import Any


def main() -> None:
    options = json.loads(sys.argv[1])
    if options["core"] is not None:
        os.sched_setaffinity(0, {options["core"]})
    warnings.simplefilter("ignore")
    rival = Rival(options["home"], options["workers"])
    for line in sys.stdin:
        command = json.loads(line)
        answer = getattr(rival, command.pop("do"))(**command)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


class Rival:
    """The commands that it shares with the mill."""

    def __init__(self, home: str, workers: int) -> None:
        # It carries a feedparser that asks for sgmllib under the name which that package had
        # until feedparser 6.0.13; once it asks for the new one, these two lines can go.
        sys.modules.setdefault("sgmllib", importlib.import_module("feedparser_sgmllib"))
        make_reader = importlib.import_module("reader").make_reader
        self.reader = make_reader(f"{home}/reader.sqlite")
        self.workers = workers
        self.feeds = 0

    def subscribe(self, urls: list[str]) -> dict[str, Any]:
        for url in urls:
            self.reader.add_feed(url)
        self.feeds = len(urls)
        return {"feeds": self.feeds}

    def work(self) -> dict[str, Any]:
        """One pass over all feeds; children count too, though it has none."""
        wall, cpu = time.perf_counter(), _cpu_sec()
        self.reader.update_feeds(scheduled=False, workers=self.workers)
        figures = {"wall": time.perf_counter() - wall, "cpu": _cpu_sec() - cpu, "others": 0.0}
        return figures | {"polls": self.feeds, "outcomes": {}}

    def totals(self) -> dict[str, Any]:
        broken = self.reader.get_feed_counts(broken=True).total
        return {"entries": self.reader.get_entry_counts().total, "broken": broken}


def _cpu_sec() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
