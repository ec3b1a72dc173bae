"""Laws that hold for every URL, not only for those somebody thought of."""

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.canonicalise.pasted_url import (
    blogger,
    feedburner,
    repair_protocol,
    resolve_url,
    wordpress_candidates,
)
from feedmill.canonicalise.policies import (
    ARTICLE_PARAMS,
    POLICIES,
    canonical_link,
    cleanliness,
    entry_spellings,
    feed_variants,
)
from feedmill.canonicalise.same_feed import neutralise_urls
from feedmill.canonicalise.urls import (
    drop_params,
    http_url,
    is_plain,
    join_url,
    resolve,
    sort_params,
    split_url,
)

LAW = settings(deadline=None)  # the machine may be busy; laws are not timed
ATOMS = st.sampled_from(
    (
        *("http", "https", "feed", "htp", "www", "e.example", "com", "co.uk", "utm_a", "ref", "ts"),
        *(":", "/", "//", "\\", ".", "..", "?", "&", "=", "#", "@", "%", "%2", "%65", "%2e", "%2F"),
        *("a", "B", "é", "0", "1", ";", "&amp;", "+", " ", "\n", '"', "[::1]", "[", "\x00", "😀"),
    )
)
PIECES = st.lists(ATOMS, max_size=12).map("".join)
WEB = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https", "HTTPS", "feed", "feed:http"]),
    st.sampled_from(["e.example", "www.e.example", "www.com", "u:p@www.www.co.uk:80", "bücher.de"]),
    st.sampled_from(["", "/", "?", "//", "/a/"]),
    PIECES,
)
ADDRESSES = st.one_of(WEB, PIECES, st.text())
NEARLY_PLAIN = st.builds(
    "https://{}/{}".format,
    st.lists(st.sampled_from(["a", "0", "-", ".", "com", "0x1", "xn--", "e.de"]), min_size=1).map(
        "".join
    ),
    st.lists(
        st.sampled_from(
            ["a", "B", "/", ".", "..", "%", "%2e", "%2E", "%41", "?", "#", "=", "&", "'", "~"]
        ),
        max_size=8,
    ).map("".join),
)


@pytest.mark.parametrize("policy", POLICIES)
@LAW
@given(url=ADDRESSES)
def test_canonicalising_twice_changes_nothing(policy: str, url: str) -> None:
    once = canonical_link(url, policy)

    twice = None if once is None else canonical_link(once, policy)

    assert twice == once


@pytest.mark.parametrize("policy", POLICIES)
@LAW
@given(url=ADDRESSES)
def test_a_canonical_url_is_one_that_the_parser_reads_back_unchanged(policy: str, url: str) -> None:
    canonical = canonical_link(url, policy, base="https://e.example/a/b")

    if canonical is not None:
        assert ada_url.normalize_url(canonical) == canonical
        parts = split_url(canonical)
        assert (parts.userinfo, parts.fragment) == ("", None)


@LAW
@given(url=ADDRESSES)
def test_the_parts_of_any_url_make_up_the_url(url: str) -> None:
    href = http_url(url)

    if href is not None:
        assert join_url(split_url(href)) == href
        assert split_url(href).host == ada_url.URL(href).hostname


@LAW
@given(query=PIECES)
def test_what_is_left_of_a_query_is_a_selection_of_its_pieces(query: str) -> None:
    pieces = query.split("&")

    kept = drop_params(query, lambda name: name.startswith("utm_")).split("&")

    remaining = iter(pieces)
    assert all(piece in remaining for piece in kept if piece)


@LAW
@given(query=PIECES)
def test_sorting_keeps_every_piece_and_is_stable(query: str) -> None:
    once = sort_params(query)

    assert sorted(filter(None, once.split("&"))) == sorted(filter(None, query.split("&")))
    assert sort_params(once) == once


@LAW
@given(text=ADDRESSES)
def test_an_address_resolves_to_an_http_url_or_to_nothing(text: str) -> None:
    for url in (resolve_url(text), resolve_url(text, "https://e.example/a")):
        assert url is None or url == http_url(url)


@LAW
@given(text=ADDRESSES)
def test_a_repaired_protocol_needs_no_repair(text: str) -> None:
    once = repair_protocol(text)

    assert repair_protocol(once) == once


@LAW
@given(reference=ADDRESSES, base=ADDRESSES)
def test_resolving_a_reference_never_fails(reference: str, base: str) -> None:
    resolved = resolve(reference, base)

    assert resolved == resolved.strip()


@LAW
@given(url=ADDRESSES)
def test_variants_come_in_falling_cleanliness_and_only_once(url: str) -> None:
    variants = feed_variants(url)

    scores = [variant.cleanliness for variant in variants]
    assert scores == sorted(scores, reverse=True)
    assert scores == [cleanliness(variant.url) for variant in variants]
    assert len({variant.url for variant in variants}) == len(variants)


@LAW
@given(path=PIECES)
def test_a_rewritten_url_is_known_and_stays(path: str) -> None:
    for rewrite, host in ((feedburner, "feeds2.feedburner.com"), (blogger, "a.blogspot.co.uk")):
        once = rewrite(f"http://{host}/{path}")

        assert once is not None
        assert rewrite(once) == once


@LAW
@given(url=ADDRESSES)
def test_a_wordpress_candidate_has_no_candidates_left(url: str) -> None:
    for candidate in wordpress_candidates(f"{url}?feed=atom"):
        assert wordpress_candidates(candidate) == ()


@LAW
@given(text=ADDRESSES)
def test_a_text_without_the_feeds_own_host_keeps_its_hosts(text: str) -> None:
    stranger = "https://stranger.example/"

    assert neutralise_urls(text, [stranger]) == neutralise_urls(text, [])


@settings(LAW, max_examples=500)
@given(url=NEARLY_PLAIN)
def test_a_plain_url_is_what_the_parser_makes_of_it(url: str) -> None:
    assert not is_plain(url) or ada_url.normalize_url(url) == url


@LAW
@given(url=ADDRESSES | NEARLY_PLAIN)
def test_the_spellings_of_an_entry_link_are_those_of_its_two_policies(url: str) -> None:
    href = http_url(url)

    if href is not None:
        assert entry_spellings(href, ARTICLE_PARAMS) == (
            canonical_link(url, "identity-v1"),
            canonical_link(url, "article-v1"),
        )
