"""What a parsed document says of its feed: for lists of choices, and to compare formats of one feed."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.policies import canonical_link, cleanliness
from feedmill.canonicalise.same_blog import MAX_ITEMS, best_format, format_name, same_blog
from feedmill.model.canonical import FeedFacts, FoundFeed, Seen
from feedmill.model.parsed import ParsedEntry, ParsedFeed
from feedmill.normalise.dates.parse import parse_date
from feedmill.normalise.text import clean_text

_LOOKED_AT: Final = 200  # entries whose dates are read
_TITLE_CHARS: Final = 200
_OLDEST: Final = datetime.min.replace(tzinfo=UTC)
_TYPES: Final = {"atom": "application/atom+xml", "json": "application/feed+json"}


def facts_of(parsed: ParsedFeed) -> FeedFacts:
    """What the document says of its feed."""
    entries = parsed.entries[:_LOOKED_AT]
    dates = [parse_date(entry.published or entry.updated) for entry in entries]
    newest = list(entries)
    if entries and None not in dates:
        order = sorted(range(len(entries)), key=lambda place: dates[place] or _OLDEST, reverse=True)
        newest = [entries[place] for place in order]
    return FeedFacts(
        format=parsed.format,
        title=_plain(parsed.title.value if parsed.title else ""),
        site=_bare(parsed.link),
        language=parsed.language,
        entries=len(parsed.entries),
        last_post=max((date for date in dates if date is not None), default=None),
        items=tuple((_key(entry), _title(entry)) for entry in newest[:MAX_ITEMS]),
        links=tuple(entry.link for entry in newest[:MAX_ITEMS] if entry.link),
        text_chars=sum(_text_chars(entry) for entry in entries),
        dated=sum(date is not None for date in dates) + len(parsed.entries) - len(entries),
        named=sum(bool(entry.id) for entry in parsed.entries),
        has_hub=bool(parsed.hubs),
    )


def described(feed: FoundFeed, seen: Seen | None) -> FoundFeed:
    """The feed with what was seen of it; as it is when it was not requested, or is none."""
    if seen is None or not seen.is_feed:
        return replace(feed, cleanliness=cleanliness(feed.url))
    facts = seen.facts
    if facts is None:
        return replace(feed, is_fetched=True, cleanliness=cleanliness(feed.url))
    return replace(
        feed,
        is_fetched=True,
        title=feed.title or facts.title or None,  # a page tells its feeds apart better
        type=_TYPES.get(facts.format[:4], "application/rss+xml"),
        format=format_name(facts.format),
        entries=facts.entries,
        last_post=facts.last_post,
        language=facts.language,
        cleanliness=cleanliness(feed.url),
    )


def group_formats(feeds: Iterable[FoundFeed], seen: dict[str, FeedFacts]) -> tuple[FoundFeed, ...]:
    """The feeds with one for each blog: the best of its formats; the others are its alternatives."""
    groups: list[list[FoundFeed]] = []
    for feed in feeds:
        facts = seen.get(feed.url)
        group = None
        if facts is not None and facts.items:
            group = next(
                (
                    one
                    for one in groups
                    if (first := seen.get(one[0].url)) is not None
                    and first.items
                    and one[0].is_comments == feed.is_comments
                    and same_blog(first, facts)
                ),
                None,
            )
        if group is None:
            groups.append([feed])
        else:
            group.append(feed)
    return tuple(_best_of(group, seen) for group in groups)


def _best_of(group: list[FoundFeed], seen: dict[str, FeedFacts]) -> FoundFeed:
    if len(group) == 1:
        return group[0]
    best, why = best_format([seen[feed.url] for feed in group])
    others = tuple(feed.url for number, feed in enumerate(group) if number != best)
    return replace(group[best], alternatives=others, chosen_for=why)


def _key(entry: ParsedEntry) -> str:
    """What an entry is called in every format: its link, else its title and date."""
    return _bare(entry.link) or f"{_title(entry)} {entry.published or entry.updated or entry.id}"


def _bare(url: str | None) -> str:
    link = canonical_link(url, "feed-aggressive") if url else None
    return (link or "").partition("://")[2].rstrip("/")


def _title(entry: ParsedEntry) -> str:
    return _plain(entry.title.value if entry.title else "").lower()


def _plain(text: str) -> str:
    return clean_text(text, _TITLE_CHARS)


def _text_chars(entry: ParsedEntry) -> int:
    texts = [content.value for content in entry.contents]
    if entry.summary is not None:
        texts.append(entry.summary.value)
    return max(map(len, texts), default=0)
