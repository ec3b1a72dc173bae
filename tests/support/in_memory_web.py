"""Little webs in a dictionary: what every address answers, and a search driven through them."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from feedmill.canonicalise.search import CanonicalOptions, canonicalise
from feedmill.model.canonical import Ask, Canonical, Existing, Lookup, NotCanonical, Seen

_MOST_HOPS = 6


class Page(NamedTuple):
    """What one address answers."""

    feed: str | None = None  # which feed it serves; None: none
    selves: tuple[str, ...] = ()  # the Link header's, then the document's own
    stamp: str = ""  # other bytes, the same feed
    status: int | None = 200
    to: str | None = None  # a redirect
    temporary: bool = False
    reason: str = ""
    spent: bool = True


DEAD = Page(status=404, reason="not-found")
BROKEN = Page(status=503, reason="server-error")
SILENT = Page(status=None, reason="timeout")
BUSY = Page(status=429, reason="rate-limited")
HTML = Page(status=200, reason="html-page")
NEWS = Page("news")


def news(*selves: str, stamp: str = "") -> Page:
    """The feed that most stories are about."""
    return Page("news", selves, stamp)


def other(*selves: str) -> Page:
    """Another feed."""
    return Page("other", selves)


def moved(to: str, *, temporary: bool = False) -> Page:
    """A redirect."""
    return Page(to=to, temporary=temporary)


class Told(NamedTuple):
    """The verdict of a search, and everything it wanted to know."""

    verdict: Canonical | NotCanonical
    asks: list[Ask]
    lookups: list[Lookup]
    answers: list[Seen]

    @property
    def found(self) -> Canonical:
        """The verdict of a search that found something."""
        assert isinstance(self.verdict, Canonical), self.verdict
        return self.verdict

    @property
    def lost(self) -> NotCanonical:
        """The verdict of a search that found nothing."""
        assert isinstance(self.verdict, NotCanonical), self.verdict
        return self.verdict

    @property
    def urls(self) -> list[str]:
        """Everything that was asked for, in order."""
        return [ask.url for ask in self.asks]


def search(
    address: str,
    web: Mapping[str, Page],
    *,
    known: Iterable[str] = (),
    known_later: Iterable[str] = (),
    **options: Any,
) -> Told:
    """Drive a search through a web; what is not in the web is dead.

    `known` are the addresses that the caller knows, `known_later` those that it only learns of
    while the first answer is on its way.
    """
    steps = canonicalise(address, CanonicalOptions(**options))
    told = Told(NotCanonical(reason="never-ended"), [], [], [])
    answer: Seen | Existing | None = None
    while True:
        try:
            question = steps.send(answer)
        except StopIteration as end:
            return told._replace(verdict=end.value)
        if isinstance(question, Ask):
            told.asks.append(question)
            answer = look(question.url, web)
            told.answers.append(answer)
        else:
            told.lookups.append(question)
            pool = {*known, *(known_later if question.after_fetch else ())}
            answer = next((Existing(url=url) for url in question.urls if url in pool), None)


def look(url: str, web: Mapping[str, Page]) -> Seen:
    """What an address of the web answers once its redirects were followed."""
    page, final, is_temporary = web.get(url, DEAD), url, False
    for _ in range(_MOST_HOPS):
        if page.to is None:
            return _seen(url, final, page, is_temporary=is_temporary)
        is_temporary = is_temporary or page.temporary
        final = page.to
        page = web.get(final, DEAD)
    return Seen(url=url, final_url=final, status=301, reason="redirect-loop")


def _seen(url: str, final: str, page: Page, *, is_temporary: bool) -> Seen:
    if page.feed is None:
        return Seen(
            url=url,
            final_url=final,
            status=page.status,
            reason=page.reason,
            spent=page.spent,
            is_temporary=is_temporary,
        )
    body = f"{page.feed} {page.stamp}".encode()
    return Seen(
        url=url,
        final_url=final,
        status=page.status,
        is_feed=True,
        digest=sha256(body).hexdigest(),
        signature=page.feed,
        self_urls=page.selves,
        is_temporary=is_temporary,
    )
