"""One demonstration site: a feed, what happens to it over time, and how it answers.

A `SitePlan` is the plan; a `DemoSite` is built from it once its address is known.
"""

import heapq
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from html import escape
from typing import Final

from feedmill.model.base import Value
from feedmill_demo.edition import Article, DemoFormat, Style
from feedmill_demo.living_feed import LivingFeed
from feedmill_demo.prose import Language
from feedmill_demo.render import http_date
from feedmill_demo.seeded_random import seeded_random
from feedmill_demo.server.script import Answer, Request

_DAY_SEC: Final = 86_400.0
_HTML: Final = (("Content-Type", "text/html; charset=utf-8"),)


class Habit(Value):
    """Something that happens to a feed, again and again (roughly) or once."""

    act: Callable[[LivingFeed, datetime], None]
    every_sec: float
    once: bool = False


class ServedDocument(Value):
    """What a house would serve now."""

    body: bytes
    content_type: str
    etag: str
    last_modified: str


class SitePlan(Value):
    """The plan of a house: a name, a character in one line, and where it comes from."""

    name: str
    title: str
    about: str
    ways: "Mapping[str, Behaviour]"  # path under the house -> how it is answered
    kind: DemoFormat = "rss20"
    language: Language = "en"
    style: Style = Style()
    window: int = 20
    entries: int = 8  # published before the village opened
    habits: tuple[Habit, ...] = ()
    same_as: str | None = None  # the house whose articles it shows too


class DemoSite:
    """A built plot; `age_sec` is how old the demonstration is, in its own compressed time."""

    def __init__(
        self, plot: SitePlan, homes: Mapping[str, str], start: datetime, pace: float
    ) -> None:
        self.plot = plot
        self.address = homes[plot.name]
        self.asked = 0
        self.memory: dict[str, float] = {}  # what a manner remembers between requests
        self.age_sec = 0.0
        self._start = start
        self.pace = pace
        self._seed = plot.same_as or plot.name
        self.feed = self._build(homes[self._seed])
        self._due = [(self._gap(n, 0), n, 0) for n in range(len(plot.habits))]
        heapq.heapify(self._due)
        self._cached: tuple[int, ServedDocument] | None = None

    def answer(self, way: str, request: Request, elapsed_sec: float) -> Answer | None:
        """How the house answers at a path of its own; None when there is nothing."""
        self.catch_up(elapsed_sec)
        manner = self.plot.ways.get(way)
        if manner is None:
            return self._page(way)
        self.asked += 1
        return manner(self, request)

    def catch_up(self, elapsed_sec: float) -> None:
        """Let everything happen that is due by now, in order."""
        self.age_sec = elapsed_sec * self.pace
        while self._due and self._due[0][0] <= self.age_sec:
            due, number, turn = heapq.heappop(self._due)
            habit = self.plot.habits[number]
            habit.act(self.feed, self._at(due))
            if not habit.once:
                heapq.heappush(self._due, (due + self._gap(number, turn + 1), number, turn + 1))

    def document(self) -> ServedDocument:
        """The document of this moment, written once per change."""
        if self._cached is None or self._cached[0] != self.feed.version:
            body = self.feed.body()
            document = ServedDocument(
                body=body,
                content_type=self.feed.content_type,
                etag=f'"{sha256(body).hexdigest()[:16]}"',
                last_modified=http_date(self.feed.changed_at),
            )
            self._cached = (self.feed.version, document)
        return self._cached[1]

    def _build(self, home: str) -> LivingFeed:
        plot = self.plot
        rhythm = min((h.every_sec for h in plot.habits if not h.once), default=_DAY_SEC)
        gap = timedelta(seconds=max(1, round(rhythm / self.pace)))
        feed = LivingFeed(
            plot.kind,
            seed=self._seed,
            home=home,
            title=plot.title,
            about=plot.about,
            language=plot.language,
            style=plot.style,
            window=plot.window,
            gap=gap,
            born_at=self._start - gap * (plot.entries + 1),
        )
        feed.move(f"{self.address}feed")
        feed.publish(plot.entries)
        return feed

    def _at(self, age_sec: float) -> datetime:
        # Whole seconds, as most feeds write them.
        return self._start + timedelta(seconds=int(age_sec / self.pace))

    def _gap(self, number: int, turn: int) -> float:
        habit = self.plot.habits[number]
        return habit.every_sec * (0.7 + 0.6 * seeded_random(self._seed, "gap", number, turn))

    def _page(self, way: str) -> Answer | None:
        if way == "":
            return self._home()
        if way.startswith("audio/"):
            return Answer(headers=(("Content-Type", "audio/mpeg"),), body=b"\xff\xfb\x90\x00" * 256)
        found = (a for a in self.feed.articles if a.link == self.feed.home + way)
        article = next(found, None)
        return None if article is None else _article_page(article)

    def _home(self) -> Answer:
        title, about = escape(self.plot.title), escape(self.plot.about)
        kind = self.feed.content_type.partition(";")[0]
        links = "".join(
            f'<li><a href="{a.link}">{escape(a.title)}</a></li>' for a in self.feed.articles
        )
        page = (
            f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title>\n'
            f'<link rel="alternate" type="{kind}" title="{title}" href="{self.address}feed">\n'
            f"</head><body><h1>{title}</h1><p>{about}</p><ul>{links}</ul></body></html>\n"
        )
        return Answer(headers=_HTML, body=page.encode())


Behaviour = Callable[[DemoSite, Request], Answer]


def _article_page(article: Article) -> Answer:
    title = escape(article.title)
    page = (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body><article><h1>{title}</h1>\n{article.html}\n</article></body></html>\n"
    )
    return Answer(headers=_HTML, body=page.encode())
