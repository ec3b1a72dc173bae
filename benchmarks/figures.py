"""`make bench-figures`: polls per CPU-second with the figures of every poll committed, and without.

Two mills of the same code take turns on one publisher, pass by pass; one of them leaves the figures out.
All answers are 304, where a poll is cheapest and an addition shows most.

    python -m benchmarks.figures [--feeds 2000] [--passes 15]
"""

import argparse
import json
import tempfile
from contextlib import ExitStack
from statistics import median

from benchmarks.contestants import Publisher, mill


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--feeds", type=int, default=2_000)
    parser.add_argument("--passes", type=int, default=15)
    given = parser.parse_args()
    with ExitStack() as stack:
        publisher = stack.enter_context(Publisher())
        mills = {
            name: stack.enter_context(
                mill(stack.enter_context(tempfile.TemporaryDirectory()), figures=name == "with")
            )
            for name in ("without", "with")
        }
        cpu: dict[str, list[float]] = {name: [] for name in mills}
        for one in mills.values():
            one.ask("subscribe", urls=publisher.urls(given.feeds))
            one.ask("work")
        for number in range(given.passes):
            order = list(mills) if number % 2 else list(mills)[::-1]
            for name in order:
                done = mills[name].ask("work")
                cpu[name].append(1e6 * done["cpu"] / done["polls"])
    ratios = [before / after for before, after in zip(cpu["without"], cpu["with"], strict=True)]
    print(
        json.dumps(
            {
                "cpu_us_per_poll": {name: round(median(times), 1) for name, times in cpu.items()},
                "fastest_us_per_poll": {name: round(min(times), 1) for name, times in cpu.items()},
                "polls_per_cpu_second_with_to_without": round(median(ratios), 4),
                "of_the_fastest": round(min(cpu["without"]) / min(cpu["with"]), 4),
            }
        )
    )


if __name__ == "__main__":
    main()
