"""Every house of the village is what its description says, at once and while time passes."""

from collections.abc import Callable
from html import escape

import pytest

from feedmill.api import parse
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill_demo.server.http1 import for_request, header_of
from feedmill_demo.server.script import Answer, Request
from feedmill_demo.sites import DemoWeb, demo_opml, site_descriptions

ORIGIN = "http://127.0.0.1:8080"


@pytest.fixture
def village() -> DemoWeb:
    built = DemoWeb()
    built.opened(ORIGIN)
    return built


def ask(village: DemoWeb, target: str, at_sec: float = 0.0, *headers: tuple[str, str]) -> Answer:
    request = Request(
        method="GET", target=target, version="HTTP/1.1", headers=headers, offset_sec=at_sec
    )
    answer = village.answer(request)
    assert answer is not None
    return for_request(answer, request)


def read(answer: Answer, target: str) -> ParsedFeed | Unreadable:
    kind = header_of(answer.headers, "content-type")
    return parse(answer.body, url=ORIGIN + target, content_type=kind)


def feed_at(village: DemoWeb, name: str, at_sec: float = 0.0) -> ParsedFeed:
    answer = ask(village, f"/{name}/feed", at_sec)
    assert answer.status == 200
    parsed = read(answer, f"/{name}/feed")
    assert isinstance(parsed, ParsedFeed)
    return parsed


@pytest.mark.parametrize(
    ("name", "format_", "encoding", "entries"),
    [
        ("harbour-news", "rss20", "utf-8", 8),
        ("city-desk", "atom10", "utf-8", 8),
        ("podcast", "rss20", "utf-8", 8),
        ("json-feed", "json11", "utf-8", 8),
        ("rdf", "rss10", "utf-8", 8),
        ("xhtml", "atom10", "utf-8", 8),
        ("plain-text", "atom10", "utf-8", 8),
        ("green-supply", "rss20", "gb18030", 8),
        ("station", "rss20", "shift_jis", 8),
        ("river-port", "rss20", "windows-1251", 8),
        ("empty", "rss20", "utf-8", 0),
        ("huge", "rss20", "utf-8", 500),
    ],
)
def test_sound_houses_are_read_without_a_repair(
    village: DemoWeb, name: str, format_: str, encoding: str, entries: int
) -> None:
    parsed = feed_at(village, name)

    assert (parsed.format, parsed.encoding, len(parsed.entries)) == (format_, encoding, entries)
    assert parsed.repairs == ()


@pytest.mark.parametrize(
    ("name", "repair", "entries"),
    [
        ("ampersands", "stray-ampersands", 8),
        ("entities", "entities-decoded", 8),
        ("tag-soup", "markup-recovered", 8),
        ("less-than", "markup-recovered", 8),
        ("warnings", "leading-junk", 8),
        ("control", "illegal-characters", 8),
        ("mojibake", "encoding-mismatch", 8),
        ("truncated", "truncated", 5),
    ],
)
def test_broken_houses_are_read_with_the_repair_that_they_need(
    village: DemoWeb, name: str, repair: str, entries: int
) -> None:
    parsed = feed_at(village, name)

    assert repair in {mended.code for mended in parsed.repairs}
    assert len(parsed.entries) == entries
    assert parsed.truncated == (name == "truncated")


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("web-page", 200, "html-page"),
        ("login", 200, "login-page"),
        ("bot-wall", 403, "bot-wall"),
        ("not-found", 404, "html-page"),
        ("gone", 410, "empty"),
    ],
)
def test_houses_without_a_feed_say_why(
    village: DemoWeb, name: str, status: int, reason: str
) -> None:
    answer = ask(village, f"/{name}/feed")

    parsed = read(answer, f"/{name}/feed")

    assert answer.status == status
    assert isinstance(parsed, Unreadable)
    assert parsed.reason == reason


@pytest.mark.parametrize(
    ("name", "validators"),
    [
        ("lighthouse", {"etag"}),
        ("tide-tables", {"last-modified"}),
        ("weaver", {"etag"}),
        ("harbour-news", {"etag", "last-modified"}),
        ("no-validators", set()),
        ("stamper", set()),
    ],
)
def test_houses_have_the_validators_that_they_claim(
    village: DemoWeb, name: str, validators: set[str]
) -> None:
    headers = {field.lower(): value for field, value in ask(village, f"/{name}/feed").headers}

    assert {"etag", "last-modified"} & set(headers) == validators
    assert headers.get("etag", '"').startswith("W/") == (name == "weaver")
    for validator, field in (("etag", "If-None-Match"), ("last-modified", "If-Modified-Since")):
        if validator in headers:
            assert ask(village, f"/{name}/feed", 0, (field, headers[validator])).status == 304


