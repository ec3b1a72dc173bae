"""Extracts the text of a web page: by the feed's own selector (CSS or XPath) first, else by trafilatura in its fast mode.

Bad markup gives a result, never an exception. Work is not bounded here: callers that read foreign pages do
it in a process with a deadline and a memory limit (adapters/extractor.py). The HTML is not sanitised yet.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import lxml.etree
import lxml.html
import trafilatura
from lxml.cssselect import CSSSelector, SelectorError
from trafilatura.htmlprocessing import convert_to_html

from feedmill.canonicalise.discovery.html_page import page_text, read_page
from feedmill.canonicalise.policies import canonical_link
from feedmill.errors import UsageError
from feedmill.model.derived.fetched import ExtractedText, NoFullText, PageTask

RECIPE: Final = "4"  # grows when our use of the extractor changes what comes out
VERSION: Final = f"{RECIPE}+trafilatura-{trafilatura.__version__}"
# A word, or two characters of a script without spaces between words (Chinese, Japanese, Thai, Khmer …).
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W{_UNSPACED}]+")
_MARKUP: Final = re.compile(
    r"<(?:!doctype|html|head|body|div|p|article|meta|title)\b", re.IGNORECASE
)
# Without <code> in it, trafilatura takes preformatted text for a quotation.
_BARE_PRE: Final = re.compile(r"<pre(?:\s[^<>]{0,500})?>(?!\s{0,100}<code)", re.IGNORECASE)
_INLINE: Final = frozenset({"p", "li", "dt", "dd", "td", "th", "a", "del", "h1", "h2", "h3", "h4"})
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")
_ROOT: Final = re.compile(
    r"""<html\b[^>]{0,2000}?\blang\s{0,4}=\s{0,4}("[^"<>]{0,50}"|'[^'<>]{0,50}'|[\w-]{2,35})""",
    re.IGNORECASE,
)
_LINES: Final = 300  # characters of a title or an author
_HEAD_CHARS: Final = 200_000  # in which the links of the head are looked for


def extract_page(task: PageTask) -> ExtractedText | NoFullText:
    """The text of a page, or why there is none."""
    if not task.body.strip():
        return NoFullText(reason="empty-page")
    markup = page_text(task.body, task.content_type).replace("\x00", "")
    if _MARKUP.search(markup) is None:
        return NoFullText(reason="not-html", detail=(task.content_type or "")[:100])
    try:
        document = _extract(markup, task.url)
        chosen = select(markup, task.selector) if task.selector else ()
        html = "\n".join(chosen) or (_html_of(document.body) if document else "")
    except UsageError as problem:
        return NoFullText(reason="no-text", detail=str(problem)[:200])
    except (ValueError, AssertionError, RecursionError) as problem:
        return NoFullText(reason="no-text", detail=type(problem).__name__)
    words = count_words(html)
    if not words:
        return NoFullText(reason="no-text")
    return ExtractedText(
        html=html,
        words=words,
        extractor="selector" if chosen else "trafilatura",
        version=VERSION,
        title=_line(document.title if document else None),
        author=_line(document.author if document else None),
        published=document.date if document else None,
        language=_language(markup),
        paywalled=is_paywalled(markup),
        canonical_url=canonical_address(markup, task.url),
    )


def canonical_address(markup: str, url: str) -> str | None:
    """The address that a page gives as its own (RFC 6596), in our canonical spelling; None without one."""
    page = read_page(markup[:_HEAD_CHARS], url)
    for one in page.links:
        if "canonical" in one.get("rel").lower().split():
            return canonical_link(one.get("href"), base=page.base) if one.get("href") else None
    return None


def count_words(html: str) -> int:
    """The words of a piece of HTML."""
    if not html.strip():
        return 0
    text = " ".join(lxml.html.fragment_fromstring(html, create_parent="div").itertext())
    return len(_WORD.findall(text))


