"""The content of a feed at one moment: made by LivingFeed, rendered by render.py."""

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value

DemoFormat = Literal["rss20", "rss10", "atom10", "json11"]
GuidStyle = Literal["permalink", "tag", "number", "constant", "none"]
DateStyle = Literal["published", "none", "future"]
MarkupStyle = Literal["html", "xhtml", "text", "hostile"]


class Style(Value):
    """The habits of a feed's software."""

    ids: GuidStyle = "permalink"
    dates: DateStyle = "published"
    markup: MarkupStyle = "html"
    encoding: str = "utf-8"
    declares: str | None = None  # the name in the XML declaration; None: the encoding's own
    base: bool = False  # relative links under xml:base
    podcast: bool = False
    articles_per_link: int = 1  # more: a link blog, where several entries point to one place
    channel_extra: str = ""  # elements of the channel, as they are


class Article(Value):
    """One article; an edit is a new value with the next revision."""

    number: int
    link: str
    title: str
    summary: str
    html: str
    author: str
    tags: tuple[str, ...]
    published_at: datetime
    updated_at: datetime
    revision: int = 0


class Withdrawal(Value):
    """An article that its publisher took back (RFC 6721)."""

    guid: str
    at: datetime


class Edition(Value):
    """Everything that a document shows; the same edition always gives the same octets."""

    kind: DemoFormat
    title: str
    about: str
    home: str  # ends in a slash
    address: str  # the feed's own
    language: str
    style: Style
    changed_at: datetime
    entries: tuple[tuple[str | None, Article], ...] = ()  # each with its guid, newest first
    withdrawn: tuple[Withdrawal, ...] = ()
