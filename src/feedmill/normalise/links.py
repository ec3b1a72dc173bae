"""Addresses of an entry: absolute, http or https, and their canonical forms (D1, D3).

Canonical forms are for comparing; what is shown and fetched is what the publisher wrote. Only
characters that no address may hold raw are escaped, so that a link cannot leave its attribute.
"""

import re
from collections.abc import Iterator

from feedmill.canonicalise.policies import entry_spellings
from feedmill.canonicalise.urls import http_url, is_plain, resolve
from feedmill.config import NormaliseConfig
from feedmill.model.base import Value
from feedmill.model.entry import Finding
from feedmill.model.parsed import ParsedEntry
from feedmill.normalise.suspicious import describe

MAX_URL_CHARS = 8_192

# Controls, white space, quotes, brackets, the backslash that browsers read as a slash, and
# lone surrogates.
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\"<>\\`\u2028\u2029\ud800-\udfff]")
_HTML_TYPES = ("text/html", "application/xhtml+xml")


class EntryLinks(Value):
    """The link of an entry in its three spellings, and what was wrong with those not taken."""

    link: str | None = None
    canonical_link: str | None = None
    article_link: str | None = None
    findings: tuple[Finding, ...] = ()


def entry_links(entry: ParsedEntry, base: str | None, config: NormaliseConfig) -> EntryLinks:
    """The first usable of: the link, an alternate, a guid that is an address, the external link."""
    findings: tuple[Finding, ...] = ()
    for candidate in _candidates(entry):
        found = _located(candidate, base)
        if found is not None:
            link, serialised = found
            identity, article = entry_spellings(serialised, config.link_tracking_params)
            return EntryLinks(
                link=link, canonical_link=identity, article_link=article, findings=findings
            )
        findings = findings or bad_link("link", candidate)
    return EntryLinks(findings=findings)


def usable_http_url(reference: str | None, base: str | None) -> str | None:
    """The absolute http(s) URL as its publisher spelled it, made safe; None for anything else."""
    found = _located(reference, base) if reference else None
    return None if found is None else found[0]


def bad_link(field_name: str, reference: str | None) -> tuple[Finding, ...]:
    """The finding for a reference that `usable_http_url` refused; none when there was nothing."""
    if not reference or not reference.strip():
        return ()
    return (Finding(code="bad-link", field=field_name, detail=describe(reference)),)


def _located(reference: str, base: str | None) -> tuple[str, str] | None:
    """The safe address of `web_address` and what it is serialised to."""
    if len(reference) > MAX_URL_CHARS:
        return None
    if is_plain(reference):
        return reference, reference
    address = resolve(reference, base)
    serialised = http_url(address)
    if serialised is None or len(serialised) > MAX_URL_CHARS:
        return None
    return (serialised if _UNSAFE.search(address) else address), serialised


def _candidates(entry: ParsedEntry) -> Iterator[str]:
    if entry.link:
        yield entry.link
    alternates = [link for link in entry.links if link.rel == "alternate" and link.href]
    pages = [link for link in alternates if link.type in (None, *_HTML_TYPES)]
    yield from (link.href for link in (pages or alternates)[:1])
    # An id that only looks like an address (`isPermaLink="false"`) is better than no link at all.
    if entry.id and http_url(entry.id) is not None:
        yield entry.id
    if entry.external_url:
        yield entry.external_url
