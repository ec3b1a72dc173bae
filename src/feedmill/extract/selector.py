"""The feed's own rule for where the text of its pages is: a CSS selector or an XPath."""
# Tested in tests/unit/extract/test_page.py

from collections.abc import Sequence
from typing import Any

import lxml.etree
import lxml.html
from lxml.cssselect import CSSSelector, SelectorError

from feedmill.errors import UsageError


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
