"""The documents that are measured: generated ones, the same in every run, or a folder's.

Sizes, entry counts and kinds are drawn from what was measured on 1,207 real feeds: of those between 6
and 500 KB half are under 36 KB and one in ten over 136 KB, half have fewer than 15 entries and one in
ten more than 35. The draw is by quantile, so a small sample has the shape of a large one.
"""

import sys
from pathlib import Path
from random import Random  # noqa: TID251  # seeded: the same documents in every run
from statistics import NormalDist
from typing import Final

import msgspec
from benchmarks.formats import WRITERS, Plan

_SMALLEST: Final = 6_000  # a plan is met to within a paragraph per entry
_LARGEST: Final = 500_000
_LONGEST: Final = 320_000  # of 96 real documents, drawn in the same way
_MEDIAN_BYTES: Final = 36_000
_SPREAD_BYTES: Final = 1.03  # ln(136 / 36) over the 90th percentile of the normal distribution
_MEDIAN_ENTRIES: Final = 18
_SPREAD_ENTRIES: Final = 0.75
_LEAST_ENTRY_BYTES: Final = 800
# Of 1,000 characters in real bodies 16 are not ASCII.
_LANGUAGES: Final = {"en": 200, "fr": 16, "de": 12, "es": 12, "ru": 1, "ja": 1, "zh": 1, "ar": 1}
_ONE_BYTE: Final = ("en", "de", "fr", "es")  # 15 of 100 documents are not UTF-8


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A feed as it is now, and as it was one entry ago (None for a real one)."""

    name: str
    kind: str
    body: bytes
    earlier: bytes | None = None
    url: str = "https://example.org/feed"
    content_type: str | None = None


def generate(count: int, seed: int = 20_250_310) -> list[Document]:
    """Feeds of 5 to 500 KB with realistic markup, prose and element density."""
    chance = Random(seed)
    kinds = _kinds(count, chance)
    sizes = _quantiles(count)
    chance.shuffle(sizes)
    return [_document(number, kinds[number], sizes[number], chance) for number in range(count)]


def generate_small(kind: str, seed: int, entries: int = 3) -> Document:
    """One feed of a few kilobytes."""
    return _written(Plan(number=seed, language="en", entries=entries, entry_bytes=1_500), kind)


def generate_entries(kind: str, entries: int) -> Document:
    """One feed with so many entries of 4.5 KB, which is what real ones weigh on average."""
    return _written(Plan(number=1, language="en", entries=entries, entry_bytes=4_500), kind)


def load(folder: Path, count: int) -> list[Document]:
    """Up to `count` documents of a folder, spread evenly over its files in order of size."""
    files = sorted((path.stat().st_size, path) for path in folder.rglob("*") if path.is_file())
    usable = [path for size, path in files if _SMALLEST <= size <= _LARGEST]
    if not usable:
        sys.exit(
            f"{folder}: no documents of {_SMALLEST:,} to {_LARGEST:,} bytes there (FEEDMILL_CORPUS)"
        )
    taken = min(count, len(usable))
    return [_loaded(usable[number * len(usable) // taken]) for number in range(taken)]


def _kinds(count: int, chance: Random) -> list[str]:
    names = list(WRITERS)
    weights = [WRITERS[name][2] for name in names]
    kinds = names + chance.choices(names, weights=weights, k=max(0, count - len(names)))
    if count > 8 * len(names):  # large enough for every kind to come up by its own weight
        kinds = [
            name
            for name, weight in zip(names, weights, strict=True)
            for _ in range(round(weight * count))
        ]
        kinds += ["wordpress"] * max(0, count - len(kinds))
        chance.shuffle(kinds)
    return kinds[:count]


def _quantiles(count: int) -> list[float]:
    normal = NormalDist()
    return [normal.inv_cdf((number + 0.5) / count) for number in range(count)]


def _document(number: int, kind: str, size: float, chance: Random) -> Document:
    total = min(max(_MEDIAN_BYTES * 2.718281828 ** (size * _SPREAD_BYTES), _SMALLEST), _LONGEST)
    # Long documents tend to have more entries, but far from in proportion: the first entry of
    # a real document has 4.1 KB, though all entries together have 2.7 KB on average.
    drawn = 0.3 * size + 0.95 * chance.gauss(0, 1)
    entries = max(1, round(_MEDIAN_ENTRIES * 2.718281828 ** (drawn * _SPREAD_ENTRIES)))
    entries = min(entries, max(1, int(total / _LEAST_ENTRY_BYTES)))
    language = chance.choices(list(_LANGUAGES), weights=list(_LANGUAGES.values()))[0]
    plan = Plan(
        number=number,
        language=language,
        entries=entries,
        entry_bytes=int((total - 1_000) / entries),
        encoding="iso-8859-1" if language in _ONE_BYTE and number % 3 == 0 else "utf-8",
    )
    return _written(plan, kind)


def _written(plan: Plan, kind: str) -> Document:
    writer, content_type, _ = WRITERS[kind]
    before, after = writer(plan, Random(plan.number))
    encoding = "utf-8" if "UTF-8" in content_type or kind == "json" else plan.encoding
    earlier, body = (
        state.replace("iso-8859-1", encoding, 1).encode(encoding, "xmlcharrefreplace")
        for state in (before, after)
    )
    return Document(
        name=f"{kind}-{plan.number}",
        kind=kind,
        body=body,
        earlier=earlier,
        url=f"https://site{plan.number}.example.org/feed",
        content_type=content_type,
    )


def _loaded(path: Path) -> Document:
    kind = "json" if path.suffix == ".json" else "real"
    return Document(name=path.name, kind=kind, body=path.read_bytes())
