"""Pages that say of themselves that they are not free to read."""

import pytest

from feedmill.extract import is_paywalled


@pytest.mark.parametrize(
    ("markup", "locked"),
    [
        ('<script type="application/ld+json">{"isAccessibleForFree": false}</script>', True),
        ('{"isAccessibleForFree":"False","hasPart":{"isAccessibleForFree":"True"}}', True),
        ('{"isAccessibleForFree":"http://schema.org/False"}', True),
        ('{"isAccessibleForFree": true, "hasPart": {"isAccessibleForFree": false}}', False),
        ("<meta itemprop='isAccessibleForFree' content='false'>", True),
        ('<meta property="article:content_tier" content="locked">', True),
        ('<meta property="article:content_tier" content="metered">', False),
        ('<div class="paywall">Subscribe!</div>', False),
        ("", False),
    ],
)
def test_paywall_is_what_the_page_says(markup: str, *, locked: bool) -> None:
    assert is_paywalled(markup) is locked
