"""Why no feed was found at an address, in words: what the server did, and what helps."""
# Tested in tests/unit/engine/subscribe/test_no_feed.py and tests/integration/engine/subscribe/

from typing import Final

from feedmill.errors import NoFeedError
from feedmill.fetch.guard import printable_url
from feedmill.model.canonical import Found, NotCanonical
from feedmill.model.fetch import HOST_FAILURES

AS_IS: Final = "to add it unchecked, and let polling try again: --as-is (over the API: as_is)"

# The server's failure rather than the address's: tomorrow it may be a feed again.
_TRANSIENT: Final = HOST_FAILURES | {"bot-wall", "rate-limited", "forbidden", "truncated"}
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
    **dict.fromkeys(
        ("private-address", "local-name", "dotless-name"),
        (
            "leads to a private address, which is not fetched",
            "to allow its network: the setting fetch.allow_cidrs",
        ),
    ),
    "redirect-loop": ("redirects in a circle", _LATER),
    "downgrade": (
        "redirects from https to http, which is not followed",
        "give the address with http:// if you trust it",
    ),
    "empty-body": ("answers with nothing", _LATER),
    "not-found": ("does not exist", f"check the spelling, or give the site's address; {AS_IS}"),
    "gone": ("was removed for good", "give the site's address: it may have another feed"),
}


_ITSELF: Final = "give the address of the feed itself"


def nothing_found_error(url: str, found: Found, budget: int) -> NoFeedError:
    """The error for a page on which no feed was found: what was tried, and what helps."""
    where, reason, hint = f"{printable_url(url)} is a page", "no-feed-found", _ITSELF
    failed = found.failed
    if failed is not None and found.reason != "rate-limited":
        lost = NotCanonical(reason=failed.reason, detail=failed.detail, status=failed.status)
        error = no_feed_error(failed.url, lost)
        message = f"{where} that declares a feed, but {error}; {words_of_end(found, budget)}"
        return NoFeedError(
            message, reason=error.reason, is_passing=error.is_passing, hint=error.hint
        )
    match found.reason:
        case "rate-limited":
            reason, hint = found.reason, "try again later"
        case "disallowed":
            reason = "robots-disallowed"
        case "budget-spent":
            all_of_it = len(found.asked) + len(found.untried)
            reason, hint = (
                found.reason,
                f"try them all: --budget {all_of_it} (over the API: budget)",
            )
            hint = f"{hint}; or {_ITSELF}"
        case "catch-all":
            reason = found.reason
    message = f"{where}, and {words_of_end(found, budget)}"
    return NoFeedError(message, reason=reason, is_passing=reason == "rate-limited", hint=hint)


def words_of_end(found: Found, budget: int) -> str:
    """Why a search for feeds ended, in words."""
    tried, left = len(found.asked), len(found.untried)
    match found.reason:
        case "proven":
            return (
                f"{_counted(len(found.feeds), 'feed')} found, {_counted(tried, 'request')} for them"
            )
        case "declared":
            return f"{_counted(len(found.feeds), 'feed')} listed there, and not requested"
        case "rate-limited":
            return f"its host answered 429 before a feed was found ({_counted(tried, 'request')})"
        case "disallowed":
            return "its robots.txt does not let programs read it, or cannot be read"
        case "budget-spent":
            rest = "1 more address was" if left == 1 else f"{left} more addresses were"
            return f"no feed was found within {_counted(budget, 'request')}; {rest} not tried"
        case "catch-all":
            return (
                "its site answers every address with a page, so that a feed cannot be guessed"
                f" ({_counted(tried, 'request')})"
            )
        case "nothing-found":
            return f"no feed was found on it or at the usual addresses ({tried} tried)"


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


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
