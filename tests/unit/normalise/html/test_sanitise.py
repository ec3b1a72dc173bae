"""Clean HTML: the rules of `vectors/xss.json` hold for its payloads and for any tag soup."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element  # noqa: TID251 -- the tree that html5lib builds

import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.normalise.html.sanitise import clean_html, from_text, from_xhtml, sanitise
from feedmill.normalise.html.tokens import ALLOWED_ATTRIBUTES, ALLOWED_TAGS

UNTIMED = settings(deadline=None)  # the machine may be busy; laws are not timed

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "xss.json").read_text("utf-8"))
HTML_CASES = [case for case in VECTORS["cases"] if case["context"] == "content_html"]
BASE = "https://example.com/blog/post"
REL = ' rel="noopener noreferrer nofollow"'

SOUP = st.lists(
    st.sampled_from(
        [
            "<", ">", "/", "=", '"', "'", " ", "x", "<p>", "</p>", "<b>", "</b>", "<a href=", "</a>",
            "javascript:alert(1)", "mailto:a@b.c", "http://e.com/", "//e.com", "<img src=",
            "<video poster=", " onerror=", " style=", " id=x", " srcset=", "<svg>", "</svg>",
            "<math>", "<style>", "</style>", "<script>", "</script>", "<!--", "-->", "--!>",
            "<![CDATA[", "]]>", "<table>", "<td>", "</table>", "<form>", "<select>", "<noscript>",
            "<template>", "<title>", "</title>", "<textarea>", "<iframe srcdoc=", "&lt;", "&#x3c;",
            "&quot;", "\x00", "\t", "\ud800", "\u200b", "<mglyph>", "<mtext>", "<foreignObject>",
            "<annotation-xml encoding=text/html>", "<plaintext>", "<li>", "<br>", "<details open>",
        ]
    ),
    max_size=30,
).map("".join)  # fmt: skip


def violations(html: str) -> list[str]:
    """What of the vectors' DOM assertions the HTML breaks, seen through an HTML5 parser."""
    tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    return [broken for element in tree.iter() for broken in _broken_rules(element)]


def _broken_rules(element: Element) -> list[str]:
    if element.tag == "DOCUMENT_FRAGMENT":
        return []
    broken = [] if element.tag in ALLOWED_TAGS else [f"element {element.tag}"]
    allowed = ALLOWED_ATTRIBUTES["*"] | ALLOWED_ATTRIBUTES.get(element.tag, frozenset()) | {"rel"}
    broken += [f"attribute {name}" for name in element.attrib if name not in allowed]
    for name, schemes in (("href", ("http", "https", "mailto")), ("src", ("http", "https"))):
        broken += _bad_scheme(element.get(name), schemes)
    broken += _bad_scheme(element.get("poster"), ("http", "https"))
    if element.tag == "a" and not {"noopener", "noreferrer"} <= set(
        (element.get("rel") or "").split()
    ):
        broken.append("link without rel")
    return broken


def _bad_scheme(address: str | None, schemes: tuple[str, ...]) -> list[str]:
    if address is None:
        return []
    scheme, colon, _ = re.sub(r"[\x00-\x20\x7f-\xa0]", "", address).partition(":")
    return [] if colon and scheme.lower() in schemes else [f"address {address!r}"]


