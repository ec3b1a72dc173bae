"""A web of small sites for pasted addresses: names, schemes, redirects, platforms, broken and hostile hosts."""

from tests.support.feed_documents import numbered
from tests.support.scripted_fetcher import ScriptedFetcher, said

from feedmill.engine.ports.fetcher import BodyRoom
from feedmill.model.fetch import FetchPlan, Hop, RawResponse

_HTML = (("Content-Type", "text/html"),)
_RSS = (("Content-Type", "application/rss+xml"),)
_CHANNEL = "UCabcdefghijklmnopqrstuv"
_VIDEOS = "https://www.youtube.com/feeds/videos.xml"

# What the platforms serve as feeds.
PLATFORM_FEEDS = (
    f"{_VIDEOS}?channel_id={_CHANNEL}", f"{_VIDEOS}?playlist_id=UULF{_CHANNEL[2:]}",
    f"{_VIDEOS}?playlist_id=UUSH{_CHANNEL[2:]}", f"{_VIDEOS}?playlist_id=PL0123456789abcdef",
    "https://github.com/ada/engine/releases.atom", "https://github.com/ada/engine/tags.atom",
    "https://github.com/ada/engine/commits/main.atom", "https://github.com/ada.atom",
    "https://gitlab.com/ada/engine/-/releases.atom", "https://gitlab.com/ada.atom",
    "https://git.example/ada/engine/-/tags?format=atom", "https://codeberg.org/ada.rss",
    "https://codeberg.org/ada/engine/releases.rss", "https://forge.example/ada/engine.rss",
    "https://www.reddit.com/r/python/.rss", "https://www.reddit.com/user/ada/.rss",
    "https://www.reddit.com/r/python/new/.rss", "https://ada.wordpress.com/feed/",
    "https://ada.substack.com/feed", "https://medium.com/feed/@ada", "https://ada.medium.com/feed",
    "https://ada.tumblr.com/rss", "https://ada.blogspot.com/feeds/posts/default",
    "https://bsky.app/profile/ada.bsky.social/rss", "https://news.ycombinator.com/rss",
    "https://social.example/@ada.rss", "https://lemmy.example/feeds/c/news.xml",
    "https://tube.example/feeds/videos.xml?videoChannelName=films",
    "https://tube.example/feeds/videos.xml?accountName=ada",
    "https://stackoverflow.com/feeds/tag?tagnames=python&sort=newest",
    "https://unix.stackexchange.com/feeds/question/12", "https://askubuntu.com/feeds",
    "https://forum.example/latest.rss", "https://forum.example/t/hello/7.rss",
    "https://rss.arxiv.org/atom/cs.LG", "https://arxiv.org/a/lovelace_a_1.atom",
    "https://dev.to/feed/ada", "https://vimeo.com/ada/videos/rss", "https://lobste.rs/rss",
    "https://pypi.org/rss/project/engine/releases.xml", "https://sourceforge.net/projects/engine/rss",
    "https://store.steampowered.com/feeds/news/app/7", "https://letterboxd.com/ada/rss/",
    "https://ada.itch.io/game/devlog.rss", "https://ghost.example/rss/",
    "https://feeds.soundcloud.com/users/soundcloud:users:7/sounds.rss", "https://cast.example/show",
    "https://en.wikipedia.org/w/index.php?title=Ada&action=history&feed=atom",
)  # fmt: skip


class _Sites(ScriptedFetcher):
    """What is not scripted on a host that is there answers 404."""

    async def fetch(
        self,
        plan: FetchPlan,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        room: BodyRoom | None = None,
    ) -> RawResponse:
        origin = "/".join(plan.url.split("/")[:3])
        if plan.url not in self._answers and any(one.startswith(origin) for one in self._answers):
            self.script(plan.url, said(plan.url, 404))
        return await super().fetch(plan, verify_tls=verify_tls, proxy=proxy, room=room)


class PastedWeb:
    """A scripted web, by address."""

    def __init__(self) -> None:
        self.fetcher = _Sites()
        self._feeds = 0

    def feed(self, *urls: str, self_url: str = "", entries: int = 3) -> None:
        """One feed at all of these addresses; other entries than every feed before."""
        self._feeds += 1
        numbers = range(self._feeds * 100, self._feeds * 100 + entries)
        link = f'<atom:link rel="self" href="{self_url}"/>' if self_url else ""
        body = numbered(*numbers, extra=link)
        body = body.replace(b"<title>Paper<", f"<title>Feed {self._feeds}<".encode(), 1)
        for url in urls:
            self.fetcher.script(url, said(url, body=body, headers=_RSS))

    def page(
        self, url: str, *links: str, body: str = "", head: str = "", status: int = 200
    ) -> None:
        """A page that declares these feeds, on a site without robots.txt."""
        declared = "".join(
            f'<link rel="alternate" type="application/rss+xml" href="{one}">' for one in links
        )
        html = f"<!doctype html><html><head>{declared}{head}</head><body>{body}</body></html>"
        self.fetcher.script(url, said(url, status, html.encode(), _HTML))
        self.site(url)

    def site(self, url: str, robots: str = "") -> None:
        """What is not there answers 404; robots.txt is there if it is given."""
        origin = "/".join(url.split("/")[:3])
        answer = said(f"{origin}/robots.txt", 200 if robots else 404, robots.encode())
        self.fetcher.script(f"{origin}/robots.txt", answer)

    def say(self, url: str, status: int) -> None:
        """A bare status."""
        self.fetcher.script(url, said(url, status))

    def redirect(self, url: str, to: str, status: int = 301) -> None:
        """A redirect that is followed by the fetcher."""

        def answer(plan: FetchPlan) -> RawResponse:
            there = self._answer_of(to, plan)
            hop = Hop(url=url, status=status, location=to)
            return RawResponse(
                url=url, final_url=to, status=there.status, headers=there.headers, body=there.body,
                wire_length=there.wire_length, hops=(hop,), error=there.error,
            )  # fmt: skip

        self.fetcher.script(url, answer)

    def _answer_of(self, url: str, plan: FetchPlan) -> RawResponse:
        answers = self.fetcher._answers.get(url)  # the web of this test
        assert answers, url
        first = answers[0]
        return first if isinstance(first, RawResponse) else first(plan)


