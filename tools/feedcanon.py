"""Run the end-to-end cases of a feedcanon.json against our search for canonical addresses.

    python -m tools.feedcanon PATH              by a table, with the file's own stand-in parser
    python -m tools.feedcanon PATH --real       by a table, with real documents and our parser
    python -m tools.feedcanon PATH --loopback   real documents from a real server, by the real fetcher

The file was recorded from a public test suite and is not part of this project. Every difference is
printed; one that is not among the documented ones (docs/decisions/0012-canonicalisation.md) fails.
"""

import argparse
import asyncio
import json
import sys
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that the parts of this tool find each other

from tools.feedcanon_cases import (  # noqa: E402
    Case,
    answers_of,
    hash_of,
    hooks_of,
    parser_of,
    search_of,
)

from feedmill.canonicalise.policies import adds_only_tracking  # noqa: E402
from feedmill.canonicalise.urls import http_url, split_url  # noqa: E402
from feedmill.config import Config  # noqa: E402
from feedmill.engine.subscribe.canonicalise import (  # noqa: E402
    ProbeUrl,
    canonicalise_with,
    prober_from_functions,
)
from feedmill.model.canonical import Canonical, Seen  # noqa: E402

_ASKS_MORE: Final = (
    "more requests: a rewritten URL is fetched before it is believed, a dead one falls back, and a "
    "self URL that does not answer is tried on the other scheme"
)


class Ran(NamedTuple):
    """What came of one case."""

    url: str | None
    threw: str | None
    reason: str
    asked: list[str]


def main() -> int:
    """Run the file; 0 when every difference is a documented one."""
    options = _options()
    vectors = json.loads(options.path.read_text("utf-8"))
    mode = "loopback" if options.loopback else "real" if options.real else "table"
    wrong = asyncio.run(_run(vectors, mode))
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path", type=Path, help="the vectors")
    parser.add_argument("--real", action="store_true", help="real documents, our parser")
    parser.add_argument("--loopback", action="store_true", help="a real server, the real fetcher")
    return parser.parse_args()


async def _run(vectors: dict[str, Any], mode: str) -> int:
    """Run every group of cases and print its differences; how many are not documented."""
    wrong = 0
    groups = {**vectors["canonicalize"], "seed004_cases": vectors.get("seed004_cases", [])}
    for revision, cases in groups.items():
        chosen = [_completed(case) for case in cases]
        if mode != "table":
            chosen = [case for case in chosen if case["realisedVerified"]]
        counts = {"as expected": 0, "on purpose": 0, "undocumented": 0, "more requests": 0}
        for case in chosen:
            fate, more = await _judged(case, revision, vectors, mode)
            counts[fate] += 1
            counts["more requests"] += more
        wrong += counts["undocumented"]
        words = ", ".join(f"{count} {name}" for name, count in counts.items())
        print(f"{revision} ({mode}): {len(chosen)} of {len(cases)} cases run: {words}")
    return wrong


def _completed(case: Case) -> Case:
    """The worked cases of the seed in the shape of the recorded ones: real documents only."""
    options = {"tiers": "default", "stripQueryParams": "default", "rewrites": [], "probes": []}
    completed = {"otherwise": {"error": "no mock"}, "parser": {"mode": "real"}, **case}
    completed["realisedVerified"] = case.get("realisedVerified", "parser" not in case)
    completed["options"] = options | case["options"]
    completed["expected"] = {"throws": None} | case["expected"]
    return completed


async def _judged(
    case: Case, revision: str, vectors: dict[str, Any], mode: str
) -> tuple[str, bool]:
    """The fate of a case, and whether we asked for more than was recorded."""
    ran = await _ran(case, revision, vectors, mode)
    expected = case["expected"]
    more = len(ran.asked) > len(expected["fetches"])
    if ran.url == expected["url"] and (ran.threw or None) == expected["throws"]:
        if more:
            _print(case, ran, _ASKS_MORE)
        return "as expected", more
    why = _on_purpose(case, ran)
    _print(case, ran, why or "UNDOCUMENTED")
    return ("undocumented" if why is None else "on purpose"), more


def _on_purpose(case: Case, ran: Ran) -> str | None:
    """Which of the documented reasons a difference has; None: none of them."""
    expected = case["expected"]["url"]
    href = http_url(expected or "")
    if href is not None and split_url(href).userinfo:
        return "credentials never become part of a canonical URL"
    if href is not None and href.startswith("http:") and (ran.url or "").startswith("https:"):
        return "https is not given up for an address that only answers by http"
    if href is not None and ran.url is not None and adds_only_tracking(ran.url, href):
        return "a redirect that only adds tracking parameters names no better address"
    results = [one.get("result") for one in case["options"]["rewrites"] if isinstance(one, dict)]
    if expected is None and any(one and http_url(one) is None for one in results):
        return "a rewrite to what is no web address falls back to the original"
    return None


def _print(case: Case, ran: Ran, why: str) -> None:
    expected = case["expected"]
    print(f"{case['name']}\n  {why}")
    print(f"  got      {ran.url} ({ran.threw or ran.reason}) after {' '.join(ran.asked)}")
    print(f"  expected {expected['url']} after {' '.join(expected['fetches'])}")


async def _ran(case: Case, revision: str, vectors: dict[str, Any], mode: str) -> Ran:
    options = case["options"]
    answer = answers_of(case, vectors["bodies"], is_real=mode != "table")
    asked: list[str] = []
    hash_fn = hash_of(options.get("hashFn"))
    if mode == "loopback":
        from tools.feedcanon_loopback import looking

        opened: AbstractAsyncContextManager[ProbeUrl] = looking(case, answer, hash_fn)
    else:
        parse_fn = parser_of(case, vectors["bodies"], mode)
        opened = nullcontext(
            prober_from_functions(answer, Config(), parse_fn=parse_fn, hash_fn=hash_fn)
        )
    async with opened as look:

        async def noted(url: str) -> Seen:
            asked.append(url)
            return await look(url)

        try:
            found = await canonicalise_with(
                noted, case["input"], search_of(options, revision, vectors), hooks_of(options)
            )
        except RuntimeError as problem:
            return Ran(None, str(problem), "", asked)
    return Ran(found.url if isinstance(found, Canonical) else None, None, found.reason, asked)


if __name__ == "__main__":
    sys.exit(main())
