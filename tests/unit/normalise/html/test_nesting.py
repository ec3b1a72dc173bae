"""The gate before the sanitiser: hostile markup becomes cheap, ordinary markup stays as it is."""

import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.normalise.html.nesting import limit_nesting
from feedmill.normalise.html.sanitise import clean_html, sanitise

UNTIMED = settings(deadline=None)  # the machine may be busy; laws are not timed

DEPTH = 20
FILLER = "<br>" * 1_001  # enough tags for a look

PIECES = st.sampled_from(
    [
        "<div>", "</div>", "<p>", "</p>", "<b>", "</b>", "<b a>", "<i>", "</i>", "<a>", "</a>",
        "<li>", "</li>", "<ul>", "</ul>", "<dd>", "<dt>", "<td>", "</td>", "<tr>", "<table>",
        "</table>", "<span>", "</span>", "<h1>", "</h2>", "<svg>", "</svg>", "<source>", "<title>",
        "</title>", "<textarea>", "</textarea>", "<select>", "</select>", "<xmp>", "</xmp>",
        "<script>", "</script>", "<!--", "-->", "--!>", "<!-->", "<![CDATA[", "]]>", "<object>",
        "</object>", "<noscript>", "</noscript>", "<rt>", "<option>", "<button>", "</button>",
        "<form>", "</form>", "<lin\u212a>", '<p ">', '">', "<p x='", "'", "</", "<", ">", "x", "/>",
    ]
)  # fmt: skip
SOUP = st.lists(PIECES, max_size=12).map("".join)


def depth_of(html: str) -> int:
    tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    deepest, level = 0, [tree]
    while level := [child for element in level for child in element]:
        deepest += 1
    return deepest


def size_of(html: str) -> int:
    tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    return sum(1 for _ in tree.iter())


@UNTIMED
@given(SOUP, st.integers(min_value=1, max_value=40))
def test_no_repetition_of_anything_gets_deep(soup: str, times: int) -> None:
    tamed = limit_nesting(FILLER + soup * times, DEPTH)

    # A table adds a body and a row that nobody wrote, and formatting may be opened once more.
    assert depth_of(tamed.html) <= 4 * DEPTH + 10


@UNTIMED
@given(SOUP, SOUP)
def test_no_mixture_makes_the_tree_grow_out_of_proportion(first: str, second: str) -> None:
    tamed = limit_nesting(FILLER + first * 10 + second * 30, DEPTH)

    assert size_of(tamed.html) <= 1_001 + 40 * 13 * (DEPTH + 3)


@pytest.mark.parametrize(
    "markup",
    [
        pytest.param("<p>Hello</p>", id="little markup is not even looked at"),
        pytest.param("<p>Hello <b>you</b></p>" * 500, id="well nested"),
        pytest.param("<P>Hello <B>you</B></P>" * 500, id="in capitals"),
        pytest.param("<p>Hello" * 1_001, id="paragraphs that nobody closed"),
        pytest.param("<ul>" + "<li>one" * 1_001 + "</ul>", id="items that nobody closed"),
        pytest.param("<blockquote><p>x</blockquote>" * 500, id="closed by their holder"),
        pytest.param("<script>x</script><p>y</p>" * 500, id="scripts"),
        pytest.param("<P>Hello</P><!-- you -->" * 500, id="comments"),
        pytest.param("<b>" + "<p>x</p>" * 501 + "</b>", id="one element around it all"),
    ],
)
def test_ordinary_markup_is_not_touched(markup: str) -> None:
    tamed = limit_nesting(markup, DEPTH)

    assert tamed.html is markup
    assert not tamed.flattened