def _extract(markup: str, url: str) -> Any:  # noqa: ANN401  # trafilatura's own type
    return trafilatura.bare_extraction(
        _BARE_PRE.sub(r"\g<0><code>", markup),
        url=url,
        output_format="html",
        fast=True,
        with_metadata=True,
        include_comments=False,
        include_formatting=True,
        include_links=True,  # not images: their captions cost half a point of precision
        date_extraction_params={"extensive_search": False, "original_date": True},
    )


def _html_of(body: lxml.etree._Element) -> str:
    """The text as HTML, with kinds of lists and of code that trafilatura's own HTML has not."""
    for one in body.iter("list", "item"):
        kind = (one.get("rend") or "").partition("-")[0]
        if kind in ("ol", "dl", "dt", "dd"):
            one.tag = kind
            one.attrib.clear()
    convert_to_html(body)
    for one in body.iter("pre"):
        lxml.etree.strip_tags(one, "pre")
        parent = one.getparent()
        if (
            parent is not None
            and parent.tag in _INLINE
            and "\n" not in "".join(map(str, one.itertext()))
        ):
            one.tag = "code"
    return lxml.etree.tostring(body, encoding="unicode", method="html")


def _line(text: str | None) -> str | None:
    return " ".join(text.split())[:_LINES] or None if text else None


def _language(markup: str) -> str | None:
    """What the page says of its own language."""
    root = _ROOT.search(markup)
    found = None if root is None else _LANGUAGE.fullmatch(root[1].strip("\"'"))
    return None if found is None else found[0].replace("_", "-")


# Bounded windows: the value stands right behind its name.
# Publishers say so themselves, for search engines: `isAccessibleForFree` of schema.org in JSON-LD or microdata, or a
# content tier in a meta element. Class names such as "paywall" prove nothing: they are there on free pages too.
_JSON_LD: Final = re.compile(
    r'"isAccessibleForFree"\s{0,8}:\s{0,8}"?(?:https?://schema\.org/)?(false|true)\b', re.IGNORECASE
)
_MICRODATA: Final = re.compile(
    r'itemprop\s{0,4}=\s{0,4}["\']isAccessibleForFree["\'][^>]{0,200}?content\s{0,4}=\s{0,4}["\'](false|true)',
    re.IGNORECASE,
)
_TIER: Final = re.compile(
    r'["\'](?:article:content_tier|og:article:content_tier)["\'][^>]{0,200}?content\s{0,4}=\s{0,4}'
    r'["\'](locked|metered|free)',
    re.IGNORECASE,
)


def is_paywalled(markup: str) -> bool:
    """True when the page says that it is not free to read.

    A part that is not free (`hasPart` of schema.org) comes with the page's own value first.
    """
    for pattern, locked in ((_JSON_LD, "false"), (_MICRODATA, "false"), (_TIER, "locked")):
        found = pattern.search(markup)
        if found is not None:
            return found[1].lower() == locked
    return False


def select(markup: str, selector: str) -> Sequence[str]:
    """The elements that a CSS selector, or an XPath that begins with / or (, finds; each as HTML.

    What lies inside another that was found is not repeated. UsageError for a selector that is none.
    """
    tree = lxml.html.document_fromstring(markup)
    found = [
        one for one in compile_selector(selector)(tree) if isinstance(one, lxml.html.HtmlElement)
    ]
    inside = set(found)
    outer = [one for one in found if inside.isdisjoint(one.iterancestors())]
    return [lxml.html.tostring(one, encoding="unicode", with_tail=False) for one in outer]


def compile_selector(selector: str) -> Any:  # noqa: ANN401  # lxml's own types
    """The selector as a function of a tree; UsageError says what is wrong with it."""
    try:
        if selector.lstrip().startswith(("/", "(")):
            return lxml.etree.XPath(selector)
        return CSSSelector(selector, translator="html")
    except (SelectorError, lxml.etree.XPathError) as problem:
        message = f"{selector!r} is neither a CSS selector nor an XPath: {problem}"
        raise UsageError(message) from None
