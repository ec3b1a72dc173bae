"""A web of small sites for pasted addresses, on loopback: names by a name server, http and https behind one port.

Every name leads to one public address, which the guard judges as it does on the web; connections to it, at any port,
are led to this web, as a router does. A host has no https when the certificate does not have its name.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import pycurl
import pytest
from msgspec.structs import replace
from tests.support.feed_documents import numbered
from tests.support.name_server import name_server
from tests.support.waiting import HANG_GUARD_SEC
from tools.loopback_web import LoopbackWeb

from feedmill.adapters.http.curl_handle import CurlHandle
from feedmill.adapters.http.resolver import AsyncResolver
from feedmill.canonicalise.urls import split_url
from feedmill_demo.server.script import Answer, Fault, Request, document, hang_up, redirect
from feedmill_demo.server.site import Site

_PUBLIC: Final = "93.184.215.14"  # never dialled
_SERVED_AT: Final = "127.0.0.1"
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


class PastedWeb:
    """Answers by address; what is not there answers 404 on a host that is."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.untrusted: set[str] = set()  # hosts that are not in the certificate
        self.private: dict[str, str] = {}  # names that lead to an address that may not be dialled
        self._feeds = 0

    @property
    def hosts(self) -> set[str]:
        named = {split_url(url).host for url in self.answers} | self.untrusted
        return named | {name.removeprefix("www.") for name in named}

    def feed(self, *urls: str, self_url: str = "", entries: int = 3) -> None:
        """One feed at all of these addresses; other entries than every feed before."""
        self._feeds += 1
        numbers = range(self._feeds * 100, self._feeds * 100 + entries)
        link = f'<atom:link rel="self" href="{self_url}"/>' if self_url else ""
        body = numbered(*numbers, extra=link)
        body = body.replace(b"<title>Paper<", f"<title>Feed {self._feeds}<".encode(), 1)
        self.answers |= dict.fromkeys(urls, document(body))

    def page(self, url: str, *links: str, body: str = "", head: str = "") -> None:
        """A page that declares these feeds."""
        declared = "".join(
            f'<link rel="alternate" type="application/rss+xml" href="{one}">' for one in links
        )
        html = f"<!doctype html><html><head>{declared}{head}</head><body>{body}</body></html>"
        self.answers[url] = document(html.encode(), "text/html")

    def text(self, url: str, body: str, kind: str = "text/plain") -> None:
        """Any other document, such as robots.txt."""
        self.answers[url] = document(body.encode(), kind)

    def say(self, url: str, status: int) -> None:
        """A bare status."""
        self.answers[url] = Answer(status=status)

    def redirect(self, url: str, to: str, status: int = 301) -> None:
        self.answers[url] = redirect(to, status)

    def hang_up(self, url: str, fault: Fault = "reset") -> None:
        """The connection ends before the answer."""
        self.answers[url] = hang_up(fault)

    @contextmanager
    def served(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackWeb]:
        """Serve it in a thread; fetchers of this process ask its name server and dial its port."""
        sites = (_Sites("http", self.answers), _Sites("https", self.answers))
        trusted = self.hosts - self.untrusted
        web = LoopbackWeb(*sorted(trusted), sites=sites)
        addresses = dict.fromkeys(self.hosts, _PUBLIC) | self.private
        ready, over = threading.Event(), asyncio.Event()
        loop = asyncio.new_event_loop()

        async def serve() -> None:
            async with web, name_server(address_of=addresses.get) as names:
                resolver = partial(AsyncResolver, servers=[names.address])
                monkeypatch.setattr("feedmill.adapters.http.fetcher.AsyncResolver", resolver)
                ready.set()
                await over.wait()

        thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
        thread.start()
        assert ready.wait(HANG_GUARD_SEC)

        class Routed(CurlHandle):
            """Dials this web in place of the public address, if that was vetted."""

            def _aim_at(self, addresses: tuple[str, ...], proxy: object) -> None:
                assert (addresses, proxy) == ((_PUBLIC,), None)
                self._change(pycurl.CONNECT_TO, [f"::{_SERVED_AT}:{web.port}"])

            def _may_dial(self, address: str) -> bool:
                return address == _SERVED_AT and super()._may_dial(_PUBLIC)

        monkeypatch.setattr("feedmill.adapters.http.connection.CurlHandle", Routed)
        try:
            yield web
        finally:
            loop.call_soon_threadsafe(over.set)
            thread.join(HANG_GUARD_SEC)
            loop.close()


