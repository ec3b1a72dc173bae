"""Ordinary markup: nh3 has the last word, and what is answered without it is what it would say."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.normalise.html.sanitise import clean_tree, sanitise
from feedmill.normalise.ordinary import sanitise_ordinary
from feedmill.normalise.suspicious import find_suspicious
from feedmill.normalise.text import clean_text

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "xss.json").read_text("utf-8"))
REL = ' rel="noopener noreferrer nofollow"'

NAMES = st.sampled_from(
    [
        "a", "abbr", "address", "b", "blockquote", "code", "dd", "div", "dl", "dt", "em", "figure",
        "font", "h1", "h2", "hr", "i", "li", "ol", "p", "pre", "q", "script", "section", "span",
        "table", "tbody", "td", "th", "time", "tr", "u", "ul",
    ]
)  # fmt: skip
ATTRIBUTES = st.sampled_from(
    [
        "", "", "", ' class="x"', ' href="https://e.com/a?b&amp;c=d#e"', ' href="https://e.com"',
        ' href="/relative"', ' href="mailto:a@b.c"', ' href="https://e.1/"', ' title="a &amp; b"',
        ' title="&quot;&nbsp;&lt;&#8217;"', ' lang="de" dir="ltr"', ' lang="de" lang="en"',
        ' onclick="x()"', ' style="a:expression(b)"', ' src="data:x"', " hidden", " x='y'", " /",
        ' title="a\xa0b"', ' href="ht&amp;tps://e.com/"', ' href="https://e&amp;.com/"',
    ]
)  # fmt: skip
TEXTS = st.sampled_from(
    [
        "", "a", "b c", " ", "\n", "é", "\xa0", "&amp;", "&nbsp;", "&#8217;", "&#x1F600;", "&nvlt;",
        "&hellip;", "&foo;", "&copy", "&", "&#0;", "&#150;", "&#65534;", "&Tab;", "1 > 2", "1 < 2",
        "x=y", "\r", "\x00", "\ud800", "\ufffe", "\t", '"', "<br />", "<br/>", "<hr>", "</p>",
        '<img src="https://e.com/a.png" alt="&quot;" srcset="x">', "<!-- c -->", "<p>",
    ]
)  # fmt: skip
MARKUP = st.recursive(
    TEXTS,
    lambda inner: st.builds(
        lambda name, attributes, content: f"<{name}{attributes}>{''.join(content)}</{name}>",
        NAMES,
        ATTRIBUTES,
        st.lists(inner, max_size=4),
    ),
    max_leaves=8,
)


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
def test_ordinary_markup_is_answered_with_the_words_of_the_sanitiser(
    written: str, html: str
) -> None:
    answer = sanitise_ordinary(written)

    assert answer is not None
    assert answer.html == html
    assert clean_tree(written, None) == html


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("<p>a", id="something is not closed"),
        pytest.param("a</p>", id="something was never opened"),
        pytest.param("<b><i>a</b></i>", id="closed in the wrong order"),
        pytest.param("<p>a<div>b</div></p>", id="a block closes a paragraph"),
        pytest.param("<p>a<hr></p>", id="a rule closes a paragraph"),
        pytest.param("<h1><h2>a</h2></h1>", id="a heading closes a heading"),
        pytest.param("<div><li>a</li></div>", id="an item outside of a list"),
        pytest.param(
            '<a href="https://e.com/"><b><a href="https://e.com/">a</a></b></a>',
            id="a link closes a link",
        ),
        pytest.param("<table><tr><td>a</td></tr></table>", id="a part of a table is missing"),
        pytest.param("<table>a<tbody></tbody></table>", id="text that leaves the table"),
        pytest.param("<table><tbody></tbody><br></table>", id="a break that leaves the table"),
        pytest.param("<pre>\na</pre>", id="a line end that does not count"),
        pytest.param("<script>a</script>", id="an element that is not allowed"),
        pytest.param("</br>", id="an end tag that starts something"),
        pytest.param("<B>a</B>", id="capitals"),
        pytest.param("<!-- a -->", id="a comment"),
        pytest.param("<b/>a", id="an element that does not close itself"),
        pytest.param("<br x>", id="an attribute without a value"),
        pytest.param('<br title="a', id="a tag that is cut off"),
        pytest.param("<br title='a'>", id="another quote"),
        pytest.param('<p title="a>b">c</p>', id="a bracket in a value"),
        pytest.param('<p lang="a" lang="b">c</p>', id="an attribute twice"),
        pytest.param('<p title="a"lang="b">c</p>', id="no blank between attributes"),
        pytest.param('<p lang="a\u200b">b</p>', id="a value that cannot be printed"),
        pytest.param("<a>a</a>", id="a link without an address"),
        pytest.param('<a href="/a">a</a>', id="a relative address"),
        pytest.param('<a href="https://e.com/&copy">a</a>', id="a bare ampersand in an address"),
        pytest.param('<img src="ht&amp;tps://e.com/">', id="an ampersand in a scheme"),
        pytest.param('<img src="https://e&amp;.com/">', id="an ampersand in a host"),
        pytest.param('<img src="https://xn--a.com/">', id="a name that has to be checked"),
        pytest.param(f'<br class="{"x" * 2_050}">', id="a long tag"),
        pytest.param("a & b", id="a bare ampersand"),
        pytest.param("&copy b", id="a reference without its end"),
        pytest.param("&foo;", id="a reference to nothing"),
        pytest.param("&#150;", id="a number that means another"),
        pytest.param("&NewLine;", id="a reference to white space"),
        pytest.param("1 < 2", id="a bracket that opens nothing"),
        pytest.param("1 > 2", id="a bracket that closes nothing"),
        pytest.param("a\rb", id="a line end that is rewritten"),
        pytest.param("\ud83d", id="half a character"),
        pytest.param("\ufffe", id="no character at all"),
        pytest.param("\uffff", id="no character either"),
        pytest.param("\xa0" * 10, id="much longer when it is escaped"),
        pytest.param("<br>" * 1_001, id="many tags"),
        pytest.param("a" * 32_769, id="a long text"),
        pytest.param("<div>" * 45 + "</div>" * 45, id="deep nesting"),
    ],
)
def test_anything_else_is_left_to_the_sanitiser(written: str) -> None:
    assert sanitise_ordinary(written) is None
    assert sanitise(written, base=None, max_chars=100_000, max_depth=200).text is None


@settings(max_examples=400, deadline=None)
@given(MARKUP)
def test_wherever_there_is_an_answer_the_sanitiser_gives_the_same(markup: str) -> None:
    answer = sanitise_ordinary(markup)

    assert answer is None or answer.html == clean_tree(markup, "https://example.com/")


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["id"])
def test_no_payload_is_answered_in_other_words(case: dict[str, str]) -> None:
    payload = f"<p>a</p>{case['payload']}"

    answer = sanitise_ordinary(payload)

    assert answer is None or answer.html == clean_tree(payload, None)


@settings(max_examples=200, deadline=None)
@given(MARKUP)
def test_markup_that_is_called_harmless_has_no_findings(markup: str) -> None:
    answer = sanitise_ordinary(markup)

    if answer is not None and answer.harmless:
        assert find_suspicious("content", markup) == ()


@pytest.mark.parametrize(
    "written",
    [
        pytest.param('<p onclick="x()">a</p>', id="a handler"),
        pytest.param('<p class="javascript:x">a</p>', id="a script"),
        pytest.param('<p style="x:expression(y)">a</p>', id="an expression"),
        pytest.param('<p style="-moz-binding:x">a</p>', id="a binding"),
        pytest.param('<p class="data:x">a</p>', id="data"),
        pytest.param('<p class="blob:x">a</p>', id="a blob"),
        pytest.param('<p class="refresh">a</p>', id="a refresh"),
        pytest.param('<p class="x&#58;">a</p>', id="a disguise"),
        pytest.param("<p>a</p> onclick=x", id="a value in the text"),
    ],
)
def test_markup_with_a_finding_is_not_called_harmless(written: str) -> None:
    answer = sanitise_ordinary(written)

    assert answer is not None
    assert not answer.harmless


@pytest.mark.parametrize(
    ("written", "text"),
    [
        pytest.param("<p>a</p><p>b</p>", "a b", id="blocks part words"),
        pytest.param("a<b>b</b>c<br>d", "abc d", id="letters in bold do not"),
        pytest.param("a &amp; b &lt;i&gt; c", "a & b c", id="references"),
        pytest.param('<b title="&quot; &gt;">a</b>', "a", id="no value leaks"),
    ],
)
def test_the_text_of_ordinary_markup_is_told_along_with_it(written: str, text: str) -> None:
    answer = sanitise_ordinary(written)

    assert answer is not None
    assert clean_text(answer.text) == text


def test_so_many_kinds_of_tags_that_not_all_are_remembered_make_no_difference() -> None:
    written = [f'<p class="{number}" lang="x">a</p>' for number in range(3_000)]

    answers = {answer.html for each in written if (answer := sanitise_ordinary(each))}

    assert answers == {'<p lang="x">a</p>'}
