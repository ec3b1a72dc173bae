"""Named, versioned URL policies: one canonical spelling per URL and purpose (D3).

`identity-v1` and `article-v1` are for entry links, offline; the three feed policies propose
variants of a feed URL, each of which is verified by a fetch before it is adopted (D1, D4), in the
order of their cleanliness (seed 004). All of them read http(s) URLs by the WHATWG standard, drop
the fragment, the default port and the user information (a credential never becomes part of a
canonical URL, D4), and all are idempotent.

Tracking parameters: query parameters that do not identify the resource.

Three lists for three questions (D1): what may be ignored when two entry links are compared
(seed 000), what an article hash ignores (seed 003, a setting), and what a feed URL may be tried
without (seed 004). The last one is long and sometimes wrong about a site; that is harmless, since
a feed URL is only adopted after a fetch proved it (D4).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import ada_url
from msgspec.structs import replace

from feedmill.canonicalise import urls
from feedmill.canonicalise.pasted_url import convert_feed_scheme
from feedmill.canonicalise.urls import http_url, split_url
from feedmill.config import NormaliseConfig
from feedmill.errors import UnknownPolicyError
from feedmill.model.base import Value


class TrackingList(Value):
    """Parameter names in lower case: whole names, and beginnings of families."""

    names: frozenset[str]
    prefixes: tuple[str, ...]


def tracking_list(names: Iterable[str]) -> TrackingList:
    """The list made ready for comparing; a name that ends in `*` stands for its whole family."""
    return _compiled(tuple(names))


def is_tracking(name: str, listed: TrackingList) -> bool:
    """Whether a decoded parameter name is on the list, in whatever case it is written."""
    name = name.lower()
    return name in listed.names or name.startswith(listed.prefixes)


def adds_only_tracking(before: str, after: str) -> bool:
    """Whether an address is another one with nothing but tracking or session parameters added."""
    one, other = http_url(before), http_url(after)
    if one is None or other is None:
        return False
    plain, tagged = split_url(one), split_url(other)
    # Servlets put the visit behind the path: /feed;jsessionid=0A1B
    path, _, visit = tagged.path.partition(";")
    ours = tagged.path if plain.path != path else path
    if (plain.scheme, plain.host, plain.port, plain.path) != (
        tagged.scheme, tagged.host, tagged.port, ours,
    ):  # fmt: skip
        return False
    kept = plain.query.split("&") if plain.query else []
    pieces = tagged.query.split("&") if tagged.query else []
    added = [piece for piece in pieces if piece not in kept]
    added += visit.split(";") if ours != tagged.path else []
    listed = tracking_list((*FEED_PARAMS, *_SESSION_PARAMS))
    return (
        bool(added)
        and all(piece in pieces for piece in kept)
        and all(is_tracking(piece.partition("=")[0], listed) for piece in added)
    )


@lru_cache(maxsize=64)
def _compiled(names: tuple[str, ...]) -> TrackingList:
    lowered = [name.lower() for name in names]
    return TrackingList(
        names=frozenset(name for name in lowered if not name.endswith("*")),
        prefixes=tuple(name[:-1] for name in lowered if len(name) > 1 and name.endswith("*")),
    )


# Seed 000 names the first five; the Mailchimp pair is in seed 003's list and in the code that
# seed 000 was written beside.
IDENTITY_PARAMS = ("utm_*", "ref", "source", "fbclid", "gclid", "mc_cid", "mc_eid")

# Seed 003, LINK_TRACKING_PARAMS: nine whole names, no family.
ARTICLE_PARAMS = NormaliseConfig().link_tracking_params

# Seed 004. `ref`, `ref_src`, `ref_url`, `source` and `via` are left out on purpose (its decision
# 1: too generic, often functional), and so is `cHash`, without which TYPO3 answers 404.
FEED_PARAMS = (
    # campaign tags
    *("utm_*", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
    *("utm_reader", "utm_name", "utm_cid", "utm_viz_id", "campaign_id"),
    *("mtm_campaign", "mtm_cid", "mtm_content", "mtm_group", "mtm_keyword", "mtm_medium"),
    *("mtm_placement", "mtm_source", "pk_campaign", "pk_cid", "pk_content", "pk_keyword"),
    *("pk_medium", "pk_source", "itm_source", "itm_medium", "itm_campaign", "itm_content"),
    *("itm_channel", "itm_audience", "int_source", "int_medium", "int_campaign"),
    *("int_content", "int_placement", "int_campaign_type", "int_keycode", "g2i_source"),
    *("g2i_medium", "g2i_campaign", "g2i_or_o", "g2i_or_p", "hmb_campaign", "hmb_medium"),
    *("hmb_source", "at_campaign", "at_custom1", "at_custom2", "at_custom3", "at_custom4"),
    *("at_medium", "at_preview_index", "cid", "ncid", "sc_cid", "xtor"),
    # click identifiers of advertising networks
    *("gclid", "dclid", "gbraid", "wbraid", "gclsrc", "gad_source", "gad_campaignid"),
    *("srsltid", "msclkid", "yclid", "ysclid", "_openstat", "s_kwcid", "ef_id", "dicbo"),
    *("oborigurl", "awinaffid", "awinmid", "clickref", "afftrack", "rb_clickid", "wickedid"),
    *("hsa_acc", "hsa_ad", "hsa_cam", "hsa_grp", "hsa_kw", "hsa_mt", "hsa_net", "hsa_src"),
    *("hsa_tgt", "hsa_ver", "algo_expid", "algo_pvid", "spm", "click_sum", "gs_l"),
    # social networks
    *("fbclid", "fb_action_ids", "fb_action_types", "fb_source", "fb_ref", "fref", "igshid"),
    *("twclid", "ttclid", "action_object_map", "action_ref_map", "action_type_map"),
    *("sr_share", "trk", "_branch_match_id", "_branch_referrer", "__readwiselocation"),
    # analytics and mail
    *("_ga", "_gl", "_bk", "_ke", "mc_cid", "mc_eid", "mc_tc", "mkt_tok", "hsctatracking"),
    *("_hsenc", "_hsmi", "__hstc", "__hsfp", "__hssc", "_bhlid", "ml_subscriber"),
    *("ml_subscriber_hash", "oly_anon_id", "oly_enc_id", "vero_conv", "vero_id"),
    *("referer", "referrer"),
    # cache busters and previews
    *("_", "timestamp", "ts", "cb", "cachebuster", "nocache", "rand", "random", "sbdcrw"),
    *("forcebypasscache", "sucurianticache", "cleancache", "rebuildcache"),
    *("kontrol_health_check_timestamp", "doing_wp_cron", "preview", "preview_id"),
    *("preview_nonce", "replytocom"),
)

# Names under which servers put a visit into the address.
_SESSION_PARAMS = (
    *("phpsessid", "jsessionid", "aspsessionid*", "cfid", "cftoken", "sid", "session"),
    *("sessionid", "session_id", "sessid", "zenid", "oscsid"),
)


class UrlPolicy(Value):
    """What a policy changes beyond what all of them do."""

    name: str
    params: tuple[str, ...]  # dropped from the query
    sorts_params: bool = False
    strips_trailing_slash: bool = False
    strips_www: bool = False
    tidies_path: bool = False  # `//` and needless or lower case %XX
    converts_feed_schemes: bool = False
    strips_query: bool = False  # the whole of it: L5 of seed 004, never by default


def cleanliness(url: str, tracking_params: Iterable[str] = FEED_PARAMS) -> float:
    """The score of seed 004, higher is cleaner; 0.0 for what is no URL.

    The function in the seed is normative, its table of examples only an ordering (D4).
    """
    try:
        parts = ada_url.parse_url(url, _PARTS)
    except ValueError:
        return 0.0
    names = [urls.param_name(piece) for piece in parts["search"][1:].split("&") if piece]
    listed = tracking_list(tracking_params)
    score = 100 if parts["protocol"] == "https:" else 0
    score += 0 if parts["hostname"].startswith("www.") else 50
    score += 20 if parts["pathname"] == "/" or not parts["pathname"].endswith("/") else 0
    score += max(0, 30 - 5 * len(names))
    score += 0 if any(is_tracking(name, listed) for name in names) else 25
    score += 0 if parts["username"] or parts["password"] else 15
    score += 0 if parts["hash"] else 10
    return score + max(0.0, (200 - _length(url)) / 10)


class FeedVariant(Value):
    """One spelling of a feed URL that is worth a try, and the policy that proposed it."""

    url: str
    policy: str
    cleanliness: float


FEED_PRESETS = ("feed-aggressive", "feed-moderate", "feed-conservative")

_IDENTITY = UrlPolicy(name="identity-v1", params=IDENTITY_PARAMS)
_ARTICLE = UrlPolicy(
    name="article-v1", params=ARTICLE_PARAMS, sorts_params=True, strips_trailing_slash=True
)
_CONSERVATIVE = UrlPolicy(
    name="feed-conservative",
    params=FEED_PARAMS,
    tidies_path=True,
    converts_feed_schemes=True,
)
_MODERATE = replace(_CONSERVATIVE, name="feed-moderate", strips_trailing_slash=True)
_AGGRESSIVE = replace(_MODERATE, name="feed-aggressive", strips_www=True)
_BARE = replace(_AGGRESSIVE, name="feed-bare", strips_query=True)

POLICIES = {
    policy.name: policy
    for policy in (_IDENTITY, _ARTICLE, _BARE, _AGGRESSIVE, _MODERATE, _CONSERVATIVE)
}
# How seed 004 numbers them; 0 is an address as it was found.
PRESET_LEVELS = {"feed-bare": 5, "feed-aggressive": 4, "feed-moderate": 3, "feed-conservative": 2}

# Second-level names under which country registries sell domains: `www.gov.uk` is a site, and
# `gov.uk` is not its name. Short on purpose; a variant that fails is simply not adopted.
_SECOND_LEVELS = frozenset(
    (
        *("ac", "co", "com", "edu", "go", "gob", "gouv", "gov", "govt", "gv", "ltd", "mil"),
        *("ne", "net", "nhs", "nom", "or", "org", "plc", "sch"),
    )
)
_IDENTITY_LIST = tracking_list(IDENTITY_PARAMS)
_AUTHORITY_SLASHES = 2
_MAX_HOST_CHARS = 255  # RFC 1035 2.3.4
_PARTS = ("protocol", "hostname", "pathname", "search", "username", "password", "hash")


def canonical_link(
    url: str,
    policy: str | UrlPolicy = "identity-v1",
    *,
    base: str | None = None,
    tracking_params: Iterable[str] | None = None,
) -> str | None:
    """The canonical spelling under a policy, or None for what is no http(s) URL.

    `tracking_params` replaces the policy's own list (`LINK_TRACKING_PARAMS` of seed 003,
    `trackingParams` of seed 004); a name that ends in `*` stands for its whole family.
    """
    chosen = _policy(policy) if isinstance(policy, str) else policy
    text = convert_feed_scheme(url.strip()) if chosen.converts_feed_schemes else url
    href = urls.http_url(text, base)
    if href is None:
        return None
    params = chosen.params if tracking_params is None else tracking_params
    return _canonical(urls.split_url(href), chosen, tracking_list(params))


def entry_spellings(href: str, article_params: Iterable[str]) -> tuple[str, str]:
    """The `identity-v1` and the `article-v1` spelling of what `http_url` returned.

    The same as two calls of `canonical_link`, from one parse.
    """
    if "?" in href or "@" in href:
        url = urls.split_url(href)
        return (
            _canonical(url, _IDENTITY, _IDENTITY_LIST),
            _canonical(url, _ARTICLE, tracking_list(article_params)),
        )
    identity = href.partition("#")[0]
    if not identity.endswith("/"):
        return identity, identity
    article = identity.rstrip("/")
    # The slash behind the host stays: it is the path.
    return identity, article if article.count("/") > _AUTHORITY_SLASHES else article + "/"


def feed_variants(
    url: str,
    presets: Sequence[str | UrlPolicy] = FEED_PRESETS,
    *,
    tracking_params: Iterable[str] | None = None,
) -> tuple[FeedVariant, ...]:
    """The distinct variants of a feed URL under the presets, cleanest first; () for no URL.

    Of presets that agree the first one is named; equally clean variants keep the presets' order.
    """
    params = None if tracking_params is None else tuple(tracking_params)
    variants: dict[str, FeedVariant] = {}
    for preset in presets:
        variant = canonical_link(url, preset, tracking_params=params)
        if variant is not None and variant not in variants:
            score = cleanliness(variant, FEED_PARAMS if params is None else params)
            name = preset if isinstance(preset, str) else preset.name
            variants[variant] = FeedVariant(url=variant, policy=name, cleanliness=score)
    return tuple(sorted(variants.values(), key=lambda variant: -variant.cleanliness))


def _policy(name: str) -> UrlPolicy:
    try:
        return POLICIES[name]
    except KeyError:
        raise UnknownPolicyError(name, tuple(POLICIES)) from None


def _canonical(url: urls.HttpUrl, policy: UrlPolicy, listed: TrackingList) -> str:
    path = urls.tidy_path(url.path) if policy.tidies_path else url.path
    if policy.strips_trailing_slash:
        path = path.rstrip("/") or "/"
    host = _without_www(url.host) if policy.strips_www else url.host
    port = f":{url.port}" if url.port else ""
    has_query = url.query and not policy.strips_query
    query = _canonical_query(url.query or "", policy, listed) if has_query else ""
    return f"{url.scheme}://{host}{port}{path}{query and '?'}{query}"


def _canonical_query(query: str, policy: UrlPolicy, listed: TrackingList) -> str:
    kept = urls.drop_params(query, lambda name: is_tracking(name, listed))
    return urls.sort_params(kept) if policy.sorts_params else kept


def _without_www(host: str) -> str:
    """The host without its label `www`, as long as a registrable name is left.

    `www.com` and `www.co.uk` are names of their own. Repeated, or a second pass would strip the
    second label of `www.www.example.com`. A host that DNS cannot hold is left as it is.
    """
    while len(host) <= _MAX_HOST_CHARS and host.startswith("www.") and _is_registrable(host[4:]):
        host = host[4:]
    return host


def registrable_domain(host: str) -> str:
    """The registrable part of a host, by its labels: `feeds.example.co.uk` is of example.co.uk.

    Without a list of public suffixes it errs on the side of a shorter name.
    """
    labels = host.lower().removesuffix(".").split(".")
    pair = ".".join(labels[-2:])
    return pair if _is_registrable(pair) else ".".join(labels[-3:])


def _is_registrable(host: str) -> bool:
    labels = host.removesuffix(".").split(".")
    if len(labels) < 2 or not all(labels):
        return False
    second, top = labels[-2:]
    return len(labels) > 2 or len(top) != 2 or second not in _SECOND_LEVELS


def _length(url: str) -> int:
    """The length in UTF-16 units, as the seed's own language counts."""
    return len(url.encode("utf-16-le")) // 2
