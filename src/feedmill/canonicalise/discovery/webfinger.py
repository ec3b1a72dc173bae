"""Handles of the fediverse: `@user@host` leads to a profile page by WebFinger (RFC 7033).

The host may answer for accounts that live on another one, so the page is asked for and not guessed; where
there is no answer it is the page that Mastodon and its relatives have.
"""

import re
from typing import Any, Final

import msgspec

from feedmill.canonicalise.discovery.html_page import plain_url

_HANDLE: Final = re.compile(r"(?:acct:)?@?([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63})+)")
_MAX_BYTES: Final = 100_000
_MAX_LINKS: Final = 100
_FEED_TYPES: Final = ("application/atom+xml", "application/rss+xml", "application/feed+json")
_PROFILE: Final = "http://webfinger.net/rel/profile-page"
_UPDATES: Final = "http://schemas.google.com/g/2010#updates-from"


def is_handle(text: str) -> bool:
    """Whether the text is an account of the fediverse, such as `@ada@social.example`."""
    return _HANDLE.fullmatch(text.strip()) is not None


def webfinger_url(handle: str) -> str:
    """Where the host of a handle says which pages belong to it."""
    user, host = _parts(handle)
    account = user.replace("+", "%2B")
    return f"https://{host}/.well-known/webfinger?resource=acct:{account}@{host}"


def usual_page(handle: str) -> str:
    """The profile page that most servers have."""
    user, host = _parts(handle)
    return f"https://{host}/@{user}"


def page_of_account(body: bytes) -> str | None:
    """The feed or the profile page that a WebFinger answer names; None for what is none."""
    try:
        document: Any = msgspec.json.decode(body[:_MAX_BYTES])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # wrong octets, deep nesting
        return None
    links = document.get("links") if isinstance(document, dict) else None
    if not isinstance(links, list):
        return None
    named = [link for link in links[:_MAX_LINKS] if isinstance(link, dict)]
    feeds = [one for one in named if one.get("rel") == _UPDATES or one.get("type") in _FEED_TYPES]
    pages = [one for one in named if one.get("rel") == _PROFILE]
    for link in (*feeds, *pages):
        href = link.get("href")
        url = plain_url(href) if isinstance(href, str) else None
        if url is not None:
            return url
    return None


def _parts(handle: str) -> tuple[str, str]:
    found = _HANDLE.fullmatch(handle.strip())
    assert found is not None
    return found[1], found[2].lower()
