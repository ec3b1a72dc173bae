"""Feeds in memory that publish, edit, withdraw, re-key and move entries.

    feed = LivingFeed("atom10", seed="garden", home="http://127.0.0.1:8080/garden/")
    feed.publish(3)
    feed.body()

Everything follows from the seed and from what was asked of the feed, in order. Time is given,
or passes by itself, one `gap` per change.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, assert_never

import msgspec

from feedmill_demo.article_html import article_html, hostile_html
from feedmill_demo.edition import Article, DemoFormat, Edition, GuidStyle, Style, Withdrawal
from feedmill_demo.prose import PEOPLE, PROSE, Language, headline, sentences, tags
from feedmill_demo.render import render_feed
from feedmill_demo.seeded_random import seeded_choice

EPOCH: Final = datetime(2026, 1, 5, 6, 0, tzinfo=UTC)

CONTENT_TYPES: Final[dict[DemoFormat, str]] = {
    "rss20": "application/rss+xml",
    "rss10": "application/rdf+xml",
    "atom10": "application/atom+xml",
    "json11": "application/feed+json",
}
_REKEYED: Final[dict[GuidStyle, GuidStyle]] = {
    "permalink": "tag", "tag": "permalink", "number": "permalink", "constant": "permalink",
    "none": "permalink",
}  # fmt: skip


class LivingFeed:
    """One feed and its site. `articles` are those of the current document, newest first."""

    def __init__(
        self,
        kind: DemoFormat = "rss20",
        *,
        seed: str,
        home: str,
        title: str | None = None,
        about: str = "",
        language: Language = "en",
        style: Style | None = None,
        window: int = 20,
        gap: timedelta = timedelta(hours=1),
        born_at: datetime = EPOCH,
    ) -> None:
        self.kind: DemoFormat = kind
        self.home = home
        self.address = f"{home}feed"
        self.title = title or headline(language, seed, 0)
        self.about = about
        self.style = style or Style()
        self.articles: tuple[Article, ...] = ()
        self.changed_at = born_at
        self.version = 0
        self._seed = seed
        self._language: Language = language
        self._window = window
        self._gap = gap
        self._published = 0
        self._withdrawn: tuple[Withdrawal, ...] = ()

    def publish(self, count: int = 1, *, at: datetime | None = None) -> tuple[Article, ...]:
        """New articles at the top, oldest of them first in the answer; the oldest ones fall out."""
        fresh: list[Article] = []
        for _ in range(count):
            self._change(at)
            fresh.append(self._compose(self._published))
            self._published += 1
        self.articles = (*reversed(fresh), *self.articles)[: self._window]
        return tuple(fresh)

    def edit(self, article: Article, *, at: datetime | None = None) -> Article:
        """The article with another text, in its old place."""
        self._change(at)
        edited = self._compose(article.number, article)
        self.articles = tuple(edited if a.number == article.number else a for a in self.articles)
        return edited

    def withdraw(self, article: Article, *, at: datetime | None = None) -> Withdrawal:
        """Take an article out; Atom says so with a tombstone, the others by silence."""
        self._change(at)
        gone = Withdrawal(guid=self.guid(article) or article.link, at=self.changed_at)
        self._withdrawn = (gone, *self._withdrawn)[: self._window]
        self.articles = tuple(a for a in self.articles if a.number != article.number)
        return gone

    def rekey(self) -> None:
        """Give every article, old and new, a guid of another scheme."""
        self.style = msgspec.structs.replace(self.style, ids=_REKEYED[self.style.ids])
        self.version += 1

    def move(self, to: str) -> None:
        """Call another address the feed's own; the articles' links stay."""
        self.address = to
        self.version += 1

    def guid(self, article: Article) -> str | None:
        """What identifies an article at this moment, as the document writes it."""
        match self.style.ids:
            case "permalink":
                return f"{self.home}{article.number}"
            case "tag":
                return f"tag:feedmill.test,2026:{self._seed}/{article.number}"
            case "number":
                return str(1000 + article.number)
            case "constant":
                return "0"
            case "none":
                return None
            case _:
                assert_never(self.style.ids)

    def edition(self) -> Edition:
        """What the document shows now."""
        return Edition(
            kind=self.kind,
            title=self.title,
            about=self.about,
            home=self.home,
            address=self.address,
            language=PROSE[self._language].code,
            style=self.style,
            changed_at=self.changed_at,
            entries=tuple((self.guid(article), article) for article in self.articles),
            withdrawn=self._withdrawn,
        )

    def body(self) -> bytes:
        """The document as its octets."""
        return render_feed(self.edition())

    @property
    def content_type(self) -> str:
        """What Content-Type says; the XML declaration alone names an unusual charset."""
        charset = "; charset=utf-8" if self.style.encoding == "utf-8" else ""
        return CONTENT_TYPES[self.kind] + charset

    def _change(self, at: datetime | None) -> None:
        self.changed_at = at if at is not None else self.changed_at + self._gap
        self.version += 1

    def _compose(self, number: int, before: Article | None = None) -> Article:
        revision = before.revision + 1 if before else 0
        key = (number, revision)
        return Article(
            number=number,
            revision=revision,
            link=f"{self.home}{number // self.style.articles_per_link}",
            title=headline(self._language, self._seed, number),
            summary=sentences(self._language, 2, self._seed, "summary", *key),
            html=self._html(number, revision),
            author=seeded_choice(PEOPLE, self._seed, number),
            tags=tags(self._language, self._seed, number),
            published_at=before.published_at if before else self._dated(),
            updated_at=self.changed_at,
        )

    def _dated(self) -> datetime:
        ahead = timedelta(days=400) if self.style.dates == "future" else timedelta()
        return self.changed_at + ahead

    def _html(self, number: int, revision: int) -> str:
        html = article_html(self._language, self.home, self._seed, number, revision)
        return html + hostile_html(number) if self.style.markup == "hostile" else html
