"""A blog in three formats, with as many entries in each as a test wants, and its feed of comments."""

import json

FORMATS = ("rss", "atom", "json")


class Blog:
    """A random blog: its entries, and how much of them each format shows."""

    def __init__(
        self,
        entries: int,
        shown: dict[str, int],
        title: str,
        *,
        www: bool,
        site: str = "https://blog.example",
    ) -> None:
        self.entries, self.shown, self.title, self.www, self.site = entries, shown, title, www, site

    def document(self, form: str) -> bytes:
        numbers = list(range(self.entries, 0, -1))[: self.shown[form]]
        home = self.site.replace("://", "://www.") if self.www and form == "rss" else self.site
        if form == "json":
            listed = [
                {"id": f"{home}/p/{n}/", "url": f"{home}/p/{n}/", "title": f"Post {n}",
                 "content_text": f"Text {n}", "date_published": f"2026-01-{n:02}T00:00:00Z"}
                for n in numbers
            ]  # fmt: skip
            feed = {"version": "https://jsonfeed.org/version/1.1", "title": self.title}
            return json.dumps({**feed, "home_page_url": f"{home}/", "items": listed}).encode()
        if form == "atom":
            entries = "".join(
                f'<entry><id>tag:blog.example,2026:{n}</id><title>Post {n}</title><link href="{home}/p/{n}/"/>'
                f"<updated>2026-01-{n:02}T00:00:00Z</updated><content>Text {n}</content></entry>"
                for n in numbers
            )
            return (
                f'<feed xmlns="http://www.w3.org/2005/Atom"><title>{self.title}</title><id>tag:blog.example</id>'
                f'<link href="{home}/"/><updated>2026-01-28T00:00:00Z</updated>{entries}</feed>'
            ).encode()
        items = "".join(
            f'<item><title>Post {n}</title><link>{home}/p/{n}/</link><guid isPermaLink="false">{n}</guid>'
            f"<pubDate>{n:02} Jan 2026 00:00:00 GMT</pubDate><description>T {n}</description></item>"
            for n in numbers
        )
        return (
            f'<rss version="2.0"><channel><title>{self.title} (RSS)</title><link>{home}/</link>'
            f"<description>d</description>{items}</channel></rss>"
        ).encode()

    def comments(self) -> bytes:
        items = "".join(
            f"<item><title>By: reader {n}</title><link>{self.site}/p/{n}/#comment-{n}</link><guid>c{n}</guid></item>"
            for n in range(self.entries, 0, -1)
        )
        return (
            f'<rss version="2.0"><channel><title>Comments on: {self.title}</title><link>{self.site}/</link>'
            f"<description>d</description>{items}</channel></rss>"
        ).encode()
