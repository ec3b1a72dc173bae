"""How well full texts are extracted: F1 against texts that people marked, and pages per minute on one core.

    python -m tools.fulltext_quality FOLDER [--json] [--check]

FOLDER has the form of the public article-extraction-benchmark: `ground-truth.json` with the `articleBody` of each page,
and `html/<name>.html.gz`. Precision and recall count runs of four words, as that benchmark does.
"""

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import lxml.html

from feedmill.extract import extract_page
from feedmill.model.derived.fetched import ExtractedText, PageTask
from feedmill.normalise.html.sanitise import clean_html

LEAST_F1: Final = 0.95
LEAST_PAGES_A_MINUTE: Final = 300
_WORD: Final = re.compile(r"\w+")
_RUN: Final = 4


def main() -> int:
    """Print the figures; with --check exit 1 when one is too low."""
    parser = argparse.ArgumentParser(description="Quality and speed of full-text extraction")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit 1 when a figure is too low")
    options = parser.parse_args()
    figures = measure(options.folder)
    if options.json:
        print(json.dumps(figures))
    else:
        print("  ".join(f"{name} {value}" for name, value in figures.items()))
    good = figures["f1"] >= LEAST_F1 and figures["pages_a_minute"] >= LEAST_PAGES_A_MINUTE
    return 1 if options.check and not good else 0


def measure(folder: Path) -> dict[str, float]:
    """F1, precision, recall and speed over all pages of the folder."""
    truth = json.loads((folder / "ground-truth.json").read_bytes())
    pages = {
        name: PageTask(
            body=gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes()),
            url=facts.get("url") or "https://example.org/",
        )
        for name, facts in truth.items()
    }
    found: dict[str, str] = {}
    began = time.process_time()
    for name, task in pages.items():
        answer = extract_page(task)
        found[name] = (
            clean_html(answer.html, base=task.url) if isinstance(answer, ExtractedText) else ""
        )
    spent = time.process_time() - began
    pairs = [(facts["articleBody"], _text(found[name])) for name, facts in truth.items()]
    precision, recall = precision_and_recall(pairs)
    return {
        "pages": len(pages),
        "f1": round(2 * precision * recall / (precision + recall), 4),
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "pages_a_minute": round(60 * len(pages) / spent),
    }


def precision_and_recall(pairs: Iterable[tuple[str, str]]) -> tuple[float, float]:
    """Of (true text, found text): each page counts the same, however long it is."""
    hits = wrong = missed = 0.0
    for true, text in pairs:
        wanted, got = _runs(true), _runs(text)
        both = (wanted & got).total()
        total = wanted.total() + got.total() - both
        if total:
            hits += both / total
            wrong += (got.total() - both) / total
            missed += (wanted.total() - both) / total
    return hits / (hits + wrong or 1), hits / (hits + missed or 1)


def _runs(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    last = max(len(words) - _RUN + 1, min(len(words), 1))
    return Counter(tuple(words[at : at + _RUN]) for at in range(last))


def _text(html: str) -> str:
    if not html:
        return ""
    return " ".join(lxml.html.fragment_fromstring(html, create_parent="div").itertext())


if __name__ == "__main__":
    sys.exit(main())
