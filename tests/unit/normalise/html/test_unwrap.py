"""No text is lost with tags that HTML does not know, and what is embedded stays as a link (D39)."""

import re

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.normalise.html.sanitise import clean_html, sanitise
from feedmill.normalise.html.unwrap import unwrap, without_open_quotes

BASE = "https://example.com/blog/"
REL = ' rel="noopener noreferrer nofollow"'
# Names of MathML and SVG, with which nh3 alone drops the text behind them.
FOREIGN = [
    "and",
    "animate",
    "apply",
    "approx",
    "arg",
    "bind",
    "card",
    "circle",
    "cn",
    "cos",
    "curl",
    "declare",
    "defs",
    "degree",
    "desc",
    "diff",
    "discard",
    "domain",
    "ellipse",
    "eq",
    "exists",
    "exp",
    "false",
    "filter",
    "floor",
    "fn",
    "forall",
    "g",
    "grad",
    "gt",
    "ident",
    "implies",
    "in",
    "int",
    "integers",
    "interval",
    "inverse",
    "lambda",
    "limit",
    "line",
    "list",
    "ln",
    "log",
    "lt",
    "marker",
    "mask",
    "math",
    "matrix",
    "max",
    "mean",
    "mi",
    "min",
    "minus",
    "mn",
    "mo",
    "mode",
    "moment",
    "mrow",
    "ms",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "none",
    "not",
    "notin",
    "or",
    "otherwise",
    "path",
    "pattern",
    "pi",
    "piece",
    "plus",
    "polygon",
    "power",
    "product",
    "quotient",
    "rationals",
    "real",
    "rect",
    "rem",
    "root",
    "sec",
    "selector",
    "semantics",
    "sep",
    "set",
    "share",
    "sin",
    "stop",
    "subset",
    "sum",
    "svg",
    "switch",
    "symbol",
    "tan",
    "text",
    "times",
    "true",
    "tspan",
    "union",
    "use",
    "variance",
    "vector",
    "view",
    "xor",
]


def visible(html: str) -> str:
    """The text that a browser would show, by another parser than ours."""
    tree = html5lib.parseFragment(html, treebuilder="etree", namespaceHTMLElements=False)
    return " ".join("".join(tree.itertext()).split())


@pytest.mark.parametrize("name", FOREIGN)
def test_text_behind_a_tag_that_is_no_html_is_kept(name: str) -> None:
    assert visible(clean_html(f"one <{name}> two <b>three</b>")) == "one two three"
    assert visible(clean_html(f"one <{name.upper()} a=b>two</{name}> <i>three</i>")) == (
        "one two three"
    )