def test_the_busy_house_has_news_after_a_few_seconds_and_the_quiet_one_has_none(
    village: DemoWeb,
) -> None:
    busy = {entry.id for entry in feed_at(village, "harbour-news").entries}
    quiet = feed_at(village, "quiet-garden")

    assert {entry.id for entry in feed_at(village, "harbour-news", 10).entries} - busy
    assert feed_at(village, "quiet-garden", 60).entries == quiet.entries


def test_a_faster_pace_makes_more_of_the_same_time() -> None:
    slow, fast = DemoWeb(pace=1), DemoWeb(pace=5)
    slow.opened(ORIGIN)
    fast.opened(ORIGIN)

    titles = [
        [
            entry.title.value
            for entry in feed_at(village, "harbour-news", at_sec).entries
            if entry.title
        ]
        for village, at_sec in ((slow, 30.0), (fast, 6.0))
    ]

    assert titles[0] == titles[1]


def test_time_can_be_skipped(village: DemoWeb) -> None:
    before = feed_at(village, "harbour-news")

    village.skip(20)

    assert feed_at(village, "harbour-news").entries != before.entries


def test_the_burst_comes_at_once(village: DemoWeb) -> None:
    assert len(feed_at(village, "burst-radio", 0).entries) == 8
    assert len(feed_at(village, "burst-radio", 60).entries) == 13


def test_redirecting_houses_lead_to_a_feed(village: DemoWeb) -> None:
    for name, hops in (("old-mill", [301, 301, 200]), ("ferry", [302, 200])):
        target, statuses = f"/{name}/feed", []
        for _ in hops:
            answer = ask(village, target)
            statuses.append(answer.status)
            target = (header_of(answer.headers, "location") or "").removeprefix(ORIGIN)
        assert statuses == hops


def test_the_clockmaker_moves_while_you_watch(village: DemoWeb) -> None:
    assert feed_at(village, "clockmaker").self_url == f"{ORIGIN}/clockmaker/feed"

    moved = ask(village, "/clockmaker/feed", 50)

    assert (moved.status, header_of(moved.headers, "location")) == (
        301,
        f"{ORIGIN}/clockmaker/workshop",
    )
    assert ask(village, "/clockmaker/feed", 51).status == 301
    there = read(ask(village, "/clockmaker/workshop", 52), "/clockmaker/workshop")
    assert isinstance(there, ParsedFeed)
    assert there.self_url == f"{ORIGIN}/clockmaker/workshop"


def test_the_toll_gate_says_how_long_to_wait_and_means_it(village: DemoWeb) -> None:
    assert ask(village, "/toll-gate/feed", 0).status == 200

    refused = ask(village, "/toll-gate/feed", 12.5)

    assert (refused.status, header_of(refused.headers, "retry-after")) == (429, "18")
    assert ask(village, "/toll-gate/feed", 12.5 + 18).status == 200


def test_the_flapping_house_comes_and_goes(village: DemoWeb) -> None:
    statuses = [ask(village, "/flapping/feed", at).status for at in (0, 10, 25, 40)]

    assert statuses == [200, 200, 503, 200]


def test_the_bad_line_breaks_every_other_time(village: DemoWeb) -> None:
    faults = [ask(village, "/interrupted/feed").fault for _ in range(4)]

    assert faults == ["cut", None, "cut", None]


def test_the_turnstile_counts_its_readers_in_every_text(village: DemoWeb) -> None:
    first, second = (feed_at(village, "turnstile").entries for _ in range(2))

    texts = [
        {one.id: one.summary.value for one in entries if one.summary} for entries in (first, second)
    ]
    assert texts[0].keys() == texts[1].keys()
    assert all(texts[0][id_] != texts[1][id_] for id_ in texts[0])


def test_the_stamper_never_sends_the_same_octets_and_always_the_same_entries(
    village: DemoWeb,
) -> None:
    first, second = (ask(village, "/stamper/feed").body for _ in range(2))

    assert first != second
    assert feed_at(village, "stamper").entries == feed_at(village, "stamper").entries


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("link-blog", lambda feed: len({entry.link for entry in feed.entries}) < 5),
        ("constant-guid", lambda feed: {entry.id for entry in feed.entries} == {"0"}),
        ("no-guid", lambda feed: {entry.id for entry in feed.entries} == {None}),
        ("undated", lambda feed: {entry.published for entry in feed.entries} == {None}),
        ("future", lambda feed: all("2027" in entry.published for entry in feed.entries)),
        ("hints", lambda feed: feed.hints.ttl_minutes == 5 and feed.hints.skip_hours == (1, 2, 3)),
        ("hostile", lambda feed: "steal(" in feed.entries[1].contents[0].value),
        ("podcast", lambda feed: feed.entries[0].enclosures and feed.entries[0].itunes.duration),
        ("podcast", lambda feed: feed.podcast.locked and feed.entries[0].podcast.transcripts),
        ("link-forest", lambda feed: len(feed.hubs) == 12 and feed.self_url and feed.next_url),
        ("xhtml", lambda feed: feed.entries[0].link == f"{ORIGIN}/xhtml/7"),
        ("green-supply", lambda feed: any("绿" in entry.title.value for entry in feed.entries)),
    ],
)  # fmt: skip
def test_odd_houses_are_odd_in_the_way_they_claim(
    village: DemoWeb, name: str, holds: Callable[[ParsedFeed], bool]
) -> None:
    assert holds(feed_at(village, name))


