"""Whether the page of a review works in a real browser with thousands of candidates, and how fast.

    python -m benchmarks.review_page [--candidates 5000]

Needs Chromium. The page is opened, searched, filtered, sorted, chosen from and scrolled to its
end; the ids that it saves are read as `insert-selected` reads them. Ends with 1 if anything is
not as it should be.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.browser import Browser

from feedmill.app.screeners import default_topics, evaluation_set
from feedmill.engine.two_phase.sidecar_files import read_selection
from feedmill.interfaces.cli.commands.two_phase.review import review_page
from feedmill.model.candidate import SCHEMA, CandidateFile, Window, WindowCandidate
from feedmill.model.screening import Screening
from feedmill.screen.evaluate import read_gold

SAVED: Final = "week.selected.txt"
_MONDAY: Final = datetime(2026, 1, 5, tzinfo=UTC)
_TOPICS: Final = ("lca", "mfa", "green-design")
_TELL: Final = "document.getElementById('count').textContent"
_END: Final = """(async () => {
  while (!document.getElementById("end").hidden) {
    scrollTo(0, document.body.scrollHeight);
    await new Promise((done) => setTimeout(done, 10));
  }
  return document.querySelectorAll("article").length;
})()"""


def window_of(count: int) -> tuple[CandidateFile, dict[int, Screening]]:
    """So many candidates, a third of them dropped, with what was said of them."""
    gold = [one.text for one in read_gold(evaluation_set(), default_topics())]
    candidates = tuple(
        WindowCandidate(
            candidate_id=number,
            title=f"{gold[number % len(gold)].title} ({number})",
            published_at=_MONDAY + timedelta(minutes=number),
            feed_title=gold[number % len(gold)].feed_title,
            url=f"https://paper.example/{number}",
            summary=gold[number % len(gold)].summary,
            categories=gold[number % len(gold)].categories,
            dedupe_key=f"guid:{number}",
            source=0,
        )
        for number in range(1, count + 1)
    )
    said = {
        number: Screening(
            candidate_id=number,
            suggestion="drop" if number % 3 == 0 else "keep",
            topic=None if number % 3 == 0 else _TOPICS[number % 2],
            score=0.1 if number % 3 == 0 else 0.9,
            methods=("lexical", "embedding"),
            reason="about it (0.90: lexical z +2.1, embedding z +4.0)",
        )
        for number in range(1, count + 1)
    }
    file = CandidateFile(
        schema=SCHEMA,
        created_at=_MONDAY,
        window=Window(start=_MONDAY, end=_MONDAY + timedelta(days=7)),
        topics=_TOPICS,
        prompt="",
        sources=(),
        candidates=candidates,
        digest="0" * 64,
    )
    return file, said


def changed(name: str, value: str, event: str = "change") -> str:
    """What sets a control of the page, as a person would."""
    return (
        f"(() => {{ const it = document.getElementById({name!r}); it.value = {value!r}; "
        f"it.dispatchEvent(new Event({event!r})); return {_TELL}; }})()"
    )


def walk(browser: Browser, page: Path, count: int) -> Iterator[tuple[str, float, object, object]]:
    """Every step: its name, seconds, what the page said and what it should have said."""
    kept = count - count // 3
    about = sum(1 for n in range(1, count + 1) if n % 3 and n % 2)
    yield "open", browser.open(page), browser.run(_TELL), f"0 chosen, {kept} of {count} shown"
    steps = (
        ("everything", changed("what", "all"), f"0 chosen, {count} of {count} shown"),
        ("search", changed("search", f"({count})", "input"), f"0 chosen, 1 of {count} shown"),
        ("no search", changed("search", "", "input"), f"0 chosen, {count} of {count} shown"),
        ("topic", changed("topic", "mfa"), f"0 chosen, {about} of {count} shown"),
        ("newest first", changed("order", "newest"), f"0 chosen, {about} of {count} shown"),
        (
            "choose all",
            f"document.getElementById('all').click(), {_TELL}",
            f"{about} chosen, {about} of {count} shown",
        ),
        (
            "leave one out",
            f"document.querySelector('article input').click(), {_TELL}",
            f"{about - 1} chosen, {about} of {count} shown",
        ),
        (
            "save",
            "document.getElementById('save').click(), document.getElementById('said').textContent",
            f"saved: give {SAVED} to --selected-ids-file",
        ),
        ("every topic", changed("topic", ""), f"{about - 1} chosen, {count} of {count} shown"),
        ("to the end", _END, count),
    )
    for name, expression, wanted in steps:
        began = time.perf_counter()
        got = browser.run(expression)
        yield name, time.perf_counter() - began, got, wanted
    browser.press("n", "j", "j", "x")
    yield "by keyboard", 0.0, browser.run(_TELL), f"1 chosen, {count} of {count} shown"
    yield "asked outside", 0.0, [one for one in browser.asked if one != page.as_uri()], []
    yield "complaints", 0.0, browser.complaints, []


def saved_ids(folder: Path, file: CandidateFile) -> tuple[int, ...]:
    """What `insert-selected` would take from what the page saved."""
    until = time.monotonic() + 10
    while not (folder / SAVED).exists() and time.monotonic() < until:
        time.sleep(0.05)
    return read_selection(folder / SAVED, file).ids


def measure(count: int) -> bool:
    """Walk through the page and print each step; whether all went well."""
    file, said = window_of(count)
    is_well = True
    with TemporaryDirectory(prefix="feedmill-page-") as name:
        folder = Path(name)
        page = folder / "review.html"
        page.write_text(review_page(file, file.candidates, said, save_as=SAVED), "utf-8")
        print(f"{count:,} candidates, {page.stat().st_size / 1e6:.1f} MB")
        with Browser(folder) as browser:
            for step, took, got, wanted in walk(browser, page, count):
                is_well &= got == wanted
                verdict = "ok" if got == wanted else f"WRONG: {got!r} instead of {wanted!r}"
                print(f"{step:14} {took * 1000:7.0f} ms  {verdict}")
            ids = saved_ids(folder, file)
    newest = max(n for n in range(1, count + 1) if n % 3 and n % 2)
    wanted_ids = tuple(n for n in range(1, newest) if n % 3 and n % 2)
    print(f"{len(ids):,} ids saved, {'as chosen' if ids == wanted_ids else 'WRONG'}")
    return is_well and ids == wanted_ids


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=5_000)
    sys.exit(0 if measure(parser.parse_args().candidates) else 1)


if __name__ == "__main__":
    main()
