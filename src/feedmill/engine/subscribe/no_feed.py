"""Why no feed was found at an address, in words: what the server did, and what helps."""
# Tested in tests/integration/engine/subscribe/test_resolve_address.py

from typing import Final

from feedmill.errors import NoFeedError
from feedmill.fetch.guard import printable_url
from feedmill.model.canonical import NotCanonical
from feedmill.schedule.host_pace import HOST_FAILURES

AS_IS: Final = "to add it unchecked, and let polling try again: --as-is (over the API: as_is)"

# The server's failure rather than the address's: tomorrow it may be a feed again.
_TRANSIENT: Final = HOST_FAILURES | {"rate-limited", "forbidden", "truncated"}
_LATER: Final = f"try again later, or {AS_IS.removeprefix('to ')}"
_LOGIN: Final = "give --username, and the password when asked (over the API: username, password)"
_AGENT: Final = "try another --user-agent (over the API: user_agent), or try again later"

# What the server did, and what helps.
_WORDS: Final = {
    "auth-required": ("wants a login", _LOGIN),
    "login-page": ("answers with a page that asks for a login", _LOGIN),
    "forbidden": ("refuses the request", f"{_AGENT}; if it is for members only: --username"),
    "bot-wall": ("answers programs with a challenge page", _AGENT),
    "rate-limited": ("receives too many requests", _LATER),
    "unavailable": ("is not available at the moment", _LATER),
    "server-error": ("fails to answer", _LATER),
    "timeout": ("did not answer in time", _LATER),
    "timeout-connect": ("could not be reached in time", _LATER),
    "too-slow": ("answers too slowly", _LATER),
    "connection-failed": ("could not be reached", _LATER),
    "dns-failure": ("has a host name that could not be looked up", f"check the spelling; {_LATER}"),
    "tls-failure": (
        "has a TLS certificate or connection that cannot be trusted",
        "ask its operator, or accept the risk: --insecure",
    ),
    "truncated": ("broke off in the middle of its answer", _LATER),
    "legally-unavailable": ("may not be served here, for legal reasons", AS_IS),
    "private-address": (
        "leads to a private address, which is not fetched",
        "to allow its network: the setting fetch.allow_cidrs",
    ),
    "not-found": ("does not exist", f"check the spelling, or give the site's address; {AS_IS}"),
    "gone": ("was removed for good", "give the site's address: it may have another feed"),
}


def no_feed_error(url: str, found: NotCanonical) -> NoFeedError:
    """The error for an address at which no feed was found."""
    is_transient, where = found.reason in _TRANSIENT, printable_url(url)
    facts = [found.reason, *([f"HTTP {found.status}"] if found.status else []), found.detail]
    why = ": ".join(dict.fromkeys(one for one in facts if one))
    if found.reason in _WORDS:
        said, hint = _WORDS[found.reason]
        message = f"{where} {said} ({why})"
        if is_transient:
            message += "; it is unknown whether there is a feed"
    elif is_transient:
        message, hint = f"could not check {where} ({why})", _LATER
    else:
        message, hint = f"{where} is not a feed ({why})", AS_IS
    return NoFeedError(message, reason=found.reason, is_passing=is_transient, hint=hint)
