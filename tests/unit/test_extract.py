"""The text of a page: what trafilatura or a selector finds, and what the page says about itself."""

import pytest

from feedmill import extract as extractor
from feedmill.extract import VERSION, count_words, extract_page
from feedmill.model.derived.fetched import ExtractedText, NoFullText, PageTask

PARAGRAPH = (
    "The river rose again on Tuesday, and the people of the lower town carried sand to the wall. "
)
TEXT = "".join(f"<p>{PARAGRAPH}Part {number}.</p>" for number in range(12))
PAGE = f"""<!doctype html><html lang="en-GB"><head><title>The river | Paper</title>
<meta name="author" content="Ada  Byron"><meta property="article:published_time" content="2025-10-12T08:00:00Z">
<meta property="og:title" content="The river"></head>
<body><nav><a href="/">Home</a><a href="/a">Sport</a></nav>
<article><h1>The river</h1>{TEXT}<p>See <a href="/more">more</a>.</p></article>
<div class="aside"><p>Subscribe to our newsletter today.</p></div>
<footer><p>Imprint and terms</p></footer></body></html>"""


def extract(markup: str, selector: str | None = None, **more: str) -> ExtractedText | NoFullText:
    task = PageTask(body=markup.encode(), url="https://paper.example/a", selector=selector, **more)  # type: ignore[arg-type]  # texts only
    return extract_page(task)


def text_of(markup: str, selector: str | None = None) -> ExtractedText:
    found = extract(markup, selector)
    assert isinstance(found, ExtractedText)
    return found


def test_text_is_found_without_navigation_and_footer() -> None:
    found = text_of(PAGE)

    assert "The river rose again" in found.html
    assert "Imprint" not in found.html
    assert "Sport" not in found.html
    assert found.words > 200
    assert (found.extractor, found.version) == ("trafilatura", VERSION)


def test_page_says_title_author_day_and_language() -> None:
    found = text_of(PAGE)

    assert (found.title, found.author) == ("The river", "Ada Byron")
    assert (found.published, found.language) == ("2025-10-12", "en-GB")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("<ol><li>one</li><li>two</li></ol>", id="a numbered list"),
        pytest.param("<ul><li>one</li><li>two</li></ul>", id="a list"),
        pytest.param("<dl><dt>one</dt><dd>two</dd></dl>", id="terms"),
        pytest.param("<pre>def f(x):\n    return x &lt; 3\n\nx = 1</pre>", id="lines of code"),
        pytest.param("<pre>one\n  two</pre>", id="preformatted text"),
        pytest.param("<p>Use <code>f(x)</code> instead</p>", id="code in a sentence"),
        pytest.param("<ul><li>Use <code>f(x)</code></li></ul>", id="code in a list"),
        pytest.param("<blockquote><p>one</p><p>two</p></blockquote>", id="a quotation"),
    ],
)
def test_lists_and_code_keep_their_kind(written: str) -> None:
    found = text_of(PAGE.replace("</h1>", f"</h1>{TEXT}{written}"))

    assert written in found.html


def test_code_inside_preformatted_text_is_one_element() -> None:
    found = text_of(
        PAGE.replace("</h1>", f"</h1>{TEXT}<pre class='x'>\n<code>a\n  b</code>\n</pre>")
    )

    assert found.html.count("<pre>") == 1
    assert "a\n  b" in found.html


@pytest.mark.parametrize("lang", ["", ' lang="x"', ' lang="not a language!"'])
def test_language_that_is_none_is_left_out(lang: str) -> None:
    assert text_of(PAGE.replace(' lang="en-GB"', lang)).language is None


@pytest.mark.parametrize("selector", [".aside p", "//div[@class='aside']/p", "(//p)[last() - 1]"])
def test_selector_of_the_feed_comes_first(selector: str) -> None:
    found = text_of(PAGE, selector)

    assert found.html == "<p>Subscribe to our newsletter today.</p>"
    assert found.extractor == "selector"


def test_elements_inside_another_are_not_repeated() -> None:
    found = text_of(PAGE, "div.aside, div.aside p")

    assert found.html.count("newsletter") == 1


@pytest.mark.parametrize("selector", [".missing", "//p/text()"])
def test_selector_that_finds_no_element_leaves_it_to_trafilatura(selector: str) -> None:
    assert text_of(PAGE, selector).extractor == "trafilatura"


@pytest.mark.parametrize("selector", ["p[", "//p["])
def test_selector_that_is_none_is_named(selector: str) -> None:
    found = extract(PAGE, selector)

    assert isinstance(found, NoFullText)
    assert "neither a CSS selector nor an XPath" in found.detail


@pytest.mark.parametrize(
    ("markup", "reason"),
    [
        pytest.param("   ", "empty-page", id="nothing but space"),
        pytest.param("%PDF-1.7 not a page", "not-html", id="another kind of document"),
        pytest.param("<html><body></body></html>", "no-text", id="no word at all"),
    ],
)
def test_page_without_text_has_a_reason(markup: str, reason: str) -> None:
    found = extract(markup)

    assert isinstance(found, NoFullText)
    assert found.reason == reason


def test_page_that_the_parser_chokes_on_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def choke(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(extractor, "_extract", choke)

    assert extract(PAGE) == NoFullText(reason="no-text", detail="RecursionError")


def test_page_that_trafilatura_gives_up_on_may_have_a_selector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extractor, "_extract", lambda *_: None)

    assert extract(PAGE) == NoFullText(reason="no-text")
    assert text_of(PAGE, ".aside").title is None


def test_words_are_counted_without_markup() -> None:
    assert count_words("<p>one <b>two</b></p><p>three</p>") == 3
    assert count_words("<p>東京都 2025</p><p>สวัสดี</p>") == 2 + 1 + 3
    assert count_words(" ") == 0


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ('<link rel="canonical" href="/river?utm_source=x">', "https://paper.example/river"),
        (
            '<link REL="shortlink Canonical" href="https://first.example/r">',
            "https://first.example/r",
        ),
        ('<link rel="canonical">', None),
        ('<link rel="canonical" href="javascript:alert(1)">', None),
        ('<link rel="icon" href="/i.png">', None),
    ],
)
def test_address_that_the_page_gives_as_its_own(link: str, address: str | None) -> None:
    found = text_of(PAGE.replace("</title>", f"</title>{link}"))

    assert found.canonical_url == address
