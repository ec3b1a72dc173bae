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
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that the parts of this tool find each other

from feedmill.canonicalise.policies import FEED_PRESETS, UrlPolicy  # noqa: E402
from feedmill.canonicalise.progressive import CanonicalOptions  # noqa: E402
from feedmill.canonicalise.rewrites import (  # noqa: E402
    Rewrite,
    blogger,
    feedburner,
    wordpress_candidates,
)
from feedmill.canonicalise.tracking import FEED_PARAMS  # noqa: E402
from feedmill.canonicalise.urls import http_url, join, split  # noqa: E402
from feedmill.config import Config  # noqa: E402
from feedmill.engine.canonical import (  # noqa: E402
    Face,
    Hooks,
    Look,
    Reply,
    canonicalise_with,
    look_by,
)
from feedmill.model.canonical import Canonical, Existing, Seen  # noqa: E402

Case = dict[str, Any]
Bodies = dict[str, str]

# Why we differ on purpose, by the beginning of the case's name.
ON_PURPOSE: Final = {
    "case 43:": "credentials never become part of a canonical URL",
    "case 55:": "credentials never become part of a canonical URL",
    "case 58:": "https is not given up for an address that only answers by http",
    "case 82:": "a rewrite to what is no web address falls back to the original",
}
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
    why = next((why for name, why in ON_PURPOSE.items() if case["name"].startswith(name)), None)
    _print(case, ran, why or "UNDOCUMENTED")
    return ("undocumented" if why is None else "on purpose"), more


def _print(case: Case, ran: Ran, why: str) -> None:
    expected = case["expected"]
    print(f"{case['name']}\n  {why}")
    print(f"  got      {ran.url} ({ran.threw or ran.reason}) after {' '.join(ran.asked)}")
    print(f"  expected {expected['url']} after {' '.join(expected['fetches'])}")


async def _ran(case: Case, revision: str, vectors: dict[str, Any], mode: str) -> Ran:
    options = case["options"]
    answer = answers_of(case, vectors["bodies"], is_real=mode != "table")
    asked: list[str] = []
    hash_fn = _hash(options.get("hashFn"))
    if mode == "loopback":
        from tools.feedcanon_loopback import looking

        opened: AbstractAsyncContextManager[Look] = looking(case, answer, hash_fn)
    else:
        parse_fn = _parser(case, vectors["bodies"], mode)
        opened = nullcontext(look_by(answer, Config(), parse_fn=parse_fn, hash_fn=hash_fn))
    async with opened as look:

        async def noted(url: str) -> Seen:
            asked.append(url)
            return await look(url)

        try:
            found = await canonicalise_with(
                noted, case["input"], _search(options, revision, vectors), _hooks(options)
            )
        except RuntimeError as problem:
            return Ran(None, str(problem), "", asked)
    return Ran(found.url if isinstance(found, Canonical) else None, None, found.reason, asked)


def answers_of(case: Case, bodies: Bodies, *, is_real: bool) -> Callable[[str], Reply]:
    """What every URL answers in a case; ConnectionError where it does not answer."""

    def answer(url: str) -> Reply:
        chosen = case["responses"].get(url)
        if chosen is None:
            chosen = case["otherwise"]
            chosen = chosen.get(url.partition(":")[0], chosen)
        if "error" in chosen:
            raise ConnectionError(chosen["error"])
        reference = chosen["bodyRef"]
        if is_real and reference is not None:
            reference = chosen.get("realBodyRef", reference)
        body = "" if reference is None else _body(reference, bodies, url)
        return Reply(
            url=chosen["finalUrl"].replace("$url", url), status=chosen["status"], body=body
        )

    return answer


def _body(reference: str, bodies: Bodies, url: str) -> str:
    template = reference.removeprefix("$bodyContainsUrl:")
    return bodies[reference] if template == reference else template.replace("{url}", url)


def _parser(case: Case, bodies: Bodies, mode: str) -> Callable[[bytes, str], Face | None] | None:
    """The file's stand-in for a parser; None: ours."""
    told = case["parser"]
    if mode == "real" or told["mode"] not in ("constant", "table"):
        return None

    def parse(body: bytes, _: str) -> Face | None:
        text = body.decode()
        if told["mode"] == "constant":
            return Face(self_url=told["selfUrl"], signature=text) if text else None
        for name, one in told["bodies"].items():
            if bodies[name] == text and one["parses"]:
                return Face(self_url=one.get("selfUrl"), signature=one.get("signature") or "")
        return None

    return parse


