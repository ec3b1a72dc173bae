"""`make fuzz`: hammer the parser with spoiled documents and keep what breaks a law.

With atheris (coverage-guided) when it is installed, otherwise with our own mutations of the
corpus. Every crasher is saved under tests/fuzz/crashers/ by the hash of its bytes; the test suite
reads that folder, so a crasher that is committed stays fixed.

    python -m tools.fuzz [--seconds 300] [--seed 1] [--keep 20]
"""

import argparse
import importlib.util
import sys
import time
import traceback
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from random import Random  # noqa: TID251  # seeded: a run can be repeated

from tests.support.document_mutations import CORPUS, corpus, mutate
from tests.support.parser_invariants import check, check_slices_alone

from feedmill.model.parsed import ParsedFeed

_CRASHERS = Path(__file__).parent.parent / "tests" / "fuzz" / "crashers"
_MAX_BYTES = 60_000
_MAX_STACK = 6  # mutations on top of each other


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for so many seconds; 1 when a law was broken."""
    options = _options(arguments)
    _CRASHERS.mkdir(exist_ok=True)
    if importlib.util.find_spec("atheris") is not None:
        return _with_atheris(options.seconds)
    return _with_mutations(options.seconds, options.seed, options.keep)


def broken_law(body: bytes) -> str | None:
    """Which law these bytes break, and where; None when all hold."""
    try:
        feed = check(body)
        if isinstance(feed, ParsedFeed) and not feed.repairs:
            check_slices_alone(feed, body)
    except Exception as error:  # noqa: BLE001  # finding them is the purpose
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.name}"
        return f"{type(error).__name__} in {place}: {str(error).splitlines()[:1]}"
    return None


def _with_mutations(seconds: int, seed: int, keep: int) -> int:
    chance = Random(seed)
    seeds = list(corpus().values())
    found: dict[str, int] = {}
    end = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < end and len(found) < keep:
        body = chance.choice(seeds)
        for _ in range(chance.randrange(1, _MAX_STACK)):
            body = mutate(body, seeds, chance)[:_MAX_BYTES]
        tried += 1
        law = broken_law(body)
        if law is not None:
            if law not in found:
                print(f"{law}\n    saved as {_save(_smaller(body, law))}", flush=True)
            found[law] = found.get(law, 0) + 1
    print(f"{tried:,} documents, {len(found)} laws broken (seed {seed})")
    return 1 if found else 0


def _smaller(body: bytes, law: str) -> bytes:
    """A shorter document that breaks the same law: pieces are taken out while it still does."""
    size = len(body) // 2
    while size > 0:
        at = 0
        while at < len(body):
            candidate = body[:at] + body[at + size :]
            if broken_law(candidate) == law:
                body = candidate
            else:
                at += size
        size //= 2
    return body


def _save(body: bytes) -> str:
    name = sha256(body).hexdigest()[:16]
    (_CRASHERS / name).write_bytes(body)
    return name


def _with_atheris(seconds: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["feedmill"]):
        import feedmill.parse.document  # noqa: F401

    def one_input(body: bytes) -> None:
        law = broken_law(body)
        if law is not None:
            print(f"{law}\n    saved as {_save(body)}", flush=True)
            raise AssertionError(law)

    options = [f"-max_total_time={seconds}", f"-max_len={_MAX_BYTES}", str(CORPUS)]
    atheris.Setup([sys.argv[0], *options], one_input)
    atheris.Fuzz()
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=300, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other documents")
    parser.add_argument("--keep", type=int, default=20, help="stop after so many broken laws")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
