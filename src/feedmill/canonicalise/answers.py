"""What an answer says about addresses: whether there was one, and where it came from."""

from feedmill.canonicalise.urls import http_url, split_url, strip_userinfo_and_fragment
from feedmill.model.canonical import Seen


def is_answered(seen: Seen) -> bool:
    return seen.status is not None and 200 <= seen.status < 300


def destination(seen: Seen) -> str:
    """The address that an answer came from; where that is none to keep, the one that was asked."""
    final = http_url(seen.final_url)
    if final is None or split_url(final).userinfo or _is_ticket(seen):
        return seen.url
    return strip_userinfo_and_fragment(final)


def _is_ticket(seen: Seen) -> bool:
    """Whether a temporary redirect led to another host, or into a session, with its own query."""
    asked, final = http_url(seen.url), http_url(seen.final_url)
    if not seen.is_temporary or asked is None or final is None:
        return False
    before, after = split_url(asked), split_url(final)
    is_elsewhere = before.host != after.host or before.path == after.path
    return is_elsewhere and after.query not in (None, before.query)
