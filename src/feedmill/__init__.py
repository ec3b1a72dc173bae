"""feedmill takes in the web's feeds and gives programs clean, deduplicated, replayable entries.

    >>> import feedmill
    >>> feed = feedmill.parse(b"<rss><channel><item><title>Hi</title></item></channel></rss>")
    >>> feedmill.normalise(feed).entries[0].title
    'Hi'

The names of feedmill.api and feedmill.interfaces.library are loaded when they are first used, so that `feedmill --help` does not
wait for an XML parser. Two of them, `parse` and `normalise`, are also names of packages; the name
on `feedmill` itself is always the function.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from feedmill.version import __version__ as __version__

if TYPE_CHECKING:
    from feedmill.api import (
        canonical_link,
        check_url,
        clean_html,
        clean_text,
        cleanliness,
        decide_next_poll,
        identity_keys,
        normalise,
        parse,
        parse_date,
        parse_retry_after,
        resolve_url,
    )
    from feedmill.interfaces.library import canonicalize

__all__ = [
    "canonical_link",
    "canonicalize",
    "check_url",
    "clean_html",
    "clean_text",
    "cleanliness",
    "decide_next_poll",
    "identity_keys",
    "normalise",
    "parse",
    "parse_date",
    "parse_retry_after",
    "resolve_url",
]


class _Library(ModuleType):
    """The module with its functions behind it; importing a package does not hide a function."""

    def __getattribute__(self, name: str) -> object:
        if name in _NAMES:
            return getattr(import_module(_ONLINE.get(name, "feedmill.api")), name)
        return super().__getattribute__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_NAMES})


_ONLINE = {"canonicalize": "feedmill.interfaces.library"}
_NAMES = frozenset(__all__)
sys.modules[__name__].__class__ = _Library
