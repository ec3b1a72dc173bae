"""What a feed sends of its own (headers, credentials, a name), and which address may see it."""

from msgspec.structs import replace

from feedmill.canonicalise.urls import split_url
from feedmill.config import FetchConfig
from feedmill.fetch.plan import plan_fetch
from feedmill.model.feed import FeedOverrides
from feedmill.model.fetch import FetchPlan, Validators


def plan_feed_fetch(
    url: str,
    own: FeedOverrides,
    config: FetchConfig,
    *,
    validators: Validators | None = None,
    forced: bool = False,
) -> FetchPlan:
    """The request for this URL with everything that the feed sends of its own."""
    name = (("User-Agent", own.user_agent),) if own.user_agent else ()
    has_credentials = own.username is not None or own.password is not None
    return plan_fetch(
        url,
        validators,
        config,
        forced=forced,
        extra_headers=(*own.headers, *name),
        credentials=(own.username or "", own.password or "") if has_credentials else None,
    )


def is_trusted(url: str, given_url: str) -> bool:
    """Whether the address may see what was meant for the given one: its host, and no less secret."""
    if not given_url:
        return False
    target, given = split_url(url), split_url(given_url)
    is_downgrade = given.scheme == "https" and target.scheme != "https"
    return (target.host, target.port) == (given.host, given.port) and not is_downgrade


def without_credentials(own: FeedOverrides) -> FeedOverrides:
    """The feed's own settings for another host than the one that its secrets were meant for."""
    return replace(own, username=None, password=None, headers=(), verify_tls=True)
