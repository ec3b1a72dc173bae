"""Whatever a page links to and whatever those addresses answer, the search for feeds keeps these laws."""

from hypothesis import given
from hypothesis import strategies as st

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.search import (
    WELL_KNOWN,
    FeedsWanted,
    FindOptions,
    find_feeds,
)
from feedmill.model.canonical import Ask, FeedFacts, Found, Seen

SITE = "https://paper.example"
PATHS = ("/a.rss", "/b.rss", "/c.atom", "/comments/feed", "/category/x/feed", "/page", *WELL_KNOWN)
answers = st.sampled_from(("feed", "empty", "page", "missing", "silent", "refused", "busy"))
pages = st.lists(st.tuples(st.sampled_from(("link", "a")), st.sampled_from(PATHS)), max_size=6).map(
    lambda links: "".join(
        f'<link rel=alternate type="application/rss+xml" href="{path}">'
        if kind == "link"
        else f'<a href="{path}">RSS</a>'
        for kind, path in links
    )
)
wanted = st.sampled_from(("first", "choices", "all"))


def seen_of(url: str, kind: str) -> Seen:
    if kind in ("feed", "empty"):
        facts = FeedFacts(format="rss20", entries=3 if kind == "feed" else 0)
        return Seen(url=url, final_url=url, status=200, is_feed=True, facts=facts)
    status, reason = {
        "page": (200, "html-page"),
        "missing": (404, "not-found"),
        "silent": (None, "timeout"),
        "refused": (None, "private-address"),
        "busy": (429, "rate-limited"),
    }[kind]
    return Seen(url=url, final_url=url, status=status, reason=reason, spent=kind != "refused")


@given(pages, st.lists(answers, min_size=30, max_size=30), st.integers(0, 15), wanted)
def test_every_search_is_within_its_budget_and_offers_nothing_wrong(
    html: str, kinds: list[str], budget: int, many: FeedsWanted
) -> None:
    asked: list[Ask] = []
    seen: dict[str, Seen] = {}
    steps = find_feeds(read_page(html, f"{SITE}/"), FindOptions(budget=budget, wanted=many))
    found, answer = None, None
    while found is None:
        try:
            step = next(steps) if answer is None else steps.send(answer)
        except StopIteration as end:
            found = end.value
        else:
            asked.append(step)
            answer = seen[step.url] = seen_of(step.url, kinds[len(asked) % len(kinds)])
    assert isinstance(found, Found)

    spent = sum(one.spent for one in seen.values())
    assert spent <= budget
    assert len({one.url for one in asked}) == len(asked)
    assert [one.url for one in asked] == [one.url for one in found.asked]
    tried = [seen[one.url] for one in asked]
    assert all(one.status != 429 for one in tried[:-1])
    for feed in found.feeds:  # nothing that was requested and is no feed
        assert feed.url not in seen or seen[feed.url].is_feed
        assert feed.url in seen or feed.found_by in ("header", "link")
    assert not {feed.url for feed in found.feeds} & {feed.url for feed in found.untried}
    assert (found.reason == "proven") == any(one.is_feed for one in tried)
    plain = [feed for feed in found.feeds if feed.url in seen and not feed.is_comments]
    entries = [bool(seen[feed.url].facts.entries) for feed in plain]  # type: ignore[union-attr]  # feeds have facts
    assert entries == sorted(entries, reverse=True)  # empty ones stand behind