def test_the_rekeyed_house_changes_every_guid_and_nothing_else(village: DemoWeb) -> None:
    before, after = feed_at(village, "rekeyed"), feed_at(village, "rekeyed", 60)

    assert [entry.link for entry in before.entries] == [entry.link for entry in after.entries]
    assert not {entry.id for entry in before.entries} & {entry.id for entry in after.entries}


def test_the_editor_revises_old_entries(village: DemoWeb) -> None:
    before, after = feed_at(village, "editor"), feed_at(village, "editor", 30)

    assert [entry.id for entry in before.entries] == [entry.id for entry in after.entries]
    assert before.entries[4].summary != after.entries[4].summary


def test_the_regretful_house_leaves_tombstones_but_never_empties_itself(village: DemoWeb) -> None:
    parsed = feed_at(village, "tombstones", 3600)

    assert parsed.tombstones
    assert len(parsed.entries) >= 3


def test_the_mirror_shows_the_same_articles(village: DemoWeb) -> None:
    for at_sec in (0.0, 30.0):
        original, mirror = (feed_at(village, name, at_sec) for name in ("harbour-news", "mirror"))
        assert [entry.link for entry in original.entries] == [e.link for e in mirror.entries]
        assert original.self_url != mirror.self_url


def test_a_coding_is_used_only_for_clients_that_accept_it(village: DemoWeb) -> None:
    assert ask(village, "/zstd/feed").codings == ()
    assert ask(village, "/zstd/feed", 0, ("Accept-Encoding", "gzip, zstd")).codings == ("zstd",)


def test_every_link_of_every_feed_leads_into_the_village(village: DemoWeb) -> None:
    for name in village.addresses():
        parsed = read(ask(village, f"/{name}/feed"), f"/{name}/feed")
        links = [entry.link for entry in parsed.entries] if isinstance(parsed, ParsedFeed) else []
        assert all(link and link.startswith(f"{ORIGIN}/") for link in links)


def test_homes_articles_and_recordings_are_pages_of_their_own(village: DemoWeb) -> None:
    home = ask(village, "/harbour-news/").body.decode()
    entry = feed_at(village, "harbour-news").entries[0]
    article = ask(village, (entry.link or "").removeprefix(ORIGIN)).body.decode()

    assert (
        f'rel="alternate" type="application/rss+xml" title="Harbour News" href="{ORIGIN}/harbour-news/feed"'
        in home
    )
    assert entry.title is not None
    assert f"<h1>{escape(entry.title.value)}</h1>" in article
    assert header_of(ask(village, "/podcast/audio/1.mp3").headers, "content-type") == "audio/mpeg"


@pytest.mark.parametrize("target", ["/", "/nobody/feed", "/harbour-news/999", "/robots.txt"])
def test_there_is_nothing_where_nobody_lives(village: DemoWeb, target: str) -> None:
    request = Request(method="GET", target=target, version="HTTP/1.1", headers=())

    assert village.answer(request) is None


def test_the_list_names_every_feed_and_its_character(village: DemoWeb) -> None:
    opml = demo_opml(ORIGIN)

    assert ask(village, "/village.opml").body.decode() == opml
    assert opml.count("<outline ") == len(village.addresses()) == len(site_descriptions())
    assert all(f'xmlUrl="{address}"' in opml for address in village.addresses().values())


def test_houses_can_be_spread_over_several_addresses() -> None:
    village = DemoWeb(hosts=7)
    village.opened(ORIGIN)

    hosts = {address.split("/")[2] for address in village.addresses().values()}

    assert hosts == {f"127.0.1.{number}:8080" for number in range(1, 8)}
    assert village.addresses()["mirror"].split("/")[2] not in feed_link(village, "mirror")


def feed_link(village: DemoWeb, name: str) -> str:
    return feed_at(village, name).entries[0].link or ""
