"""How clean a feed URL looks: the order in which its variants are tried (seed 004)."""

from collections.abc import Iterable

import ada_url

from feedmill.canonicalise.query import param_name
from feedmill.canonicalise.tracking import FEED_PARAMS, is_tracking, tracking_list

_PARTS = ("protocol", "hostname", "pathname", "search", "username", "password", "hash")


def cleanliness(url: str, tracking_params: Iterable[str] = FEED_PARAMS) -> float:
    """The score of seed 004, higher is cleaner; 0.0 for what is no URL.

    The function in the seed is normative, its table of examples only an ordering (D4).
    """
    try:
        parts = ada_url.parse_url(url, _PARTS)
    except ValueError:
        return 0.0
    names = [param_name(piece) for piece in parts["search"][1:].split("&") if piece]
    listed = tracking_list(tracking_params)
    score = 100 if parts["protocol"] == "https:" else 0
    score += 0 if parts["hostname"].startswith("www.") else 50
    score += 20 if parts["pathname"] == "/" or not parts["pathname"].endswith("/") else 0
    score += max(0, 30 - 5 * len(names))
    score += 0 if any(is_tracking(name, listed) for name in names) else 25
    score += 0 if parts["username"] or parts["password"] else 15
    score += 0 if parts["hash"] else 10
    return score + max(0.0, (200 - _length(url)) / 10)


def _length(url: str) -> int:
    """The length in UTF-16 units, as the seed's own language counts."""
    return len(url.encode("utf-16-le")) // 2
