"""Which parameters count as tracking, and for whom (D1).

What the named policies change, and what they leave alone (D3).
"""

import pytest

from feedmill.canonicalise.policies import (
    ARTICLE_PARAMS,
    FEED_PARAMS,
    FEED_PRESETS,
    IDENTITY_PARAMS,
    POLICIES,
    FeedVariant,
    adds_only_tracking,
    canonical_link,
    feed_variants,
    is_tracking,
    registrable_domain,
    tracking_list,
)
from feedmill.canonicalise.urls import tidy_path
from feedmill.errors import UnknownPolicyError


@pytest.mark.parametrize(
    ("name", "identity", "article", "feed"),
    [
        pytest.param("utm_source", True, True, True, id="everybody knows it"),
        pytest.param("UTM_Medium", True, True, True, id="whatever the case"),
        pytest.param("utm_anything", True, False, True, id="003 names five, no family"),
        pytest.param("utm", False, False, False, id="not in the family"),
        pytest.param("ref", True, False, False, id="generic: only for identity"),
        pytest.param("source", True, False, False, id="generic: only for identity"),
        pytest.param("via", False, False, False, id="004 leaves it alone"),
        pytest.param("ref_src", False, False, False, id="004 leaves it alone, too"),
        pytest.param("cHash", False, False, False, id="TYPO3 needs it"),
        pytest.param("mc_cid", True, True, True, id="Mailchimp"),
        pytest.param("msclkid", False, False, True, id="only the long list"),
        pytest.param("obOrigUrl", False, False, True, id="mixed case in the wild"),
        pytest.param("reference", False, False, False, id="whole names only"),
        pytest.param("id", False, False, False, id="functional"),
        pytest.param("", False, False, False, id="no name"),
    ],
)
def test_each_purpose_has_its_own_list(
    name: str, identity: bool, article: bool, feed: bool
) -> None:
    lists = (IDENTITY_PARAMS, ARTICLE_PARAMS, FEED_PARAMS)

    answers = tuple(is_tracking(name, tracking_list(names)) for names in lists)

    assert answers == (identity, article, feed)


def test_a_star_stands_for_a_family() -> None:
    listed = tracking_list(["Foo_*", "Bar"])

    answers = [is_tracking(name, listed) for name in ("foo_", "FOO_x", "foo", "bar", "bar_x")]

    assert answers == [True, True, False, True, False]


def test_a_star_alone_is_no_family_of_everything() -> None:
    assert not is_tracking("id", tracking_list(["*"]))


def test_what_is_no_address_has_no_tracking_added() -> None:
    assert not adds_only_tracking("nonsense", "https://example.com/?utm_source=x")
    assert not adds_only_tracking("https://example.com/feed", "https://example.com/other?utm_a=1")
    assert adds_only_tracking("https://example.com/?a=1", "https://example.com/?a=1&utm_a=1")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("/a", "/a;jsessionid=1", True, id="a visit behind the path"),
        pytest.param("/a?b=1", "/a;jsessionid=1?b=1", True, id="beside a query"),
        pytest.param("/a", "/a;jsessionid=1?b=1", False, id="with a new query"),
        pytest.param("/a", "/a;v=2", False, id="another path parameter"),
        pytest.param("/a;jsessionid=1", "/a;jsessionid=2", False, id="another visit"),
    ],
)
def test_a_session_behind_the_path_is_tracking(before: str, after: str, *, expected: bool) -> None:
    site = "https://e.example"

    assert adds_only_tracking(f"{site}{before}", f"{site}{after}") is expected


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://user:pw@e.example/a#f", id="credentials and fragment"),
        pytest.param("https://user@e.example:443/a", id="user and default port"),
        pytest.param(" HTTPS://E.Example/a? ", id="case, white space, empty query"),
        pytest.param("https://e.example/./x/../a?fbclid=1", id="dot segments and a tracker"),
        pytest.param("https://e.exa\tmple/a?&", id="a tab and an empty piece"),
    ],
)
def test_every_policy_drops_what_no_resource_is_named_by(policy: str, url: str) -> None:
    assert canonical_link(url, policy) == "https://e.example/a"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "url",
    [
        pytest.param("", id="empty"),
        pytest.param("  ", id="blank"),
        pytest.param("javascript:alert(1)", id="javascript"),
        pytest.param("file:///etc/passwd", id="file"),
        pytest.param("mailto:a@b.example", id="mailto"),
        pytest.param("data:,x", id="data"),
        pytest.param("ftp://e.example/", id="ftp"),
        pytest.param("/a", id="relative without a base"),
        pytest.param("e.example/a", id="a bare host is for resolve_url"),
        pytest.param("http://", id="no host"),
        pytest.param("not a url", id="prose"),
        pytest.param("feed:file:///x", id="wrapped file"),
        pytest.param("http://e.example:99999/", id="impossible port"),
        pytest.param("\ud800", id="no text"),
    ],
)
def test_what_is_no_http_url_has_no_canonical_form(policy: str, url: str) -> None:
    assert canonical_link(url, policy) is None


