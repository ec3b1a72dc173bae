"""The search meets the caller's own functions: they may be slow, refuse, raise, and are told."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import feedmill
from feedmill.config import Config
from feedmill.engine.subscribe.canonicalise import Face, Reply
from feedmill.errors import UsageError
from feedmill.model.canonical import Canonical, Existing, NotCanonical, Seen

CLEAN = "https://paper.example/feed"
WWW = "https://www.paper.example/feed"
RSS = (
    "<rss version='2.0' xmlns:a='http://www.w3.org/2005/Atom'><channel><title>Paper</title>"
    "<a:link rel='self' href='{0}'/><item><guid>1</guid><title>One</title></item></channel></rss>"
)


class Shelf:
    """A `fetch_fn` with documents by address."""

    def __init__(self, **replies: Reply) -> None:
        self.replies = {WWW: _reply(WWW), CLEAN: _reply(CLEAN)} | replies
        self.asked: list[str] = []

    def __call__(self, url: str) -> Reply:
        self.asked.append(url)
        if url not in self.replies:
            raise ConnectionError(url)
        return self.replies[url]


def _reply(url: str, own: str = "", status: int = 200) -> Reply:
    return Reply(url=url, status=status, body=RSS.format(own))


def _canonical(address: str = WWW, **options: object) -> Canonical:
    found = _search(address, **options)
    assert isinstance(found, Canonical), found
    return found


def _search(address: str = WWW, **options: object) -> Canonical | NotCanonical:
    chosen: dict[str, object] = {"fetch_fn": Shelf(), "config": Config()} | options
    return asyncio.run(feedmill.canonicalize(address, **chosen))  # type: ignore[arg-type]  # any option


def test_plain_functions_and_coroutine_functions_do_equally_well() -> None:
    shelf = Shelf()

    async def fetch(url: str) -> Reply:
        return shelf(url)

    async def no(_: Sequence[str]) -> None:
        return None

    async def yes(_: str) -> bool:
        return True

    async def length(body: bytes) -> str:
        return str(len(body))

    slow = _canonical(fetch_fn=fetch, exists_fn=no, verify_fn=yes, hash_fn=length)
    assert slow == _canonical(exists_fn=lambda _: None, verify_fn=lambda _: True)


@pytest.mark.parametrize("answer", [CLEAN, Existing(url=CLEAN, data=7)])
def test_what_the_caller_knows_may_be_an_address_or_more(answer: Existing | str) -> None:
    told: list[Existing] = []

    found = _canonical(exists_fn=lambda _: answer, on_exists=told.append)

    assert (found.url, found.reason) == (CLEAN, "exists_in_db")
    assert told == [found.existing]


def test_an_unknown_address_may_be_said_with_an_empty_text() -> None:
    assert _canonical(exists_fn=lambda _: "").reason == "content_verified"


def test_every_answer_and_every_match_is_told() -> None:
    fetched: list[tuple[str, int | None]] = []
    matched: list[str] = []

    _canonical(
        on_fetch=lambda url, seen: fetched.append((url, seen.status)),
        on_match=lambda url, _: matched.append(url),
    )

    assert fetched == [(WWW, 200), (CLEAN, 200)]
    assert matched == [CLEAN, WWW]


@pytest.mark.parametrize("name", ["on_fetch", "on_match", "exists_fn", "verify_fn"])
def test_what_a_callers_function_raises_is_the_callers(name: str) -> None:
    def breaks(*_: object) -> None:
        raise LookupError(name)

    with pytest.raises(LookupError, match=name):
        _search(WWW, **{name: breaks})


def test_a_fetch_that_raises_is_no_answer() -> None:
    found = _search("https://gone.example/feed")

    assert isinstance(found, NotCanonical)
    assert found.reason == "connection-failed"
    assert "ConnectionError" in found.detail


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (_reply(CLEAN, status=404), "http-status"),
        (Reply(url=CLEAN, status=200, body="<html><body>page</body></html>"), "html-page"),
        (Reply(url=CLEAN, status=200), "empty"),
    ],
)
def test_what_is_no_feed_has_a_reason(reply: Reply, reason: str) -> None:
    shelf = Shelf()
    shelf.replies = {CLEAN: reply}

    found = _search(CLEAN, fetch_fn=shelf)

    assert isinstance(found, NotCanonical)
    assert found.reason == reason


def test_the_link_header_names_the_self_url() -> None:
    shelf = Shelf()
    link = (("Link", '<https://paper.example/feed>; rel="self"'),)
    shelf.replies["https://a.example/x"] = Reply(
        url="https://a.example/x", status=200, body=RSS.format("https://b.example/"), headers=link
    )

    assert _canonical("https://a.example/x", fetch_fn=shelf).self_url == CLEAN


def test_a_parser_of_the_callers_own_is_believed() -> None:
    def reads(body: bytes, _: str) -> Face | None:
        return Face(self_url=CLEAN) if body.startswith(b"<rss") else None

    shelf = Shelf()
    shelf.replies = {WWW: _reply(WWW), CLEAN: Reply(url=CLEAN, status=200, body="words")}

    stays = _canonical(fetch_fn=shelf, parse_fn=reads)
    lost = _search(CLEAN, fetch_fn=shelf, parse_fn=reads)

    assert (stays.url, stays.self_url) == (WWW, CLEAN)
    assert isinstance(lost, NotCanonical)
    assert lost.reason == "not-a-feed"


def test_a_refused_address_is_never_fetched() -> None:
    shelf = Shelf()

    found = _canonical(fetch_fn=shelf, verify_fn=lambda url: url != CLEAN)

    assert (found.url, found.requests) == (WWW, 0)
    assert shelf.asked == [WWW]
    assert found.asked[1].verdict == "refused"


@pytest.mark.parametrize("end", ["http://10.0.0.1/feed", "app://paper"])
def test_an_answer_from_a_refused_place_is_none(end: str) -> None:
    shelf = Shelf()
    shelf.replies[CLEAN] = _reply(end)

    found = _canonical(fetch_fn=shelf, verify_fn=lambda url: "10.0" not in url)

    assert found.url == WWW
    assert found.asked[1].verdict == "refused"


HOSTS = ("paper.example", "www.paper.example", "10.0.0.1", "169.254.169.254", "[::1]")
addresses = st.builds(
    "{}://{}{}".format,
    st.sampled_from(("http", "https")),
    st.sampled_from(HOSTS),
    st.sampled_from(("/feed", "/feed/", "/feed?utm_source=x")),
)


@given(addresses, st.dictionaries(addresses, st.tuples(addresses, addresses), max_size=20))
def test_no_private_address_is_fetched_or_returned_once_it_is_refused(
    address: str, web: dict[str, tuple[str, str]]
) -> None:
    shelf = Shelf()
    shelf.replies = {url: _reply(end, own) for url, (end, own) in web.items()}

    def is_public(url: str) -> bool:
        return "paper.example" in url

    found = _search(address, fetch_fn=shelf, verify_fn=is_public, budget=9)

    assert all(is_public(url) for url in shelf.asked)
    if isinstance(found, Canonical):
        assert is_public(found.url)
        assert all(is_public(url) for url in found.proven)


def test_levels_are_another_way_to_name_presets() -> None:
    start = f"{WWW}/?id=1"
    shelf = Shelf()
    shelf.replies |= {start: _reply(start), f"{WWW}?id=1": _reply(f"{WWW}?id=1")}

    assert _canonical(start, fetch_fn=shelf, levels=(5, 4, 3, 2, 1, 0)).url == CLEAN
    assert _canonical(start, fetch_fn=shelf, levels=(3, 0)).url == f"{WWW}?id=1"
    assert _canonical(start, fetch_fn=shelf, levels=()).reason == "response_url"
    assert _canonical(start, fetch_fn=shelf, presets=("feed-moderate",)).level == 3


@pytest.mark.parametrize(
    "wrong", [{"levels": (6,)}, {"rewrites": ("tumblr",)}, {"probes": ("joomla",)}]
)
def test_a_name_that_does_not_exist_is_wrong_usage(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(UsageError, match=f"^{name} contains .*, which does not exist; choose from"):
        _search(WWW, **wrong)


def test_rewrites_and_probes_are_named_or_given() -> None:
    burnt, burner = "https://feedproxy.google.com/x", "https://feeds.feedburner.com/x"
    shelf = Shelf()
    shelf.replies = {burner: _reply(burner)}

    assert _canonical(burnt, fetch_fn=shelf, rewrites=("feedburner",)).url == burner
    assert _canonical(burnt, fetch_fn=shelf, rewrites=(lambda _: burner,)).url == burner
    assert _canonical(burner, fetch_fn=shelf, probes=("wordpress",)).url == burner


def test_a_seen_answer_is_told_even_when_it_is_refused() -> None:
    told: list[Seen] = []
    shelf = Shelf()
    shelf.replies[CLEAN] = _reply("http://10.0.0.1/feed")

    _canonical(
        fetch_fn=shelf,
        verify_fn=lambda url: "10.0" not in url,
        on_fetch=lambda _, seen: told.append(seen),
    )

    assert [seen.final_url for seen in told] == [WWW, "http://10.0.0.1/feed"]
