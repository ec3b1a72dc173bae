"""The demonstration sites: one row per site, grouped by what it shows."""

from datetime import datetime
from typing import Final

from feedmill_demo import behaviours, defects
from feedmill_demo.edition import Style
from feedmill_demo.living_feed import LivingFeed
from feedmill_demo.site_with_habits import Habit, SitePlan


def _publish(feed: LivingFeed, at: datetime) -> None:
    feed.publish(at=at)


def _burst(feed: LivingFeed, at: datetime) -> None:
    feed.publish(5, at=at)


def _edit(feed: LivingFeed, at: datetime) -> None:
    feed.edit(feed.articles[len(feed.articles) // 2], at=at)


def _withdraw(feed: LivingFeed, at: datetime) -> None:
    feed.withdraw(feed.articles[-1], at=at)


def _rekey(feed: LivingFeed, at: datetime) -> None:  # noqa: ARG001
    feed.rekey()


def _publishes(every_sec: float) -> Habit:
    return Habit(act=_publish, every_sec=every_sec)


_HINTS: Final = (
    "<ttl>5</ttl>\n<skipHours><hour>1</hour><hour>2</hour><hour>3</hour></skipHours>\n"
    "<skipDays><day>Sunday</day></skipDays>\n"
)
_LOGIN: Final = (
    b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><form method=post>"
    b"<input name=user><input type=password name=secret><button>Sign in</button></form></body></html>"
)
_PAGE: Final = (
    b"<!DOCTYPE html><html><head><title>We have a new website!</title></head>"
    b"<body><h1>Welcome</h1><p>The feed has gone, the cookies have come.</p></body></html>"
)
_WALL: Final = (
    b"<!DOCTYPE html><html><head><title>Just a moment...</title></head>"
    b"<body><p>Checking your browser before you enter.</p></body></html>"
)


def _links() -> str:
    hubs = "".join(f'<link rel="hub" href="/link-forest/hub/{n}"/>\n' for n in range(12))
    return hubs + (
        '<link rel="next" href="/link-forest/feed?page=2"/>\n'
        '<link rel="first" href="/link-forest/feed"/>\n'
        '<link rel="license" href="/link-forest/licence"/>\n'
    )


_RHYTHMS: Final = (
    SitePlan(name="harbour-news", title="Harbour News", about="busy: something new every few seconds",
         habits=(_publishes(4),), ways={"feed": behaviours.validated}),
    SitePlan(name="city-desk", title="The City Desk", about="brisk: Atom, something new every quarter of a minute",
         kind="atom10", habits=(_publishes(15),), ways={"feed": behaviours.etag_only}),
    SitePlan(name="weekly-bulletin", title="Gemeindeblatt", about="steady: a German bulletin, about one entry a minute",
         language="de", habits=(_publishes(60),), ways={"feed": behaviours.validated}),
    SitePlan(name="quiet-garden", title="The Quiet Garden", about="quiet: a blog that hardly ever writes",
         habits=(_publishes(600),), ways={"feed": behaviours.validated}),
    SitePlan(name="burst-radio", title="Marea Alta", about="bursts: five Spanish entries at once, then silence",
         language="es", habits=(Habit(act=_burst, every_sec=45),),
         ways={"feed": behaviours.validated}),
    SitePlan(name="hints", title="Please Be Gentle", about="hints: ttl, skipHours and skipDays",
         style=Style(channel_extra=_HINTS), ways={"feed": behaviours.validated}),
    SitePlan(name="max-age", title="Fresh for Thirty Seconds", about="Cache-Control: max-age=30 with Age: 5",
         habits=(_publishes(20),),
         ways={"feed": behaviours.with_headers(("Cache-Control", "max-age=30"), ("Age", "5"))}),
)  # fmt: skip

_TRANSPORT: Final = (
    SitePlan(name="lighthouse", title="Lighthouse Log", about="304 for ever: an ETag that never changes",
         ways={"feed": behaviours.etag_only}),
    SitePlan(name="tide-tables", title="Tide Tables", about="Last-Modified is its only validator",
         habits=(_publishes(90),), ways={"feed": behaviours.last_modified_only}),
    SitePlan(name="weaver", title="The Weaver", about="a weak ETag",
         habits=(_publishes(45),), ways={"feed": behaviours.weak_etag}),
    SitePlan(name="no-validators", title="Carnet du marché", about="French, and no validators: only the body's hash says that nothing changed",
         language="fr", ways={"feed": behaviours.plain}),
    SitePlan(name="stamper", title="The Stamp Collector", about="stamps every answer: other octets, same entries, never a 304",
         ways={"feed": behaviours.never_identical}),
    SitePlan(name="turnstile", title="The Turnstile", about="counts its readers in every text: all entries differ in every answer",
         habits=(_publishes(120),), ways={"feed": behaviours.counting_readers}),
    SitePlan(name="gzip", title="The Zipper", about="gzip", habits=(_publishes(30),),
         ways={"feed": behaviours.coded("gzip")}),
    SitePlan(name="deflate", title="The Deflator", about="deflate", habits=(_publishes(80),),
         ways={"feed": behaviours.coded("deflate")}),
    SitePlan(name="brotli", title="Das Brötchen", about="brotli", language="de",
         habits=(_publishes(50),), ways={"feed": behaviours.coded("br")}),
    SitePlan(name="zstd", title="The Press", about="zstd", habits=(_publishes(70),),
         ways={"feed": behaviours.coded("zstd")}),
    SitePlan(name="choir", title="The Choir", about="chunked, without a length", habits=(_publishes(40),),
         ways={"feed": behaviours.chunked}),
    SitePlan(name="snail", title="The Snail", about="slow: a second of thought, then in pieces",
         habits=(_publishes(50),), ways={"feed": behaviours.slow}),
    SitePlan(name="old-mill", title="The Old Mill", about="moved long ago: two 301s, then the feed",
         habits=(_publishes(60),),
         ways={"feed": behaviours.redirect_to("by-the-river"), "by-the-river": behaviours.redirect_to("new"), "new": behaviours.validated}),
    SitePlan(name="ferry", title="The Ferry", about="a 302 every time: the address stays",
         habits=(_publishes(60),),
         ways={"feed": behaviours.redirect_to("today", 302), "today": behaviours.validated}),
    SitePlan(name="clockmaker", title="The Clockmaker", about="moves while you watch: at home at first, then a 301",
         habits=(_publishes(25),),
         ways={"feed": behaviours.moved_after(45, "workshop"), "workshop": behaviours.validated}),
)  # fmt: skip

_TROUBLE: Final = (
    SitePlan(name="toll-gate", title="The Toll Gate", about="429 with Retry-After for clients that ask too often",
         habits=(_publishes(20),), ways={"feed": behaviours.rate_limited(30)}),
    SitePlan(name="flapping", title="The Loose Shutter", about="503, then fine, then 503 again",
         habits=(_publishes(20),), ways={"feed": behaviours.flapping(20, 15)}),
    SitePlan(name="interrupted", title="The Bad Line", about="every other answer breaks off half-way",
         ways={"feed": behaviours.interrupted}),
    SitePlan(name="not-found", title="The Empty Lot", about="404", ways={"feed": behaviours.refused(404, b"<h1>Not here</h1>")}),
    SitePlan(name="gone", title="The Ruin", about="410: gone for good", ways={"feed": behaviours.refused(410)}),
    SitePlan(name="web-page", title="The Relaunch", about="an HTML page where the feed was",
         ways={"feed": behaviours.refused(200, _PAGE)}),
    SitePlan(name="login", title="The Members' Club", about="a login page with status 200",
         ways={"feed": behaviours.refused(200, _LOGIN)}),
    SitePlan(name="bot-wall", title="The Wall", about="a challenge that keeps programs out",
         ways={"feed": behaviours.refused(403, _WALL, ("cf-mitigated", "challenge"))}),
    SitePlan(name="ampersands", title="Salt & Rope", about="broken XML: bare ampersands",
         ways={"feed": behaviours.broken(defects.bare_ampersands)}),
    SitePlan(name="entities", title="The Café", about="broken XML: &nbsp; and &eacute;",
         ways={"feed": behaviours.broken(defects.html_entities)}),
    SitePlan(name="tag-soup", title="The Soup Kitchen", about="broken XML: tags that close each other wrongly",
         ways={"feed": behaviours.broken(defects.mismatched_tags)}),
    SitePlan(name="less-than", title="The Mathematician", about="broken XML: a < b in a text",
         ways={"feed": behaviours.broken(defects.less_than_in_text)}),
    SitePlan(name="warnings", title="The Amateur", about="broken XML: a script's warning before the document",
         ways={"feed": behaviours.broken(defects.warnings_first)}),
    SitePlan(name="control", title="The Word Processor", about="broken XML: forbidden control characters",
         ways={"feed": behaviours.broken(defects.control_characters)}),
    SitePlan(name="mojibake", title="Fährmanns Notizen", about="Windows-1252 that claims to be UTF-8", language="de",
         ways={"feed": behaviours.broken(defects.wrong_encoding)}),
    SitePlan(name="truncated", title="The Torn Page", about="the document ends in the middle of an entry",
         ways={"feed": behaviours.broken(defects.cut_short)}),
)  # fmt: skip

_FORMATS: Final = (
    SitePlan(name="podcast", title="Village Radio", about="a podcast with itunes: and podcast: elements",
         style=Style(podcast=True), habits=(_publishes(60),), ways={"feed": behaviours.validated}),
    SitePlan(name="json-feed", title="The Brackets", about="JSON Feed 1.1", kind="json11",
         habits=(_publishes(35),), ways={"feed": behaviours.validated}),
    SitePlan(name="rdf", title="The Semantic Attic", about="RSS 1.0", kind="rss10",
         habits=(_publishes(75),), ways={"feed": behaviours.validated}),
    SitePlan(name="xhtml", title="The Purist", about="Atom with xhtml content and relative links under xml:base",
         kind="atom10", style=Style(markup="xhtml", base=True, ids="tag"), habits=(_publishes(55),),
         ways={"feed": behaviours.validated}),
    SitePlan(name="plain-text", title="نشرة الميناء", about="Atom with plain text, in Arabic", kind="atom10",
         language="ar", style=Style(markup="text", ids="tag"), ways={"feed": behaviours.validated}),
    SitePlan(name="green-supply", title="绿色供应链观察", about="Chinese in GBK: LCA, MFA, green power and green design",
         language="zh-green", style=Style(encoding="gbk"), habits=(_publishes(30),), ways={"feed": behaviours.validated}),
    SitePlan(name="early-market", title="早市", about="Chinese in UTF-8", language="zh",
         habits=(_publishes(65),), ways={"feed": behaviours.validated}),
    SitePlan(name="station", title="駅前だより", about="Japanese in Shift_JIS", language="ja",
         style=Style(encoding="shift_jis"), habits=(_publishes(50),), ways={"feed": behaviours.validated}),
    SitePlan(name="river-port", title="Речной порт", about="Russian in windows-1251", language="ru",
         style=Style(encoding="cp1251", declares="windows-1251"), habits=(_publishes(50),),
         ways={"feed": behaviours.validated}),
    SitePlan(name="empty", title="The Blank Book", about="a sound feed without an entry", entries=0,
         ways={"feed": behaviours.validated}),
    SitePlan(name="huge", title="The Complete Archive", about="five hundred entries in one document",
         window=500, entries=500, ways={"feed": behaviours.coded("gzip")}),
    SitePlan(name="link-forest", title="The Link Forest", about="twelve hubs, self, first, next and a licence",
         kind="atom10", style=Style(channel_extra=_links()), ways={"feed": behaviours.validated}),
)  # fmt: skip

_IDENTITY: Final = (
    SitePlan(name="link-blog", title="Found Things", about="a link blog: three entries share each link",
         style=Style(articles_per_link=3, ids="number"), habits=(_publishes(35),), ways={"feed": behaviours.validated}),
    SitePlan(name="constant-guid", title="Zero", about="the same guid on every entry",
         style=Style(ids="constant"), habits=(_publishes(35),), ways={"feed": behaviours.validated}),
    SitePlan(name="no-guid", title="The Anonymous", about="no guids at all", style=Style(ids="none"),
         habits=(_publishes(35),), ways={"feed": behaviours.validated}),
    SitePlan(name="rekeyed", title="The New Software", about="changes every guid while you watch; nothing is new",
         habits=(Habit(act=_rekey, every_sec=40, once=True),), ways={"feed": behaviours.validated}),
    SitePlan(name="editor", title="Second Thoughts", about="edits an old entry every few seconds",
         kind="atom10", style=Style(ids="tag"), habits=(Habit(act=_edit, every_sec=12),),
         ways={"feed": behaviours.validated}),
    SitePlan(name="tombstones", title="The Regretful", about="withdraws entries and says so (RFC 6721)",
         kind="atom10", style=Style(ids="tag"),
         habits=(_publishes(15), Habit(act=_withdraw, every_sec=25)), ways={"feed": behaviours.validated}),
    SitePlan(name="undated", title="Timeless", about="no dates anywhere", style=Style(dates="none"),
         habits=(_publishes(35),), ways={"feed": behaviours.validated}),
    SitePlan(name="future", title="The Prophet", about="dates a year ahead", style=Style(dates="future"),
         habits=(_publishes(45),), ways={"feed": behaviours.validated}),
    SitePlan(name="hostile", title="Free Prizes", about="scripts and traps in the content",
         style=Style(markup="hostile"), habits=(_publishes(40),), ways={"feed": behaviours.validated}),
    SitePlan(name="mirror", title="Harbour News (mirror)", about="the articles of Harbour News once more",
         same_as="harbour-news", habits=(_publishes(4),), ways={"feed": behaviours.validated}),
)  # fmt: skip

SITE_PLANS: Final[tuple[SitePlan, ...]] = (*_RHYTHMS, *_TRANSPORT, *_TROUBLE, *_FORMATS, *_IDENTITY)
