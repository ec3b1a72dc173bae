"""`make bench-hostile`: every attack in under a second and 150 MB, or exit 1.

Each attack runs in a child process of its own with a ceiling on its address space. Time is the
CPU time of parse and normalise together; memory is what the peak rose by while they ran.

    python -m benchmarks.hostile [--only TEXT] [--all]
"""

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import msgspec
from benchmarks.attacks import ATTACKS, Attack, vector_attacks

from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.normalise.entry import normalise
from feedmill.parse.document import parse_document

_MAX_SECONDS: Final = 1.0
_MAX_MEGABYTES: Final = 150
_ADDRESS_SPACE: Final = 2 * 1024**3
_PATIENCE: Final = 60
_VECTORS: Final = Path(__file__).parent.parent / "tests" / "vectors" / "xml_attacks"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one attack; `died` says how when the child did not come back."""

    size: int = 0
    parse_seconds: float = 0.0
    normalise_seconds: float = 0.0
    megabytes: float = 0.0
    result: str = ""
    died: str = ""

    @property
    def holds(self) -> bool:
        """Whether it stayed within both bars."""
        seconds = self.parse_seconds + self.normalise_seconds
        return not self.died and seconds < _MAX_SECONDS and self.megabytes < _MAX_MEGABYTES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the attacks and print those that hurt, slowest first."""
    options = _options(arguments)
    attacks = {**vector_attacks(_VECTORS), **ATTACKS}
    chosen = {name: attack for name, attack in attacks.items() if options.only in name}
    outcomes = {name: run(attack) for name, attack in chosen.items()}
    shown = sorted(outcomes.items(), key=lambda pair: -_seconds(pair[1]))
    print(f"{'attack':42} {'MB':>6} {'parse s':>8} {'norm. s':>8} {'+MB':>7}  result")
    for name, outcome in shown:
        if options.all or not outcome.holds or _seconds(outcome) > _MAX_SECONDS / 4:
            print(_line(name, outcome))
    over = [name for name, outcome in outcomes.items() if not outcome.holds]
    print(f"\n{len(outcomes)} attacks, {len(over)} over {_MAX_SECONDS:g} s or {_MAX_MEGABYTES} MB")
    return 1 if over else 0


def run(attack: Attack) -> Outcome:
    """One attack in a child process of its own."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(attack, theirs))
    child.start()
    theirs.close()
    try:
        outcome = ours.recv() if ours.poll(_PATIENCE) else Outcome(died=f"over {_PATIENCE} s")
    except EOFError:
        outcome = Outcome(died="crashed")
    child.kill()
    child.join()
    return outcome if isinstance(outcome, Outcome) else Outcome(died=str(outcome))


def _child(attack: Attack, pipe: Connection) -> None:
    body = attack()
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    try:
        pipe.send(_measured(body))
    except Exception as error:  # noqa: BLE001  # the parent prints it; nothing may be lost here
        pipe.send(f"raised {type(error).__name__}: {str(error)[:80]}")


def _measured(body: bytes) -> Outcome:
    before = _forget_peak()
    start = time.process_time()
    feed = parse_document(RawDocument(body=body, url="https://example.org/feed"))
    parsed = time.process_time()
    if isinstance(feed, ParsedFeed):
        normalise(feed)
        result = f"{len(feed.entries):,} entries; " + ", ".join(one.code for one in feed.repairs)
    else:
        result = feed.reason
    return Outcome(
        size=len(body),
        parse_seconds=parsed - start,
        normalise_seconds=time.process_time() - parsed,
        megabytes=(_status("VmHWM") - before) / 1024,
        result=result,
    )


def _forget_peak() -> int:
    """Let the kernel count the peak anew from here; the resident size now, in kB."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def _seconds(outcome: Outcome) -> float:
    return outcome.parse_seconds + outcome.normalise_seconds + (1_000 if outcome.died else 0)


def _line(name: str, outcome: Outcome) -> str:
    mark = " " if outcome.holds else "!"
    return (
        f"{mark}{name:41} {outcome.size / 1e6:6.1f} {outcome.parse_seconds:8.3f} "
        f"{outcome.normalise_seconds:8.3f} {outcome.megabytes:7.0f}  "
        f"{outcome.died or outcome.result}"
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.hostile", description=__doc__)
    parser.add_argument("--only", default="", help="attacks whose name contains this text")
    parser.add_argument("--all", action="store_true", help="print also those that do not hurt")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