@pytest.mark.parametrize("policy", POLICIES)
def test_a_relative_link_is_read_against_its_base(policy: str) -> None:
    canonical = canonical_link("../a", policy, base="https://e.example/x/y/feed.xml")

    assert canonical == "https://e.example/x/a"


def test_an_unknown_policy_is_the_callers_mistake() -> None:
    with pytest.raises(UnknownPolicyError, match=r"'identity'; choose one of: identity-v1, "):
        canonical_link("https://e.example/", "identity")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(
            "https://www.e.example//a/?z=1&ref=x&a=%7e&source=y&utm_id=3",
            "https://www.e.example//a/?z=1&a=%7e",
            id="path, order and bytes stay",
        ),
        pytest.param("https://e.example/a?mc_cid=1&mc_eid=2", "https://e.example/a", id="mail"),
        pytest.param("https://e.example/%7e%2f", "https://e.example/%7e%2f", id="escapes stay"),
        pytest.param("feed://e.example/a", None, id="a feed scheme is no entry link"),
    ],
)
def test_identity_keeps_everything_that_may_mean_something(url: str, expected: str | None) -> None:
    assert canonical_link(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("https://e.example/a//", "https://e.example/a", id="all trailing slashes"),
        pytest.param("https://e.example//", "https://e.example/", id="the root keeps one"),
        pytest.param("https://e.example/a//b", "https://e.example/a//b", id="inner slashes stay"),
        pytest.param("https://bücher.example/", "https://xn--bcher-kva.example/", id="punycode"),
        pytest.param(
            "https://e.example/a?utm_id=1", "https://e.example/a?utm_id=1", id="no family"
        ),
        pytest.param(
            "https://e.example/a?B&a=2&&b=1", "https://e.example/a?B&a=2&b=1", id="sorted"
        ),
    ],
)
def test_an_article_link_is_sorted_and_has_no_trailing_slash(url: str, expected: str) -> None:
    assert canonical_link(url, "article-v1") == expected