@pytest.mark.parametrize("case", HTML_CASES, ids=lambda case: f"{case['id']} {case['why']}")
@pytest.mark.parametrize("base", [None, BASE], ids=["without a base", "with a base"])
def test_no_payload_survives(case: dict[str, Any], base: str | None) -> None:
    html = clean_html(case["payload"], base=base)

    assert violations(html) == []


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        pytest.param("<p>Hello <b>you</b></p>", "<p>Hello <b>you</b></p>", id="good HTML stays"),
        pytest.param("a<script>x</script>b", "ab", id="scripts go with their content"),
        pytest.param("<font>a</font>", "a", id="unknown elements leave their text"),
        pytest.param("&lt;b&gt;", "&lt;b&gt;", id="escaped markup is never decoded again"),
        pytest.param("\uff1cscript\uff1e", "\uff1cscript\uff1e", id="no NFKC"),
        pytest.param("a<!-- x -->b", "ab", id="comments go"),
        pytest.param("<![CDATA[a <b>b</b>]]>", "a <b>b</b>", id="CDATA is text, as in XML"),
        pytest.param("<p>a<![CDATA[<i>b</i>", "<p>a<i>b</i></p>", id="also where nothing ends it"),
        pytest.param("a\x00b\x1bc&#1;d\x0ce\ufffff", "abcdef", id="no control characters"),
        pytest.param("caf\u00e9\x01", "caf\u00e9", id="nor beside other scripts"),
        pytest.param("a\ud83d\ude00\ud800b", "a\U0001f600b", id="surrogates join or go"),
        pytest.param('<img src="mailto:a@b.c" alt="x">', '<img alt="x">', id="nothing loads mail"),
        pytest.param('<img src="MA\tIL\nTO :x">', "<img>", id="however it is spelled"),
        pytest.param('<img src=" mAi&#10;lto:x">', "<img>", id="or escaped"),
        pytest.param(
            'a<video poster="mailto:a" src="http://e.com/"></video>',
            'a<video src="http://e.com/"></video>',
            id="not even as a poster",
        ),
        pytest.param(
            '<img src="http://e.com/a.png" width="1" onload="x">',
            '<img src="http://e.com/a.png" width="1">',
            id="attributes are chosen one by one",
        ),
    ],
)
def test_only_the_allow_list_is_left(written: str, clean: str) -> None:
    assert clean_html(written) == clean


@pytest.mark.parametrize(
    ("reference", "base", "resolved"),
    [
        pytest.param("pic.png", BASE, "https://example.com/blog/pic.png", id="beside the base"),
        pytest.param("//cdn.example/x", BASE, "https://cdn.example/x", id="another host"),
        pytest.param("//cdn.example/x", None, "https://cdn.example/x", id="a host needs no base"),
        pytest.param("www.e.com/x", BASE, "https://www.e.com/x", id="no scheme"),
        pytest.param("http://e.com/x", None, "http://e.com/x", id="absolute already"),
        pytest.param("pic.png", None, None, id="without a base it names nothing"),
        pytest.param("pic.png", "mailto:a@b.c", None, id="a base that is no place"),
        pytest.param("pic.png", "https://[", None, id="a base that is no address"),
    ],
)  # fmt: skip
def test_addresses_become_absolute(reference: str, base: str | None, resolved: str | None) -> None:
    html = clean_html(f'<img src="{reference}">', base=base)

    assert html == ("<img>" if resolved is None else f'<img src="{resolved}">')


def test_mail_links_stay_while_mail_pictures_go() -> None:
    html = clean_html('<a href="mailto:a@b.c">write</a><img src="mailto:a@b.c">')

    assert html == '<a href="mailto:a@b.c" rel="noopener noreferrer nofollow">write</a><img>'


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        pytest.param("<p>one two</p><a href=x>", "<p>one two</p>", id="not inside a tag"),
        pytest.param("<p>one two three four five</p>", "<p>one two three</p>", id="nor a word"),
        pytest.param("<b>one</b><i>two</i>three", "<b>one</b><i>two</i>", id="nor the next word"),
        pytest.param("x" * 130, "x" * 20, id="unless there is nothing but a word"),
        pytest.param('<p>a</p><b a="b > c d">', "<p>a</p>", id="nor does a value become text"),
    ],
)
def test_oversized_markup_is_cut_at_a_safe_place(written: str, clean: str) -> None:
    result = sanitise(written, base=None, max_chars=20, max_depth=200)

    assert result.html == clean
    assert result.cut