@given(st.from_regex(r"[a-z][a-z0-9:-]{0,8}", fullmatch=True))
def test_no_unknown_name_costs_text(name: str) -> None:
    spoken = {"script", "style", "title", "iframe", "template", "noembed", "noframes"}
    hidden = {"applet", "annotation", "annotation-xml", "frameset", "metadata"}
    if name not in spoken | hidden | {"plaintext"}:
        assert "kept" in visible(clean_html(f"<{name}>kept</{name}>"))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        pytest.param("the Action<int> is later executed <b>x</b>", "the Action is later executed x", id="generics"),
        pytest.param("<form><p>name</p><input></form> tail", "name tail", id="a form"),
        pytest.param("<noscript>no script</noscript> tail", "no script tail", id="a fallback"),
        pytest.param("<select><option>one<option>two</select>", "one two", id="choices"),
        pytest.param("<textarea><b>x</b></textarea>", "<b>x</b>", id="text that looks like markup"),
        pytest.param("<xmp><i>y</i></xmp> z", "<i>y</i> z", id="an old kind of code"),
        pytest.param("a <plaintext><b>c</b>", "a <b>c</b>", id="plain text to the end"),
        pytest.param("<textarea>never closed", "never closed", id="text that nothing closes"),
        pytest.param("<math><mi>x</mi><annotation>tex</annotation></math> y", "x y", id="a formula once"),
        pytest.param("<svg><title>t</title><text>label</text><style>p{}</style></svg> z", "label z", id="a picture's label"),
        pytest.param("a<script>b</script>c<style>d</style>e", "ace", id="scripts and styles are no text"),
        pytest.param("<script/>after", "after", id="a script that closes itself"),
        pytest.param("<script src='x' />after", "after", id="with an attribute"),
        pytest.param("<style/>after", "after", id="a style that closes itself"),
        pytest.param("<iframe/>after <b>b</b>", "after b", id="a frame that closes itself"),
        pytest.param("<object/>after", "after", id="an object that closes itself"),
        pytest.param("<script defer/>after", "after", id="an attribute without a value"),
        pytest.param("<script src=x/>code", "", id="the slash of a value closes nothing"),
        pytest.param("<p><a href='/x><img alt=\"y\"></a>one <b>two</b></p>", "one two", id="a quote that nothing closes"),
        pytest.param('a <a href="/x>b</a> c <a href="/y>d</a> e', "a b c d e", id="one in each of two tags"),
        pytest.param('a <a href="/x', "a", id="a value that was cut off"),
        pytest.param('a="', 'a="', id="a quote in text"),
        pytest.param("if x<y then", "if x<y then", id="a comparison"),
        pytest.param("at <http://a.example/b?c=1&amp;d> now", "at http://a.example/b?c=1&d now", id="an address"),
        pytest.param("Jane <jane@a.example>, <b>x</b>", "Jane jane@a.example, x", id="an address for mail"),
        pytest.param("if a<b then", "if a<b then", id="with the name of an element"),
        pytest.param("x<y and a=b", "x<y and a=b", id="and an equals sign"),
        pytest.param('see <a href="http://exa', "see", id="a tag that was cut off"),
        pytest.param("see <table cl...", "see", id="and marked as cut"),
    ],
)  # fmt: skip
def test_visible_text_stays(written: str, text: str) -> None:
    assert visible(clean_html(written)) == text


@pytest.mark.parametrize(
    ("written", "html"),
    [
        pytest.param(
            '<iframe src="https://v.example/1" title="A talk"></iframe>',
            f'<p><a href="https://v.example/1"{REL}>A talk</a></p>',
            id="a frame with a title",
        ),
        pytest.param(
            "<iframe src='//v.example/1?a=1&amp;b=2'></iframe>",
            f'<p><a href="https://v.example/1?a=1&amp;b=2"{REL}>v.example/1?a=1&amp;b=2</a></p>',
            id="an address without a scheme",
        ),
        pytest.param(
            "<embed src=film.swf>",
            f'<p><a href="https://example.com/blog/film.swf"{REL}>film.swf</a></p>',
            id="a relative address",
        ),
        pytest.param(
            '<object data="/a.swf"><param name="movie" value="/a.swf"><embed src="/a.swf"></object>',
            f'<p><a href="https://example.com/a.swf"{REL}>/a.swf</a></p>',
            id="one link for one address",
        ),
        pytest.param(
            '<object><param name="movie" value="/a.swf"><param name="wmode" value="x"></object>',
            f'<p><a href="https://example.com/a.swf"{REL}>/a.swf</a></p>',
            id="only a parameter names it",
        ),
        pytest.param(
            '<iframe src="javascript:alert(1)"></iframe>', "", id="a script is no address"
        ),
        pytest.param('<iframe src="data:text/html,x"></iframe>', "", id="nor is data"),
        pytest.param('<iframe src=""></iframe><iframe></iframe>', "", id="nothing is embedded"),
        pytest.param('<iframe src="https://ads.example/" width="1"></iframe>', "", id="invisible"),
        pytest.param(
            '<iframe src="about:blank" data-src="/7"></iframe>',
            f'<p><a href="https://example.com/7"{REL}>/7</a></p>',
            id="loaded when it is scrolled to",
        ),
        pytest.param(
            '<video title="Clip"><source src="/a.mp4" type="video/mp4"></video>',
            '<video><source src="https://example.com/a.mp4" type="video/mp4"></video>'
            f'<p><a href="https://example.com/a.mp4"{REL}>Clip</a></p>',
            id="a player that is all there is",
        ),
        pytest.param(
            'Listen: <audio src="/a.mp3"></audio>',
            'Listen: <audio src="https://example.com/a.mp3"></audio>',
            id="a player beside text stays as it is",
        ),
    ],
)
def test_what_is_embedded_becomes_a_link(written: str, html: str) -> None:
    assert clean_html(written, base=BASE) == html