class _Sites(Site):
    """The answers of one scheme."""

    def __init__(self, scheme: str, answers: dict[str, Answer]) -> None:
        self._scheme, self._answers = scheme, answers

    def answer(self, request: Request) -> Answer | None:
        return self._answers.get(f"{self._scheme}://{request.header('host')}{request.target}")


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
    web.text("https://closed.example/robots.txt", "User-agent: *\nDisallow: /")
    web.feed("https://closed.example/feed")
    for name, status in (("login", 401), ("forbidden", 403), ("missing", 404), ("gone", 410),
                         ("down", 503), ("broken", 500), ("legal", 451)):  # fmt: skip
        web.say(f"https://status.example/{name}", status)
    web.page("https://evil.example/", "http://169.254.169.254/latest", "http://10.0.0.1/feed")
    web.redirect("https://evil.example/loop", "https://blog.example/feed", 302)
    opml = '<opml version="2.0"><body><outline text="One" xmlUrl="https://blog.example/feed"/></body></opml>'
    web.text("https://lists.example/feeds.opml", opml, "text/x-opml")
    jrd = '{"links":[{"rel":"http://webfinger.net/rel/profile-page","href":"https://social.example/@ada"}]}'
    finger = "https://social.example/.well-known/webfinger?resource=acct:ada@social.example"
    web.text(finger, jrd, "application/jrd+json")
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
    _put_odd_sites(web)
    _put_hostile_sites(web)
    return web