def _search(options: dict[str, Any], revision: str, vectors: dict[str, Any]) -> CanonicalOptions:
    return CanonicalOptions(
        presets=_presets(options, revision, vectors),
        tracking_params=_params(options, revision, vectors),
        rewrites=tuple(_rewrite(one) for one in options.get("rewrites", ())),
        probes=tuple(_probe(one) for one in options.get("probes", ())),
        use_signature=options.get("useSignature", True),
    )


def _presets(
    options: dict[str, Any], revision: str, vectors: dict[str, Any]
) -> tuple[str | UrlPolicy, ...]:
    tiers = options["tiers"]
    if tiers == "default":
        if revision != "main":
            return FEED_PRESETS
        tiers = vectors["defaults"]["main"]["tiers"]
    return tuple(
        UrlPolicy(
            name=f"tier-{number}",
            params=FEED_PARAMS,
            strips_www=tier.get("stripWww", False),
            strips_trailing_slash=tier.get("stripTrailingSlash", False),
            strips_query=tier.get("stripQuery", False),
            sorts_params=tier.get("sortQueryParams", False),
            tidies_path=True,
        )
        for number, tier in enumerate(tiers)
    )


def _params(
    options: dict[str, Any], revision: str, vectors: dict[str, Any]
) -> tuple[str, ...] | None:
    chosen = options.get("stripQueryParams", "default")
    if chosen == "default":
        return tuple(vectors["defaults"]["main"]["strippedParams"]) if revision == "main" else None
    return tuple(chosen or ())


def _rewrite(told: str | dict[str, str]) -> Rewrite:
    if isinstance(told, str):
        return {"feedburner": feedburner, "blogger": blogger}[told]
    kind = told["kind"]
    if kind not in ("throws_on_match", "always", "host_replace"):
        message = f"no stand-in for the rewrite {kind!r}"
        raise SystemExit(message)

    def rewrite(url: str) -> str | None:
        if kind == "throws_on_match":
            raise ValueError(url)
        if kind == "always":
            return told["result"]
        return url.replace(told["from"], told["to"]) if told["from"] in url else None

    return rewrite


def _probe(told: str | dict[str, Any]) -> Callable[[str], Sequence[str]]:
    if isinstance(told, str):
        return {"wordpress": wordpress_candidates}[told]
    if told["kind"] != "param_to_path":
        message = f"no stand-in for the probe {told['kind']!r}"
        raise SystemExit(message)
    paths = told.get("paths") or [told["path"]]

    def probe(url: str) -> list[str]:
        from msgspec.structs import replace

        parts = split(http_url(url) or "")
        pieces = (parts.query or "").split("&")
        kept = [piece for piece in pieces if piece.partition("=")[0] != told["param"]]
        if len(kept) == len(pieces):
            return []
        query = "&".join(kept) or None
        return [join(replace(parts, path=path, query=query)) for path in paths]

    return probe


def _hooks(options: dict[str, Any]) -> Hooks:
    hooks: dict[str, Any] = {}
    if exists := options.get("exists"):

        def exists_fn(urls: Sequence[str]) -> Existing | None:
            if exists["throws"]:
                raise RuntimeError(exists["throws"])
            hits = (
                Existing(url=url, data=exists["hits"][url]) for url in urls if url in exists["hits"]
            )
            return next(hits, None)

        hooks["exists_fn"] = exists_fn
    names = {"onFetch": "on_fetch", "onMatch": "on_match", "onExists": "on_exists"}
    if throwing := options.get("callbackThrows"):

        def throw(*_: object) -> None:
            message = "Callback error"
            raise RuntimeError(message)

        hooks[names[throwing]] = throw
    return Hooks(**hooks)


def _hash(told: dict[str, str] | None) -> Callable[[bytes], str] | None:
    return None if told is None else lambda _: told["value"]


if __name__ == "__main__":
    sys.exit(main())
