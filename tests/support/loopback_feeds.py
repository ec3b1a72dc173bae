"""Feeds for the little web: the same paper, as often as it is wanted and stamped if it must be."""

from itertools import count

from feedmill_demo.server.script import Answer, Answering, Request, document

HOSTS = ("paper.example", "www.paper.example", "mirror.example", "other.example")
_RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>{title}</title><link>https://paper.example/</link><lastBuildDate>{stamp}</lastBuildDate>{own}
<item><guid>1</guid><title>One</title><link>https://paper.example/1</link></item>
</channel></rss>"""


def rss(own: str | None = None, *, title: str = "The Paper", stamp: str = "") -> bytes:
    """The paper; `own` is what it calls itself."""
    link = "" if own is None else f'<atom:link rel="self" href="{own.replace("&", "&amp;")}"/>'
    return _RSS.format(title=title, own=link, stamp=stamp).encode()


def paper(own: str | None = None, *, title: str = "The Paper") -> Answer:
    """The paper in the same bytes every time."""
    return document(rss(own, title=title))


def stamped(own: str | None = None) -> Answering:
    """The paper with another stamp in every answer, as many servers do."""
    numbers = count(1)

    def answer(_: Request) -> Answer:
        return document(rss(own, stamp=f"answer {next(numbers)}"))

    return answer