def _put_odd_sites(web: PastedWeb) -> None:
    """Sites that mean well: redirects, twins, formats, mirrors, tracking, comments, lists."""
    web.feed(
        "https://twin.example/feed",
        "https://www.twin.example/rss",
        self_url="http://www.twin.example/rss",
    )
    web.feed("https://plainself.example/feed", self_url="http://plainself.example/feed")
    web.redirect("https://wp.example/feed", "https://wp.example/feed?doing_wp_cron=1763424000.1234")
    web.feed("https://wp.example/feed?doing_wp_cron=1763424000.1234")
    web.redirect(
        "https://session.example/rss", "https://session.example/rss?PHPSESSID=0123456789abcdef", 302
    )
    web.feed("https://session.example/rss?PHPSESSID=0123456789abcdef")
    web.redirect(
        "https://pathsession.example/rss",
        "https://pathsession.example/rss;jsessionid=0A1B2C3D",
        302,
    )
    web.feed("https://pathsession.example/rss;jsessionid=0A1B2C3D")
    web.redirect("https://lang.example/feed", "https://lang.example/feed?lang=en")
    web.feed("https://lang.example/feed?lang=en")
    web.redirect("https://slash.example/feed", "https://slash.example/feed/")
    web.feed("https://slash.example/feed/")
    web.redirect("http://hsts.example/", "https://hsts.example/", 307)
    web.redirect("https://hsts.example/", "https://www.hsts.example/")
    web.page("https://www.hsts.example/", "/index.xml")
    web.feed("https://www.hsts.example/index.xml")
    web.page("https://commented.example/", "/comments/feed/")
    web.feed("https://commented.example/comments/feed/")
    web.page("https://onlyempty.example/", "/feed")
    web.feed("https://onlyempty.example/feed", entries=0)
    web.page("https://emptyfirst.example/", "/releases.atom", "/news.xml")
    web.feed("https://emptyfirst.example/releases.atom", entries=0)
    web.feed("https://emptyfirst.example/news.xml")
    web.feed(
        "https://mirror.example/copy.xml",
        "https://original.example/feed",
        self_url="https://original.example/feed",
    )
    web.page("https://deep.example/a/b/c/post.html")
    web.feed("https://deep.example/feed.json")
    web.page("https://last.example/")
    web.feed("https://last.example/rss/feed.xml")  # the last of the well-known paths
    web.page(
        "https://based.example/x/",
        head='<base href="https://cdn-based.example/y/"><link rel="alternate" type="application/atom+xml" href="feed">',
    )
    web.feed("https://cdn-based.example/y/feed")
    web.page("https://headered.example/")
    web.answers["https://headered.example/"] = replace(
        web.answers["https://headered.example/"],
        headers=(
            ("Content-Type", "text/html"),
            ("Link", '</api/feed>; rel="alternate"; type="application/atom+xml"'),
        ),
    )
    web.feed("https://headered.example/api/feed")
    web.page("https://search.example/results", "/search?q=ada&format=rss", "/feed")
    web.feed("https://search.example/search?q=ada&format=rss")
    web.feed("https://search.example/feed")

    # Pages that only send their reader on, as site generators write them for old addresses.
    refresh = '<meta http-equiv="refresh" content="0; url={}">'
    web.page("https://forward.example/", head=refresh.format("https://forward.example/blog/"))
    web.page("https://forward.example/blog/", "/blog/feed")
    web.feed("https://forward.example/blog/feed", "https://forward.example/index.xml")
    web.page("https://forward.example/feed", head=refresh.format("/index.xml"))
    web.page("https://forward.example/loop", head=refresh.format("/loop2"))
    web.page("https://forward.example/loop2", head=refresh.format("/loop"))
    web.page("https://forward.example/inward", head=refresh.format("http://169.254.169.254/"))
    web.page("https://forward.example/own", "/index.xml", head=refresh.format("/blog/"))
    button = "https://feedly.com/i/subscription/feed%2Fhttps%3A%2F%2Fbutton.example%2Fhidden"
    web.page("https://button.example/", body=f'<a href="{button}">Follow</a>')
    web.feed("https://button.example/hidden")

    web.feed("https://xn--bcher-kva.example/feed")
    web.page("https://xn--bcher-kva.example/", "/feed")
    web.feed("https://upper.example/Feed.XML")
    web.page("https://upper.example/", "/Feed.XML")
    web.feed("https://space.example/my%20feed.xml")
    web.page("https://space.example/", "/my feed.xml")
    # A handle whose host says that the account lives elsewhere, and one whose answer redirects.
    finger = "https://{0}/.well-known/webfinger?resource=acct:{1}@{0}"
    web.text(
        finger.format("vanity.example", "bob"),
        '{"links":[{"rel":"http://webfinger.net/rel/profile-page","href":"https://social.example/@ada"}]}',
    )
    web.redirect(
        finger.format("alias.example", "ada"),
        finger.format("social.example", "ada").replace("ada@social", "ada@alias"),
    )
    web.text(
        finger.format("social.example", "ada").replace("ada@social", "ada@alias"),
        '{"links":[{"rel":"http://webfinger.net/rel/profile-page","href":"https://social.example/@ada"}]}',
    )
    web.feed("https://direct.example/users/ada.atom")
    web.text(
        finger.format("direct.example", "ada"),
        '{"links":[{"rel":"http://schemas.google.com/g/2010#updates-from","type":"application/atom+xml","href":"https://direct.example/users/ada.atom"}]}',
    )
    web.page("https://nofinger.example/@ada", "/@ada.rss")
    web.feed("https://nofinger.example/@ada.rss")
    opml = "".join(
        f'<outline text="{n}" xmlUrl="{u}"/>'
        for n, u in (
            ("News", "https://several.example/news"),
            ("Sport", "https://several.example/sport"),
        )
    )
    twice = "".join(
        f'<outline text="One" xmlUrl="{url}"/>'
        for url in ("https://blog.example/feed", "http://www.blog.example/feed")
    )
    web.text("https://lists.example/twice.opml", f"<opml><body>{twice}</body></opml>", "text/xml")
    web.text(
        "https://lists.example/two.opml",
        f'<opml version="2.0"><body>{opml}</body></opml>',
        "text/xml",
    )


