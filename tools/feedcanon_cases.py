"""One case of a feedcanon.json as we run it: its answers, its options, its stand-in functions."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from feedmill.canonicalise.pasted_url import Rewrite, blogger, feedburner, wordpress_candidates
from feedmill.canonicalise.policies import FEED_PARAMS, FEED_PRESETS, UrlPolicy
from feedmill.canonicalise.search import CanonicalOptions
from feedmill.canonicalise.urls import http_url, join_url, split_url
from feedmill.engine.subscribe.canonicalise import Face, Hooks, Reply
from feedmill.model.canonical import Existing

Case = dict[str, Any]
Bodies = dict[str, str]


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


def parser_of(case: Case, bodies: Bodies, mode: str) -> Callable[[bytes, str], Face | None] | None:
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


def search_of(options: dict[str, Any], revision: str, vectors: dict[str, Any]) -> CanonicalOptions:
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
        parts = split_url(http_url(url) or "")
        pieces = (parts.query or "").split("&")
        kept = [piece for piece in pieces if piece.partition("=")[0] != told["param"]]
        if len(kept) == len(pieces):
            return []
        query = "&".join(kept) or None
        return [join_url(replace(parts, path=path, query=query)) for path in paths]

    return probe


def hooks_of(options: dict[str, Any]) -> Hooks:
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


def hash_of(told: dict[str, str] | None) -> Callable[[bytes], str] | None:
    return None if told is None else lambda _: told["value"]
