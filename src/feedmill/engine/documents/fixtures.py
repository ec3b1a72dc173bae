"""Fixtures for parser regressions: a stored document, how it was served, and how it is understood.

Credentials of the feed are masked, in addresses, headers and, with the length kept, in the body. `understand` is the
function that a regression test calls again; what it returns is what a later parser must return too.
"""

from datetime import datetime
from typing import Any, Final

import msgspec

from feedmill.config import Config
from feedmill.model.base import Value, filled
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.fetch import Headers, RawDocument
from feedmill.model.parsed import Unreadable
from feedmill.normalise.entry import normalise
from feedmill.observe.log import mask_secrets, secrets_in
from feedmill.parse.document import parse_document

_SHORTEST_SECRET: Final = 6  # what is shorter would be found in every text


class FixtureFetch(Value):
    """How the document was served, without credentials."""

    fetch_id: str
    url: str
    final_url: str
    http_status: int | None
    content_type: str | None
    fetched_at: datetime
    outcome: str
    repairs: tuple[str, ...]
    response_headers: Headers


class Fixture(Value):
    """One test case: bytes, how they came, and what they mean."""

    fetch: FixtureFetch
    body: bytes
    understood: dict[str, Any]

    @property
    def document(self) -> RawDocument:
        """The document as the parser takes it."""
        fetch = self.fetch
        return RawDocument(body=self.body, url=fetch.final_url, content_type=fetch.content_type)


def make_fixture(feed: Feed, fetch: FetchRecord, body: bytes, config: Config) -> Fixture:
    """The fixture of a fetch; what is understood is read from the masked bytes."""
    secrets = _secrets(feed, fetch)
    masked = body
    for secret in secrets:
        masked = masked.replace(secret.encode(), b"*" * len(secret.encode()))
    served = filled(
        FixtureFetch,
        fetch,
        url=_masked(fetch.url),
        final_url=_masked(fetch.final_url),
        response_headers=tuple(
            (name, _without(value, secrets)) for name, value in fetch.response_headers
        ),
    )
    fixture = Fixture(fetch=served, body=masked, understood={})
    return msgspec.structs.replace(
        fixture, understood=understand(fixture.document, fetch.fetched_at, config)
    )


def understand(document: RawDocument, seen_at: datetime, config: Config) -> dict[str, Any]:
    """The document parsed and normalised, or why it is no feed, as plain JSON values."""
    parsed = parse_document(document, config.parse)
    if isinstance(parsed, Unreadable):
        return {"unreadable": {"reason": parsed.reason, "detail": parsed.detail}}
    clean = normalise(parsed, url=document.url, config=config.normalise, seen_at=seen_at)
    whole = {"parsed": parsed, "normalised": clean}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole))
    return plain


def _secrets(feed: Feed, fetch: FetchRecord) -> tuple[str, ...]:
    own = feed.overrides
    found = [*secrets_in(fetch.url), *secrets_in(fetch.final_url)]
    found += [own.username or "", own.password or "", *(value for _, value in own.headers)]
    return tuple({one for one in found if len(one) >= _SHORTEST_SECRET})


def _masked(url: str) -> str:
    return mask_secrets(url)


def _without(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, "*" * len(secret))
    return mask_secrets(text)