@pytest.mark.parametrize(
    ("written", "html"),
    [
        pytest.param(
            '<img src="data:image/gif;base64,R0" data-src="/a.png" alt="A">',
            '<img src="https://example.com/a.png" alt="A">',
            id="in place of a placeholder in the text",
        ),
        pytest.param(
            "<p>x<IMG class=lazy data-lazy-src='/a?b=1&amp;c=\"2' src=/blank.gif />y</p>",
            '<p>x<img src="https://example.com/a?b=1&amp;c=%222">y</p>',
            id="in place of an empty picture",
        ),
        pytest.param(
            '<img data-original="https://e.com/a.png"><img data-original="https://e.com/b.png">',
            '<img src="https://e.com/a.png"><img src="https://e.com/b.png">',
            id="each of several",
        ),
        pytest.param(
            '<img src="/0.gif" data-src="/a.png"><noscript><img src="/a.png"></noscript><img src="/b">',
            '<img src="https://example.com/a.png"><img src="https://example.com/b">',
            id="once, where it stands there for readers without scripts",
        ),
        pytest.param(
            '<img src="/a.png" data-src="data:image/gif;base64,R0"><img src="/b.png" data-src="">',
            '<img src="https://example.com/a.png"><img src="https://example.com/b.png">',
            id="not a placeholder there",
        ),
        pytest.param(
            '<img src="/a.png" data-src="javascript:alert(1)">',
            '<img src="https://example.com/a.png">',
            id="nor a script",
        ),
        pytest.param(
            '<img src="/a.png" data-original="true">',
            '<img src="https://example.com/a.png">',
            id="nor a word",
        ),
        pytest.param(
            '<img alt="<img data-src=/x>" src="/a.png"> data-src',
            '<img alt="&lt;img data-src=/x&gt;" src="https://example.com/a.png"> data-src',
            id="nor what stands inside another attribute",
        ),
    ],
)
def test_a_picture_that_is_loaded_when_it_is_scrolled_to_is_shown(written: str, html: str) -> None:
    assert clean_html(written, base=BASE) == html


def test_embeds_are_named_once_and_bounded() -> None:
    many = "".join(f"<embed src='/{number}'>" for number in range(300))

    embeds = unwrap(many + many).embeds

    assert [embed.url for embed in embeds] == [f"/{number}" for number in range(100)]


def test_the_kind_of_an_embed_is_the_one_it_states() -> None:
    found = sanitise(
        "<embed src=/a type=video/mp4><iframe src=/b></iframe>",
        base=BASE,
        max_chars=999,
        max_depth=9,
    )

    assert [(embed.url, embed.type) for embed in found.embeds] == [
        ("/a", "video/mp4"),
        ("/b", "text/html"),
    ]


def test_ordinary_markup_is_the_same_text() -> None:
    markup = "<p>one <B>two</B> <FONT size=2>three</FONT></p>"

    assert unwrap(markup).html is markup


@given(st.lists(st.sampled_from(["<mi>", "</mi>", "<g ", ">", "<object data=", "'x'", "<xmp>", "</xmp>", "<b>", "</b>", "word", "<script>", "</script>", "<!--", "-->"]), max_size=20).map("".join))  # fmt: skip
def test_any_mixture_is_rewritten_without_unknown_tags(soup: str) -> None:
    assert not re.search(r"<(?:mi|g|object|xmp)\b", clean_html(soup))


@pytest.mark.parametrize("name", ["xmp", "textarea", "plaintext"])
def test_raw_text_that_nothing_closes_is_read_in_linear_time(name: str) -> None:
    tag = f"<{name}>"

    shown = clean_html(tag * (500_000 // len(tag)) + "end")  # 25 s, where each looks for its end

    assert shown.endswith("end") or name == "plaintext"


def test_open_quotes_are_looked_for_a_few_times() -> None:
    assert without_open_quotes('<a b="' * 30).count('"') == 10


def test_open_quotes_are_looked_for_near_the_beginning_of_their_tag() -> None:
    near, far = ("<p " + "a=b " * count + 'c="' for count in (500, 2_000))

    assert '"' not in without_open_quotes(near)
    assert (
        without_open_quotes(far) == far
    )  # 40 quotes behind 500 KB of attributes took half a second