def pasted_web() -> PastedWeb:
    """All sites."""
    web = PastedWeb()
    for url in PLATFORM_FEEDS:
        web.feed(url)
    web.feed("https://blog.example/feed", "https://www.blog.example/feed", "https://blog.example/feed/",
             "https://blog.example/feed?utm_source=x", "http://blog.example/feed",
             "https://blog.example/feed?utm_source=x&fbclid=1", self_url="https://blog.example/feed")  # fmt: skip
    web.page("https://blog.example/", "/feed")
    web.page("https://www.blog.example/", "https://blog.example/feed")
    web.page("https://blog.example/post/7", "/feed", "/comments/feed")
    web.feed("https://blog.example/comments/feed")
    web.feed("http://plain.example/rss.xml")
    web.page("http://plain.example/", "/rss.xml")
    web.redirect("http://moved.example/old", "https://blog.example/feed")
    web.redirect("https://go.example/feed", "https://go.example/feed?utm_source=rss")
    web.feed("https://go.example/feed?utm_source=rss")
    web.page("https://several.example/", "/news", "/sport", "/empty")
    web.feed("https://several.example/news")
    web.feed("https://several.example/sport")
    web.feed("https://several.example/empty", entries=0)
    web.page("https://dead.example/", "/gone.rss")
    web.feed("https://dead.example/rss.xml")
    web.page("https://deader.example/", "/gone.rss")
    web.page("https://busy.example/", "/feed")
    web.say("https://busy.example/feed", 429)
    web.page("https://anchor.example/", body='<a href="/news.rss">RSS</a>')
    web.feed("https://anchor.example/news.rss")
    web.page("https://guess.example/blog/")
    web.feed("https://guess.example/blog/atom.xml")
    web.page("https://nothing.example/")
    web.page("https://spa.example/")
    for path in ("feed", "rss.xml", "atom.xml", "feed.xml", "index.xml", "rss"):
        web.page(f"https://spa.example/{path}", body="<div id=root></div>")
    web.page("https://closed.example/", "/feed")
    web.site("https://closed.example/", "User-agent: *\nDisallow: /")
    web.feed("https://closed.example/feed")
    for name, status in (("login", 401), ("forbidden", 403), ("missing", 404), ("gone", 410),
                         ("down", 503), ("broken", 500), ("legal", 451)):  # fmt: skip
        web.say(f"https://status.example/{name}", status)
    web.site("https://status.example/")
    web.page("https://evil.example/", "http://169.254.169.254/latest", "http://10.0.0.1/feed")
    web.redirect("https://evil.example/loop", "https://blog.example/feed", 302)
    opml = '<opml version="2.0"><body><outline text="One" xmlUrl="https://blog.example/feed"/></body></opml>'
    web.fetcher.script(
        "https://lists.example/feeds.opml",
        said("https://lists.example/feeds.opml", body=opml.encode()),
    )
    jrd = b'{"links":[{"rel":"http://webfinger.net/rel/profile-page","href":"https://social.example/@ada"}]}'
    finger = "https://social.example/.well-known/webfinger?resource=acct:ada@social.example"
    web.fetcher.script(
        finger, said(finger, body=jrd, headers=(("Content-Type", "application/jrd+json"),))
    )
    web.page("https://social.example/@ada", "/@ada.rss")
    for url in ("https://www.youtube.com/@ada", "https://www.youtube.com/@ada/videos"):
        web.page(url, body=f'<script>"externalId":"{_CHANNEL}"</script>')
    web.page(
        "https://podcasts.apple.com/gb/podcast/show/id7",
        body='<script>{"feedUrl":"https://cast.example/show"}</script>',
    )
    web.page(
        "https://directory.example/show",
        body='<script>{"webFeed":"https://cast.example/show"}</script>',
    )
    web.page("https://soundcloud.com/ada", body='<meta content="soundcloud://users:7">')
    web.page("https://ghost.example/", head='<meta name="generator" content="Ghost 5">')
    for path in ("", "t/hello/7"):
        web.page(
            f"https://forum.example/{path}", head='<meta name="generator" content="Discourse 3">'
        )
    web.page(
        "https://forge.example/ada/engine", head='<meta name="keywords" content="git,forgejo">'
    )
    for page in ("https://lemmy.example/c/news", "https://tube.example/c/films", "https://tube.example/a/ada",
                 "https://git.example/ada/engine/-/tags"):  # fmt: skip
        web.page(page)
    for repo in ("releases", "commits", "tags"):
        web.feed(f"https://github.com/ada/quiet/{repo}.atom", entries=3 if repo == "commits" else 0)
    return web