@pytest.mark.parametrize(
    ("markup", "html"),
    [
        pytest.param('<script src="x"/>text', '<script src="x"></script>text', id="a script"),
        pytest.param(
            '<p/><i lang="x" />', '<p></p><i lang="x"></i>', id="with attributes or without"
        ),
        pytest.param("a<br/>b<hr />", "a<br/>b<hr />", id="no second line break"),
        pytest.param("<p>a</p>", "<p>a</p>", id="nothing closes itself"),
        pytest.param("a /> b", "a /> b", id="text stays"),
    ],
)
def test_xhtml_is_read_as_its_author_meant(markup: str, html: str) -> None:
    assert from_xhtml(markup) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        pytest.param("a < b & c", "<p>a &lt; b &amp; c</p>", id="text is escaped"),
        pytest.param("a\r\nb\rc", "<p>a<br>b<br>c</p>", id="line ends of any kind"),
        pytest.param(" a\n \n\n\nb ", "<p>a</p><p>b</p>", id="blank lines part paragraphs"),
        pytest.param(" \n ", "", id="nothing"),
    ],
)
def test_plain_text_becomes_paragraphs(text: str, html: str) -> None:
    assert from_text(text) == html


@UNTIMED
@given(SOUP, st.sampled_from([None, BASE]))
def test_tag_soup_comes_out_safe(soup: str, base: str | None) -> None:
    html = clean_html(soup, base=base)

    assert violations(html) == []


@UNTIMED
@given(st.text())
def test_any_text_at_all_comes_out_safe(text: str) -> None:
    html = clean_html(text, max_chars=40)

    assert violations(html) == []


@UNTIMED
@given(SOUP)
def test_soup_among_much_other_markup_comes_out_safe(soup: str) -> None:
    html = clean_html("<i>x</i>" * 501 + soup, max_depth=5)

    assert violations(html) == []


@UNTIMED
@given(SOUP)
def test_clean_html_changes_no_more_when_it_is_cleaned_again(soup: str) -> None:
    settled = clean_html(clean_html(soup, base=BASE), base=BASE)

    assert clean_html(settled, base=BASE) == settled


@pytest.mark.parametrize(
    ("written", "html"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("<p>a</p>\n<hr><hr />", "<p>a</p>\n<hr><hr>", id="blocks and a rule"),
        pytest.param("a<br>b<br />c<br/>d", "a<br>b<br>c<br>d", id="line breaks"),
        pytest.param('<p class="x" lang="de">a</p>', '<p lang="de">a</p>', id="attributes go"),
        pytest.param(
            '<a href="https://e.com/?a=1&amp;b=2" target="x" title="t">a</a>',
            f'<a href="https://e.com/?a=1&amp;b=2" title="t"{REL}>a</a>',
            id="a link with an ampersand and a title",
        ),
        pytest.param(
            '<a href="https://e.com/x" class="y">a</a>',
            f'<a href="https://e.com/x"{REL}>a</a>',
            id="a link with nothing to keep but its address",
        ),
        pytest.param(
            '<img alt="a &quot;b&quot; &hellip;" src="https://e.com/a.png" width="1" />',
            '<img alt="a &quot;b&quot; …" src="https://e.com/a.png" width="1">',
            id="a picture",
        ),
        pytest.param("&#8217;&#x2019;&#128512;&lt;&gt;", "’’😀&lt;&gt;", id="references"),
        pytest.param("a\xa0b&nbsp;&amp;", "a&nbsp;b&nbsp;&amp;", id="no-break spaces"),
        pytest.param("<h1>a</h1><h2>b</h2>", "<h1>a</h1><h2>b</h2>", id="headings in a row"),
        pytest.param(
            "<ul>\n<li>a<ol><li>b</li></ol></li></ul><dl><dt>a</dt><dd>b</dd></dl>",
            "<ul>\n<li>a<ol><li>b</li></ol></li></ul><dl><dt>a</dt><dd>b</dd></dl>",
            id="lists",
        ),
        pytest.param(
            '<table border="1">\n<tbody><tr> <td colspan="2">a<br><b>c</b></td></tr></tbody></table>',
            '<table>\n<tbody><tr> <td colspan="2">a<br><b>c</b></td></tr></tbody></table>',
            id="a table with all of its parts",
        ),
        pytest.param("<b><p>a</p></b>", "<b><p>a</p></b>", id="a block in bold letters"),
        pytest.param("<pre>a\n</pre>", "<pre>a\n</pre>", id="lines that count"),
    ],
)
def test_simple_markup_keeps_its_structure(written: str, html: str) -> None:
    assert clean_html(written) == html
