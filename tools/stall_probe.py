"""The command line of feedmill with a clock on its event loop: the first argument is the file of the figures.

A callback is due every 20 ms. How late it is, is counted twice: by the wall clock (`late`), and at most as much of it
as the process was on a processor meanwhile (`own`): a busy machine makes the first one large, and only feedmill the second one.
A stall of many periods counts once for each callback that it suppressed. The file is rewritten every few seconds.
"""

import asyncio
import json
import sys
import time
from array import array
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, Final

_PERIOD_SEC: Final = 0.02
_WRITE_EVERY: Final = 250  # callbacks
_LONGEST_MS: Final = 10_000

Buckets = dict[str, int]


class StallClock:
    """Counts of lateness in milliseconds; their memory is taken once, so that the clock itself does not grow."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._late = array("L", bytes(8 * (_LONGEST_MS + 1)))
        self._own = array("L", bytes(8 * (_LONGEST_MS + 1)))
        self._left = _WRITE_EVERY

    def start(self) -> None:
        """Begin to tick on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._next()

    def _next(self) -> None:
        self._due, self._cpu = time.monotonic() + _PERIOD_SEC, time.process_time()
        self._loop.call_later(_PERIOD_SEC, self._tick)

    def _tick(self) -> None:
        late = max(time.monotonic() - self._due, 0.0)
        _count(self._late, late)
        _count(self._own, min(late, time.process_time() - self._cpu))
        self._left -= 1
        if self._left == 0:
            self._left = _WRITE_EVERY
            part = self._file.with_suffix(".part")
            part.write_text(json.dumps({"late": _filled(self._late), "own": _filled(self._own)}))
            part.replace(self._file)
        self._next()


def percentile(buckets: Buckets, share: float) -> int:
    """The milliseconds that this share of the callbacks did not exceed."""
    left = share * sum(buckets.values())
    for bucket, count in sorted((int(key), count) for key, count in buckets.items()):
        left -= count
        if left <= 0:
            return bucket
    return 0


def _count(buckets: "array[int]", seconds: float) -> None:
    while seconds >= 0:
        buckets[min(int(seconds * 1000), _LONGEST_MS)] += 1
        seconds -= _PERIOD_SEC


def _filled(buckets: Iterable[int]) -> Buckets:
    return {str(number): count for number, count in enumerate(buckets) if count}


def _main() -> None:
    import uvloop  # as late as feedmill does

    from feedmill.interfaces.cli.main import main

    clock, run = StallClock(Path(sys.argv.pop(1))), uvloop.run

    async def probed(coroutine: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401  # of any command
        clock.start()
        return await coroutine

    vars(uvloop)["run"] = lambda coroutine: run(probed(coroutine))
    main()


if __name__ == "__main__":
    _main()
