"""A page is reduced to its links, anchors and metas as a browser would see them."""

import pytest

from feedmill.canonicalise.discovery.html_page import (
    MAX_ELEMENTS,
    MAX_PAGE_CHARS,
    page_text,
    plain_url,
    read_page,
    refresh_target,
)

URL = "https://example.com/blog/page.html"


def hrefs(html: str | bytes) -> list[str]:
    return [element.get("href") for element in read_page(html, URL).links]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<link href="/a">', ["/a"]),
        ("<LINK HREF='/a' >", ["/a"]),
        ("<link href=/a>", ["/a"]),
        ("<link href=/a />", ["/a"]),
        ("<link\n\thref = '/a'\n>", ["/a"]),
        ("<link/href=/a>", ["/a"]),
        ('<link href="/a" href="/b">', ["/a"]),  # the first of two counts
        ('<link href="/a?x=1&amp;y=2">', ["/a?x=1&y=2"]),
        ('<link href="/a?x=1&copy=2">', ["/a?x=1&copy=2"]),  # no entity without its semicolon
        ('<link href="/a', ["/a"]),  # the page ends inside the tag
        ("<link href=>", [""]),
        ("<link>", []),  # nothing said
        ("<link foo=1>", []),
        ("<linked href=/a>", []),  # another element
        ("<!-- <link href=/a> --><link href=/b>", ["/b"]),
        ("<!--><link href=/b>", ["/b"]),  # a whole comment
        ("<!-- x --!><link href=/b>", ["/b"]),
        ("<!--[if IE]><link href=/a><![endif]--><link href=/b>", ["/b"]),
        ("<!-- never closed <link href=/a>", []),
        ("<script>'<link href=/a>'</script><link href=/b>", ["/b"]),
        ("<SCRIPT>'<link href=/a>'</Script ><link href=/b>", ["/b"]),
        ("<script>'<link href=/a>'", []),
        ("<title><link href=/a></title><link href=/b>", ["/b"]),
        ("<textarea><link href=/a></textarea><link href=/b>", ["/b"]),
        ("<noscript><link href=/a></noscript>", ["/a"]),
        ("</head><body><p><link href=/a>", ["/a"]),
        ("<b><i></b><link href=/a></i></table>", ["/a"]),
        ('<p title="<link href=/a>">', ["/a"]),  # a small price for reading without a tree
        ("<link = href=/a>", []),  # a name cannot begin like that: the tag is given up
    ],
)
def test_links_are_read_from_markup_of_every_kind(html: str, expected: list[str]) -> None:
    assert hrefs(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href=/a>The <b>RSS</b>\n feed</a>", "The RSS feed"),
        ("<a href=/a>The feed</A>", "The feed"),
        ("<a href=/a>caf&eacute;</a>", "café"),
        ('<a href=/a><img src=x alt="RSS"></a>', "RSS"),
        ("<a href=/a><img src=x></a>", ""),
        ("<a href=/a>never closed", "never closed"),
        ("<a href=/a>" + "x" * 5000 + "</a>", "x" * 200),
    ],
)
def test_an_anchor_says_what_a_person_reads_on_it(html: str, expected: str) -> None:
    assert [anchor.text for anchor in read_page(html, URL).anchors] == [expected]


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("", URL),
        ('<base target="_blank">', URL),
        ('<base href="/other/">', "https://example.com/other/"),
        ('<base href="//cdn.example.net/x/">', "https://cdn.example.net/x/"),
        ('<base href="/one/"><base href="/two/">', "https://example.com/one/"),
        ('<base target=x><base href="/two/">', "https://example.com/two/"),
        ('<base href="javascript:alert(1)">', URL),
        ('<base href="data:text/html,x">', URL),
        ('<base href="http://[">', URL),
        ('<base href="https://user:secret@example.com/x/">', "https://example.com/x/"),
    ],
)
def test_references_are_joined_with_the_first_base_that_is_a_web_address(
    base: str, expected: str
) -> None:
    assert read_page(f"<link href=/a>{base}", URL).base == expected


def test_a_page_without_a_web_address_is_empty() -> None:
    page = read_page("<link rel=alternate href=/a>", "mailto:somebody@example.com")

    assert (page.links, page.anchors, page.metas, page.text) == ((), (), (), "")


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        ("é".encode(), None, "é"),
        (b"\xef\xbb\xbf" + "é".encode(), "text/html; charset=iso-8859-1", "é"),
        (b"\xff\xfe" + "é".encode("utf-16le"), None, "é"),
        (b"\xfe\xff" + "é".encode("utf-16be"), None, "é"),
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"),
        (b'<meta charset="windows-1251">' + "я".encode("cp1251"), None, "я"),
        (
            b'<meta content="text/html; charset=Shift_JIS">' + "あ".encode("cp932"),
            "text/html",
            "あ",
        ),
        (b"<meta charset=utf-7>+AGEAYg-", None, "+AGEAYg-"),  # never a codec of Python's own
        (b"\xe9", "text/html; charset=rot13", "\ufffd"),
    ],
)
def test_bytes_are_read_by_mark_header_and_own_word(
    body: bytes, content_type: str | None, expected: str
) -> None:
    assert page_text(body, content_type).endswith(expected)


def test_text_is_read_up_to_a_limit() -> None:
    assert len(page_text("x" * (MAX_PAGE_CHARS + 1))) == MAX_PAGE_CHARS
    assert len(page_text(b"x" * (MAX_PAGE_CHARS + 1))) == MAX_PAGE_CHARS


def test_elements_of_a_kind_are_read_up_to_a_limit_and_others_go_on() -> None:
    page = read_page("<a href=/x>" * (MAX_ELEMENTS + 5) + "<link href=/y>", URL)

    assert (len(page.anchors), len(page.links)) == (MAX_ELEMENTS, 1)


def test_a_tag_with_thousands_of_attributes_is_read_in_part() -> None:
    page = read_page("<a href=/x " + "b=c " * 10_000 + "title=late><a href=/y>", URL)

    assert [(anchor.get("href"), anchor.get("title")) for anchor in page.anchors] == [
        ("/x", ""),
        ("/y", ""),
    ]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("/feed#top", "https://example.com/feed"),
        ("https://user:secret@example.com/feed", "https://example.com/feed"),
        ("https://example.com/@name", "https://example.com/@name"),
        ("javascript:void(0)", None),
        ("mailto:somebody@example.com", None),
        ("x" * 5_000, None),
    ],
)
def test_an_address_has_neither_credentials_nor_a_fragment(
    reference: str, expected: str | None
) -> None:
    assert plain_url(reference, URL) == expected


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=https://new.example/", "https://new.example/"),
        ("3;URL='/a.xml'", "https://h.example/a.xml"),
        ("0,a", "https://h.example/a"),
        ("0.5 url=/a", "https://h.example/a"),
        ("; url=/a", "https://h.example/a"),
        ("0; url=/", None),  # itself
        ("0; url=", None),
        ("0; url=javascript:x()", None),
        ("5", None),
        ("600; url=/a", None),  # a page that stays for ten minutes
    ],
)
def test_a_page_may_send_its_reader_on(content: str, target: str | None) -> None:
    page = read_page(f'<META HTTP-EQUIV=Refresh CONTENT="{content}">', "https://h.example/")

    assert refresh_target(page) == target


def test_other_metas_send_nobody_on() -> None:
    page = read_page('<meta http-equiv="x-ua" content="0; url=/a">', "https://h.example/")

    assert refresh_target(page) is None
