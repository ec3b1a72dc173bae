"""Suites and documents of others as outside judges of our parser.

Downloads feedparser's source distribution once into .conformance/, or takes any folder of cases:
expectations may stand in a comment of the document (feedparser, feedvalidator) or in a JSON file
beside it (gofeed, podcastparser and others). Prints how many of the assertions on fields that
feedmill models hold, and those that do not. With a corpus of real documents it prints what is read
of them beside feedparser, and fails when a field is lost without a reason.
"""

import argparse
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that the parts of this tool find each other

from tools.corpus import compare_corpus, print_report  # noqa: E402
from tools.feedparser_suite import Case, Verdict, judge, read_cases  # noqa: E402
from tools.json_suite import JsonCase, judge_json, read_json_cases  # noqa: E402

VERSION: Final = "6.0.14"
CACHE: Final = ROOT / ".conformance"


def main() -> int:
    """Run the suite; 0 when the share of assertions that hold is high enough."""
    options = _options()
    tests = options.suite or _download(CACHE)
    commented, beside = read_cases(tests), read_json_cases(tests)
    cases: list[Case | JsonCase] = [*commented, *beside]
    verdicts = {case.path: judge(case) for case in commented}
    verdicts |= {case.path: judge_json(case) for case in beside}
    everything = [verdict for group in verdicts.values() for verdict in group]
    _print_table(cases, verdicts)
    _print_rest(everything)
    share = _share(everything)
    print(f"\n{share:.2f} % of the comparable assertions hold; {options.at_least} % are wanted.")
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(everything), indent=1))
    lost = _compare(options.corpus or [tests]) if options.corpus or not options.suite else 0
    return 0 if share >= options.at_least and not lost else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--suite", type=Path, help="an unpacked tests/ folder instead of a download"
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        action="append",
        default=[Path(os.environ["FEEDMILL_CORPUS"])] if "FEEDMILL_CORPUS" in os.environ else [],
        help="a folder of real documents to compare with feedparser (FEEDMILL_CORPUS); repeatable",
    )
    parser.add_argument("--json", type=Path, help="write every verdict into this file")
    parser.add_argument("--at-least", type=float, default=95.0, help="the share wanted, in percent")
    return parser.parse_args()


def _compare(folders: list[Path]) -> int:
    """Print the table of each folder; how many fields are lost without a reason."""
    lost = 0
    for folder in folders:
        print(f"\n{folder.name}: ", end="")
        report = compare_corpus(folder)
        print_report(report)
        lost += len(report.unexplained)
    return lost


def _download(cache: Path) -> Path:
    """The suite's folder, fetched by pip when it is not there yet."""
    tests = cache / f"feedparser-{VERSION}" / "tests"
    if not tests.is_dir():
        cache.mkdir(exist_ok=True)
        wanted = ["--no-deps", "--no-binary", ":all:", f"feedparser=={VERSION}"]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        subprocess.run([*pip, *wanted, "--dest", str(cache)], check=True)
        with tarfile.open(cache / f"feedparser-{VERSION}.tar.gz") as archive:
            archive.extractall(cache, filter="data")  # refuses links and paths that lead outside
    return tests


def _print_table(cases: list[Case | JsonCase], verdicts: dict[str, list[Verdict]]) -> None:
    print(f"{'folder':<28}{'cases':>7}{'comparable':>12}{'hold':>7}{'%':>9}")
    folders = sorted({case.folder for case in cases})
    for folder in folders:
        inside = [case for case in cases if case.folder == folder]
        _print_row(folder, len(inside), [one for case in inside for one in verdicts[case.path]])
    _print_row("total", len(cases), [one for group in verdicts.values() for one in group])


def _print_row(name: str, cases: int, verdicts: list[Verdict]) -> None:
    counts = Counter(verdict.outcome for verdict in verdicts)
    comparable = counts["holds"] + counts["fails"]
    share = f"{_share(verdicts):.1f}" if comparable else "-"
    print(f"{name:<28}{cases:>7}{comparable:>12}{counts['holds']:>7}{share:>9}")


def _share(verdicts: list[Verdict]) -> float:
    counts = Counter(verdict.outcome for verdict in verdicts)
    comparable = counts["holds"] + counts["fails"]
    return 100 * counts["holds"] / comparable if comparable else 100.0


def _print_rest(verdicts: list[Verdict]) -> None:
    print("\nNot comparable, and why:")
    for outcome in ("not-modelled", "policy", "no-assertion"):
        reasons = Counter(one.reason for one in verdicts if one.outcome == outcome)
        for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
            print(f"{count:>6}  {outcome:<13} {reason}")
    print("\nComparable, and does not hold:")
    failed = [one for one in verdicts if one.outcome == "fails"]
    for one in sorted(failed, key=lambda one: (one.reason, one.path)):
        print(f"  [{one.reason}] {one.path}: {one.assertion[:160]}; ours {one.ours[:120]}")


if __name__ == "__main__":
    sys.exit(main())