@pytest.mark.parametrize(
    ("markup", "flat"),
    [
        pytest.param("<div>" * 3 + "x", "<div><div>x</div></div>", id="too deep, text kept"),
        pytest.param("<i>a</b></i></p>", "<i>a</i>", id="ends without a start go"),
        pytest.param("<b>a<p>b</b>c", "<b>a</b><p>bc</p>", id="formatting holds no block"),
        pytest.param("<p>a<p>b", "<p>a</p><p>b</p>", id="a paragraph ends the last one"),
        pytest.param("<li>a<li>b", "<li>a</li><li>b</li>", id="so does an item"),
        pytest.param("<a href=x>a<a>b", "<a href=x>a</a><a>b</a>", id="links hold no links"),
        pytest.param("<div><i>a</div>b", "<div><i>a</i></div>b", id="an end closes what is inside"),
        pytest.param("<div><i><u>a</u></i></div>", "<div><i>a</i></div>", id="left out with its end"),
        pytest.param("a<!-- x --><font>b</font>", "ab", id="only allowed elements"),
        pytest.param("<<!---->i>a", "&lt;i>a", id="no new tag is put together"),
        pytest.param("a<i", "a", id="a tag cut off at the end"),
        pytest.param("<img src=x onload=y />", "<img src=x>", id="only allowed attributes"),
        pytest.param("<img SRC='a' src=b>", "<img SRC='a'>", id="the first of its name"),
    ],
)  # fmt: skip
def test_flattened_markup_reads_the_same(markup: str, flat: str) -> None:
    tamed = limit_nesting("<svg></svg>" * 501 + markup, 2)

    assert tamed.html == flat
    assert tamed.flattened


@pytest.mark.no_cover  # a very long input: tracing it would take most of the time
@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("<div>", id="nesting"),
        pytest.param("<div></span>", id="ends that close nothing"),
        pytest.param("<div><!--</div>-->", id="ends inside comments"),
        pytest.param("<div><table></div>", id="ends out of scope"),
        pytest.param("<div><![CDATA[</div>", id="ends inside CDATA"),
        pytest.param("<div><script><!--<script></script></div></script>", id="ends inside scripts"),
        pytest.param("<b a><p></b>", id="formatting that is rebuilt"),
        pytest.param("<td><li></td><td><dd></td>", id="cells outside of a table"),
        pytest.param("<lin\u212a>", id="a void element that is none"),
        pytest.param("<svg><source>", id="a void element that is none in SVG"),
        pytest.param("<select><xmp></select><div></xmp>", id="raw text that is none in a select"),
    ],
)
def test_no_trick_hides_depth(unit: str) -> None:
    tamed = limit_nesting(unit * 1_001, DEPTH)

    assert tamed.flattened
    assert depth_of(tamed.html) <= 3 * DEPTH


@pytest.mark.parametrize(
    ("letters", "paragraphs"),
    [
        pytest.param(3_000, 5_000, id="seen before"),
        pytest.param(1_000, 500, id="too little to look at, seen afterwards"),
    ],
)
def test_formatting_is_not_rebuilt_without_end(letters: int, paragraphs: int) -> None:
    unclosed = "".join(f"<b lang={'x' * letters} a{n}>" for n in range(10))
    markup = f"<p>{unclosed}</p>" + "<p>x" * paragraphs

    result = sanitise(markup, base=None, max_chars=512_000, max_depth=200)

    assert len(result.html) < 5 * len(markup)
    assert result.flattened


def test_an_over_long_tag_keeps_what_is_allowed_and_the_rest_of_the_markup_is_not_touched() -> None:
    many = " ".join(f"data-{n}" for n in range(4000))
    tag = f'<img {many} src="http://e.com/a.png" alt="{"x" * 5000}">'

    tamed = limit_nesting(f"<p CLASS=a>before{tag}after", DEPTH)

    assert tamed.html == '<p CLASS=a>before<img src="http://e.com/a.png">after'
    assert not tamed.flattened


def test_an_over_long_tag_that_nothing_ends_is_dropped() -> None:
    tamed = limit_nesting("before<p " + "a " * 20_000, DEPTH)

    assert tamed.html == "before"


@pytest.mark.no_cover  # a very long input: tracing it would take most of the time
@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param("<div>" * 200_000, id="a million characters of nesting"),
        pytest.param("<p " + " ".join(f"a{n}" for n in range(40_000)) + ">", id="attributes"),
        pytest.param("<br>" * 200_000, id="tags"),
        pytest.param("<" * 600_000, id="brackets"),
        pytest.param("<a " * 200_000, id="tags that nothing ends"),
        pytest.param("<p><a href=//" + "x" * 4000 + "></p>" + "<p>x" * 100_000, id="rebuilding"),
    ],
)
def test_hostile_markup_stays_in_proportion(hostile: str) -> None:
    html = clean_html(hostile)

    assert len(html) <= 5 * 512_000