def _put_hostile_sites(web: PastedWeb) -> None:
    """Sites that mislead, break or attack."""
    finger = "https://{0}/.well-known/webfinger?resource=acct:{1}@{0}"
    web.text(
        finger.format("lies.example", "eve"),
        '{"links":[{"rel":"http://webfinger.net/rel/profile-page","href":"http://169.254.169.254/latest/"}]}',
    )
    web.text(
        finger.format("script.example", "eve"),
        '{"links":[{"rel":"http://webfinger.net/rel/profile-page","href":"javascript:alert(1)"},{"rel":7},null]}',
    )
    web.text(finger.format("notjson.example", "eve"), "<html>no</html>")
    web.text(
        finger.format("otherfeed.example", "eve"),
        '{"links":[{"type":"application/rss+xml","href":"https://blog.example/feed"}]}',
    )
    web.redirect("https://looping.example/feed", "https://looping.example/feed2", 302)
    web.redirect("https://looping.example/feed2", "https://looping.example/feed", 302)
    web.redirect("https://inward.example/feed", "http://10.1.2.3/feed", 302)
    web.redirect("https://metadata.example/feed", "http://metadata.internal/feed", 302)
    web.redirect("https://downgrade.example/feed", "http://downgrade.example/feed")
    web.feed("http://downgrade.example/feed")
    web.private["rebind.example"] = "10.0.0.7"
    web.untrusted |= {"plain.example", "wrongname.example", "www.wrongname.example"}
    web.feed("https://wrongname.example/feed")
    web.hang_up("https://reset.example/feed")
    web.hang_up("https://cut.example/feed", "cut")
    # A single-page site that declares a feed which is the page.
    web.page("https://catchall.example/", "/feed")
    for path in ("feed", "rss.xml", "atom.xml", "feed.xml", "index.xml", "rss"):
        web.page(f"https://catchall.example/{path}", body="<div id=root></div>")
    web.page("https://many.example/", *(f"/f{number}" for number in range(60)))
    for number in range(60):
        web.say(f"https://many.example/f{number}", 404)
    web.page("https://lots.example/", *(f"/f{number}" for number in range(60)))
    for number in range(60):
        web.feed(f"https://lots.example/f{number}")
    web.redirect("https://members.example/feed", "https://members.example/login?next=/feed", 302)
    web.page("https://members.example/login?next=/feed", body='<input type="password" name="p">')
    web.page("https://parked.example/feed", body="<h1>This domain is for sale</h1>")
    web.text("https://sick.example/feed", "<rss><channel><title>broken", "application/rss+xml")
    web.text("https://binary.example/feed", "\x00\x01PNG", "image/png")
    web.answers["https://nothing200.example/feed"] = Answer()
    web.page("https://stolen.example/", "https://blog.example/feed")
    web.page("https://robots.example/")
    web.text("https://robots.example/robots.txt", "User-agent: *\nDisallow: /feed\nDisallow: /rss")
    web.feed("https://robots.example/feed")
    web.feed("https://robots.example/atom.xml")
    web.page("https://robots5.example/", "/feed")
    web.say("https://robots5.example/robots.txt", 503)
    web.feed("https://robots5.example/feed")
    web.page("https://selfish.example/", "/feed")
    web.feed("https://selfish.example/feed", self_url="http://169.254.169.254/feed")
    web.page("https://thief.example/", "/feed")
    web.feed("https://thief.example/feed", self_url="https://blog.example/feed")
