"""The Python library: the functions that use the network.

    >>> import asyncio, feedmill
    >>> found = asyncio.run(feedmill.canonicalize("https://www.example.com/feed/?utm_source=x"))
    ... # doctest: +SKIP

Nothing is stored. The pure functions of the library are in feedmill.api.
"""
# Tested in tests/integration/canonicalise/

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from feedmill.app.services import open_fetcher
from feedmill.app.settings import load_config
from feedmill.canonicalise.pasted_url import (
    ProbeRule,
    Rewrite,
    blogger,
    feedburner,
    wordpress_candidates,
)
from feedmill.canonicalise.policies import FEED_PRESETS, PRESET_LEVELS, UrlPolicy
from feedmill.canonicalise.search import CanonicalOptions
from feedmill.canonicalise.urls import http_url, is_same_site
from feedmill.config import Config
from feedmill.engine.subscribe import canonicalise
from feedmill.engine.subscribe.add_feed import split_credentials
from feedmill.engine.subscribe.canonicalise import Prober
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.errors import UsageError
from feedmill.fetch.guard import check_url
from feedmill.model.canonical import Canonical, Existing, NotCanonical, Seen
from feedmill.model.fetch import Allowed

T = TypeVar("T")

REWRITES: Final[dict[str, Rewrite]] = {"feedburner": feedburner, "blogger": blogger}
PROBES: Final[dict[str, ProbeRule]] = {"wordpress": wordpress_candidates}


async def canonicalize(
    url: str,
    *,
    budget: int = 3,
    presets: Sequence[str | UrlPolicy] | None = None,
    levels: Sequence[int] | None = None,
    use_signature: bool = True,
    rewrites: Iterable[str | Rewrite] = (),
    probes: Iterable[str | ProbeRule] = (),
    tracking_params: Iterable[str] | None = None,
    prefer_https: bool = True,
    prefer_no_www: bool = True,
    exists_fn: canonicalise.ExistsFunction | None = None,
    verify_fn: canonicalise.VerifyFunction | None = None,
    fetch_fn: canonicalise.FetchFunction | None = None,
    hash_fn: canonicalise.HashFunction | None = None,
    parse_fn: canonicalise.ParseFunction | None = None,
    on_fetch: Callable[[str, Seen], object] | None = None,
    on_match: Callable[[str, Seen], object] | None = None,
    on_exists: Callable[[Existing], object] | None = None,
    config: Config | None = None,
) -> Canonical | NotCanonical:
    """The canonical address of the feed at `url`, verified by fetching it, or why there is none.

    `budget` is how many requests may follow the first one. `presets` (or `levels`, as seed 004
    numbers them) choose the spellings that are tried. `rewrites` and `probes` take the names
    "feedburner", "blogger" and "wordpress" or functions; none is used unless asked for. The
    functions that end in `_fn` take the place of ours and may be coroutine functions; without
    `fetch_fn` every request passes the egress guard. With it and without `verify_fn` the guard
    sees the addresses only, not what they resolve to, and lets the host of `url` itself pass.
    """
    options = CanonicalOptions(
        budget=budget,
        presets=_presets(presets, levels),
        tracking_params=None if tracking_params is None else tuple(tracking_params),
        rewrites=tuple(_named("rewrites", one, REWRITES) for one in rewrites),
        probes=tuple(_named("probes", one, PROBES) for one in probes),
        use_signature=use_signature,
        prefer_https=prefer_https,
        prefer_no_www=prefer_no_www,
    )
    settings = config or load_config()
    given_url, overrides = split_credentials(url)
    if fetch_fn is not None and verify_fn is None:
        verify_fn = partial(_is_open, given_url=given_url, config=settings)
    hooks = canonicalise.Hooks(
        exists_fn=exists_fn,
        verify_fn=verify_fn,
        on_fetch=on_fetch,
        on_match=on_match,
        on_exists=on_exists,
    )
    if fetch_fn is not None:
        look = canonicalise.prober_from_functions(
            fetch_fn, settings, hash_fn=hash_fn, parse_fn=parse_fn
        )
        return await canonicalise.canonicalise_with(look, url, options, hooks)
    async with open_fetcher(settings) as (fetcher, clock):
        prober = Prober(
            fetcher,
            clock,
            settings,
            HostQueue(clock, settings.host),
            given_url=given_url,
            overrides=overrides,
            hash_fn=hash_fn,
            parse_fn=parse_fn,
        )
        return await canonicalise.canonicalise_with(prober.probe, url, options, hooks)


async def canonicalize_each(
    urls: Iterable[str],
    options: CanonicalOptions,
    config: Config,
    action: Callable[[Canonical | NotCanonical], object],
) -> None:
    """Canonicalise one address after the other, with a shared rate limit per host."""
    async with open_fetcher(config) as (fetcher, clock):
        host_queue = HostQueue(clock, config.host)
        for url in urls:
            given_url, overrides = split_credentials(url)
            prober = Prober(
                fetcher, clock, config, host_queue, given_url=given_url, overrides=overrides
            )
            action(await canonicalise.canonicalise_with(prober.probe, url, options))


def _is_open(url: str, *, given_url: str, config: Config) -> bool:
    """True when an address found in a feed may be passed to the caller's own fetcher."""
    href = http_url(url)
    if href is None:
        return False
    if given_url and is_same_site(href, given_url):
        return True
    return isinstance(check_url(href, allow_cidrs=config.fetch.allow_cidrs), Allowed)


def _presets(
    presets: Sequence[str | UrlPolicy] | None, levels: Sequence[int] | None
) -> tuple[str | UrlPolicy, ...]:
    if levels is None:
        return tuple(FEED_PRESETS if presets is None else presets)
    names = {level: name for name, level in PRESET_LEVELS.items()}
    unknown = [level for level in levels if level not in (*names, 0, 1)]
    if unknown:
        message = f"levels contains {unknown[0]!r}, which does not exist; choose from 0 to 5"
        raise UsageError(message)
    # Levels 0 and 1 are the address itself, which is always there.
    return tuple(names[level] for level in levels if level in names)


def _named(what: str, one: str | T, known: dict[str, T]) -> T:
    if not isinstance(one, str):
        return one
    if one not in known:
        message = f"{what} contains {one!r}, which does not exist; choose from: {', '.join(known)}"
        raise UsageError(message)
    return known[one]
