"""Normalises a parsed document: the feed's own fields and its entries in order.

`feedmill.normalise` at the top level is this function; it hides the attribute of the same name
that the package would have; `from feedmill.normalise.text import clean_text` works all the same.
"""

from datetime import datetime

from feedmill.config import NormaliseConfig
from feedmill.model.entry import NormalisedFeed
from feedmill.model.parsed import ParsedFeed
from feedmill.normalise.dates.parse import parse_date
from feedmill.normalise.entry import FeedContext, normalise_entry
from feedmill.normalise.fields import (
    clean_categories,
    clean_language,
    field_findings,
    field_text,
    title_text,
)
from feedmill.normalise.links import bad_link, usable_http_url
from feedmill.normalise.people import clean_authors, redact_emails

_DEFAULTS = NormaliseConfig()


def normalise(
    parsed: ParsedFeed,
    *,
    url: str | None = None,
    config: NormaliseConfig = _DEFAULTS,
    seen_at: datetime | None = None,
) -> NormalisedFeed:
    """Clean a parsed document; never raises, whatever its publisher wrote.

    `url` is where the document was found, for relative addresses; `seen_at` is the moment of the
    fetch, which stands in for dates that are missing or lie in the future (D11).
    """
    base = parsed.base or url
    context = FeedContext(
        base=base or usable_http_url(parsed.link, None),
        language=clean_language(parsed.language),
        updated=parse_date(parsed.updated) or parse_date(parsed.published),
    )
    link = usable_http_url(parsed.link, base)
    return NormalisedFeed(
        title=title_text(parsed.title, config.title_max_chars),
        subtitle=field_text(parsed.subtitle, config.summary_max_chars),
        link=link,
        self_url=usable_http_url(parsed.self_url, base),
        authors=redact_emails(
            clean_authors(parsed.authors, config.max_authors), config.author_emails
        ),
        categories=clean_categories(parsed.categories, config.max_categories),
        language=context.language,
        image=_image(parsed, base),
        updated=context.updated,
        entries=tuple(normalise_entry(entry, context, config, seen_at) for entry in parsed.entries),
        findings=(
            *field_findings("title", parsed.title, config.title_max_chars),
            *field_findings("subtitle", parsed.subtitle, config.summary_max_chars),
            *(bad_link("link", parsed.link) if link is None else ()),
        ),
    )


def _image(parsed: ParsedFeed, base: str | None) -> str | None:
    pictures = (
        parsed.image.url if parsed.image else None,
        parsed.itunes.image if parsed.itunes else None,
        parsed.icon,
    )
    return next((url for url in (usable_http_url(p, base) for p in pictures) if url), None)
