"""Whatever a web looks like, the search for a canonical address keeps these laws."""

from collections.abc import Mapping
from itertools import product

from hypothesis import event, given
from hypothesis import strategies as st
from tests.support.in_memory_web import (
    BROKEN,
    BUSY,
    DEAD,
    HTML,
    Page,
    Told,
    look,
    moved,
    search,
)

from feedmill.canonicalise.policies import cleanliness
from feedmill.canonicalise.urls import split_url
from feedmill.model.canonical import Canonical

HOSTS = ("paper.example", "www.paper.example", "cdn.example")
ADDRESSES = [
    f"{scheme}://{host}{path}{query}"
    for scheme, host, path, query in product(
        ("https", "http"), HOSTS, ("/feed", "/feed/"), ("", "?utm_source=mail", "?id=7")
    )
]
addresses = st.sampled_from(ADDRESSES)
stamps = st.sampled_from(("", "monday", "tuesday"))
selves = st.lists(
    addresses | st.sampled_from(("", "not a url", "/feed", "ftp://a.example/x")), max_size=2
)
feeds = st.builds(lambda own, stamp: Page("news", tuple(own), stamp), selves, stamps)
pages = st.one_of(
    feeds,
    feeds,
    st.sampled_from((DEAD, BROKEN, BUSY, HTML, Page("other"))),
    st.builds(lambda to, temporary: moved(to, temporary=temporary), addresses, st.booleans()),
    addresses.map(lambda to: moved(to.replace("://", "://user:secret@"))),
)


def _with_secrets(web: dict[str, Page]) -> dict[str, Page]:
    """Where an address answers, it answers to those who bring credentials as well."""
    secret = {url.replace("://", "://user:secret@"): page for url, page in web.items()}
    return web | {url: page for url, page in secret.items() if page.to is None}


def _webs(answers: st.SearchStrategy[Page]) -> st.SearchStrategy[dict[str, Page]]:
    """Every address answers something."""
    many = st.lists(answers, min_size=len(ADDRESSES), max_size=len(ADDRESSES))
    return many.map(lambda chosen: dict(zip(ADDRESSES, chosen, strict=True)))


webs = _webs(pages).map(_with_secrets)
budgets = st.integers(0, 6)


@given(addresses, webs, budgets)
def test_what_is_returned_was_fetched_and_serves_the_feed(
    address: str, web: dict[str, Page], budget: int
) -> None:
    told = search(address, web, budget=budget)

    if isinstance(told.verdict, Canonical):
        event(told.verdict.reason)
        fetched = {seen.url for seen in told.answers} | {seen.final_url for seen in told.answers}
        assert told.found.url in fetched
        assert look(told.found.url, web).signature == told.answers[0].signature


@given(addresses, webs, budgets)
def test_nobody_is_asked_twice_and_the_budget_is_kept(
    address: str, web: dict[str, Page], budget: int
) -> None:
    told = search(address, web, budget=budget)

    assert len(set(told.urls)) == len(told.urls)
    assert len(told.urls) <= 1 + budget
    assert told.verdict.requests == max(len(told.urls) - 1, 0)


@given(addresses, webs, budgets)
def test_whoever_says_slow_down_is_the_last_to_be_asked(
    address: str, web: dict[str, Page], budget: int
) -> None:
    told = search(address, web, budget=budget)

    assert all(seen.status != BUSY.status for seen in told.answers[:-1])


@given(addresses, webs, budgets)
def test_https_is_never_left(address: str, web: dict[str, Page], budget: int) -> None:
    told = search(address, web, budget=budget)

    if isinstance(told.verdict, Canonical) and told.found.response_url.startswith("https:"):
        assert told.found.url.startswith("https:")
        if told.found.url != told.found.response_url:
            assert look(told.found.url, web).final_url.startswith("https:")


@given(addresses, webs, budgets)
def test_no_credential_becomes_part_of_an_address(
    address: str, web: dict[str, Page], budget: int
) -> None:
    told = search(address.replace("://", "://me:secret@"), web, budget=budget)

    assert "secret" not in "".join(told.urls)
    if isinstance(told.verdict, Canonical):
        assert not split_url(told.found.url).userinfo
        assert not any(split_url(url).userinfo for url in told.found.proven)


@given(addresses, webs, budgets)
def test_the_result_is_no_less_clean_than_where_it_comes_from(
    address: str, web: dict[str, Page], budget: int
) -> None:
    told = search(address, web, budget=budget)

    if isinstance(told.verdict, Canonical):
        source = told.found.response_url
        if told.found.source == "self":
            source = _destination(told, web)
        assert cleanliness(told.found.url) >= cleanliness(source)


@given(addresses, st.data())
def test_a_canonical_address_is_its_own_canonical_address(
    address: str, data: st.DataObject
) -> None:
    own = data.draw(st.none() | addresses)
    web = data.draw(_consistent_webs(own))

    first = search(address, web, budget=50)

    if isinstance(first.verdict, Canonical):
        again = search(first.found.url, web, budget=50)
        # A clean spelling that is proven is adopted even where it redirects to a third address;
        # whoever begins there begins at that third address.
        if not _wanders(first) and not _wanders(again):
            assert again.found.url == first.found.url


def _wanders(told: Told) -> bool:
    home = told.found.response_url
    return any(
        seen.is_feed and ask.role != "self" and seen.final_url not in (seen.url, home)
        for ask, seen in zip(told.asks, told.answers, strict=True)
    )


def _destination(told: Told, web: Mapping[str, Page]) -> str:
    """Where the publisher's own word led to."""
    asked = {ask.url for ask in told.asks if ask.role == "self"}
    ends = {look(url, web).final_url for url in asked} | asked
    return min((end for end in ends if "@" not in end), key=cleanliness)


def _consistent_webs(own: str | None) -> st.SearchStrategy[dict[str, Page]]:
    """Webs in which a feed says the same of itself wherever it is served."""
    declared = () if own is None else (own,)
    serving = stamps.map(lambda stamp: Page("news", declared, stamp))
    answers = st.one_of(serving, serving, st.just(DEAD), addresses.map(moved))
    return _webs(answers)


def test_a_declared_https_address_that_leads_to_http_with_credentials_is_left_alone() -> None:
    home, declared = ADDRESSES[0], "https://cdn.example/feed"
    web = {
        home: Page("news", (declared,)),
        declared: moved("http://user:secret@paper.example/feed/"),
        "http://user:secret@paper.example/feed/": Page("news"),
    }

    told = search(home, web, budget=1)

    assert told.found.url == home
