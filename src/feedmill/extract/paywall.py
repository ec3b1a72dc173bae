"""Recognises a page of which only the beginning is free to read.

Publishers say so themselves, for search engines: `isAccessibleForFree` of schema.org in JSON-LD or microdata, or a
content tier in a meta element. Class names such as "paywall" prove nothing: they are there on free pages too.
"""

import re
from typing import Final

# Bounded windows: the value stands right behind its name.
_JSON_LD: Final = re.compile(
    r'"isAccessibleForFree"\s{0,8}:\s{0,8}"?(?:https?://schema\.org/)?(false|true)\b', re.IGNORECASE
)
_MICRODATA: Final = re.compile(
    r'itemprop\s{0,4}=\s{0,4}["\']isAccessibleForFree["\'][^>]{0,200}?content\s{0,4}=\s{0,4}["\'](false|true)',
    re.IGNORECASE,
)
_TIER: Final = re.compile(
    r'["\'](?:article:content_tier|og:article:content_tier)["\'][^>]{0,200}?content\s{0,4}=\s{0,4}'
    r'["\'](locked|metered|free)',
    re.IGNORECASE,
)


def is_paywalled(markup: str) -> bool:
    """True when the page says that it is not free to read.

    A part that is not free (`hasPart` of schema.org) comes with the page's own value first.
    """
    for pattern, locked in ((_JSON_LD, "false"), (_MICRODATA, "false"), (_TIER, "locked")):
        found = pattern.search(markup)
        if found is not None:
            return found[1].lower() == locked
    return False