def test_a_list_of_ones_own_replaces_the_policys() -> None:
    url = "https://e.example/a?utm_source=1&sid=2&x_a=3"

    canonical = canonical_link(url, "article-v1", tracking_params=["SID", "x_*"])

    assert canonical == "https://e.example/a?utm_source=1"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param("www.example.com", "example.com", id="ordinary"),
        pytest.param("www.blog.example.com", "blog.example.com", id="subdomain"),
        pytest.param("www.www.example.com", "example.com", id="twice, or it is not idempotent"),
        pytest.param("www.com", "www.com", id="a name of its own"),
        pytest.param("www.www.com", "www.com", id="the inner one is"),
        pytest.param("www.com.", "www.com.", id="with the root's dot"),
        pytest.param("www.example.com.", "example.com.", id="root's dot kept"),
        pytest.param("www.co.uk", "www.co.uk", id="under a country's second level"),
        pytest.param("www.gov.uk", "www.gov.uk", id="a real one"),
        pytest.param("www.com.br", "www.com.br", id="another country"),
        pytest.param("www.bbc.co.uk", "bbc.co.uk", id="a site there"),
        pytest.param("www.t.co", "t.co", id="a short name is a name"),
        pytest.param("www.go.com", "go.com", id="com is no country"),
        pytest.param("www.localhost", "www.localhost", id="no dot left"),
        pytest.param("www..com", "www..com", id="no label left"),
        pytest.param("www2.example.com", "www2.example.com", id="another label"),
        pytest.param("wwwexample.com", "wwwexample.com", id="no label at all"),
        pytest.param("www." * 64 + "com", "www." * 64 + "com", id="longer than DNS allows"),
    ],
)
def test_www_goes_only_where_a_name_is_left(host: str, expected: str) -> None:
    assert canonical_link(f"https://{host}/", "feed-aggressive") == f"https://{expected}/"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/%7Euser/%2d", "/~user/-", id="unreserved decoded"),
        pytest.param("/a%2fb%3f", "/a%2Fb%3F", id="reserved only in capitals"),
        pytest.param("/%c3%a9", "/%C3%A9", id="other bytes in capitals"),
        pytest.param("/100%", "/100%", id="a stray percent sign"),
        pytest.param("/%2%65", "/%2%65", id="decoding would make a new escape"),
        pytest.param("/%%34%31", "/%%341", id="nor behind a bare percent sign"),
        pytest.param("/%2541", "/%2541", id="decoded once"),
        pytest.param("//a///b//", "/a/b/", id="slashes collapsed"),
        pytest.param("/a%2f/b", "/a%2F/b", id="an escaped slash is no slash"),
    ],
)
def test_a_path_is_tidied_without_changing_what_it_names(path: str, expected: str) -> None:
    assert tidy_path(path) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("rss://e.example/a", "https://e.example/a", id="rss"),
        pytest.param(" feed:http://e.example/a", "http://e.example/a", id="wrapped http"),
        pytest.param("https://e.example/a?x=%7e//b", "https://e.example/a?x=%7e//b", id="query"),
        pytest.param(
            "https://e.example/a?ref=x&via=y", "https://e.example/a?ref=x&via=y", id="ref"
        ),
    ],
)
@pytest.mark.parametrize("policy", FEED_PRESETS)
def test_a_feed_url_is_converted_and_keeps_its_query(policy: str, url: str, expected: str) -> None:
    assert canonical_link(url, policy) == expected


def test_the_variants_of_a_feed_url_come_cleanest_first() -> None:
    variants = feed_variants("http://www.e.example/feed/?utm_source=x")

    assert [(variant.url, variant.policy) for variant in variants] == [
        ("http://e.example/feed", "feed-aggressive"),
        ("http://www.e.example/feed", "feed-moderate"),
        ("http://www.e.example/feed/", "feed-conservative"),
    ]


def test_variants_are_ordered_by_score_and_not_by_preset() -> None:
    presets = ("feed-conservative", "feed-aggressive")

    variants = feed_variants("https://www.e.example/feed/", presets)

    assert [variant.policy for variant in variants] == ["feed-aggressive", "feed-conservative"]


def test_presets_that_agree_give_one_variant() -> None:
    variants = feed_variants("https://e.example/feed")

    assert variants == (
        FeedVariant(url="https://e.example/feed", policy="feed-aggressive", cleanliness=267.8),
    )


def test_a_list_of_ones_own_decides_stripping_and_score() -> None:
    (variant,) = feed_variants("https://e.example/feed?ts=1&sid=2", tracking_params=iter(["sid"]))

    assert (variant.url, variant.cleanliness) == ("https://e.example/feed?ts=1", 262.3)


def test_what_is_no_url_has_no_variants() -> None:
    assert feed_variants("javascript:alert(1)") == ()


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("feeds.example.com", "example.com"),
        ("a.b.example.co.uk.", "example.co.uk"),
        ("EXAMPLE.com", "example.com"),
        ("localhost", "localhost"),
    ],
)
def test_registrable_domain_of_a_host(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain
