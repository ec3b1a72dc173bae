"""A stored document at every stage: its bytes, what was parsed, what was normalised, and the repairs."""
# Tested in tests/integration/interfaces/console/test_fetch.py

from typing import Final

from feedmill.config import Config
from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.model.base import Value
from feedmill.model.entry import Entry, NormalisedFeed
from feedmill.model.feed import FetchRecord
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Repair, Unreadable
from feedmill.normalise.feed import normalise
from feedmill.parse.document import parse_document

_HEAD_BYTES: Final = 4_000  # of the document, before its first entry


class EntryStages(Value):
    """One entry: its bytes as text, as parsed, and as normalised."""

    number: int  # in the document, from 1
    raw: str | None  # None: where it stands is not known
    offset: int | None
    parsed: ParsedEntry
    clean: Entry


class DocumentView(Value):
    """A document as it came and as it was read; without `parsed` it is no feed."""

    fetch: FetchRecord
    length: int
    head: str  # up to the first entry
    parsed: ParsedFeed | None = None
    clean: NormalisedFeed | None = None
    entries: tuple[EntryStages, ...] = ()
    total: int = 0  # entries in the document
    repairs: tuple[Repair, ...] = ()
    unreadable: Unreadable | None = None


async def view_document(
    fetch_id: str, services: Services, *, first: int = 1, count: int = 10
) -> DocumentView:
    """The document of a fetch, read again, with some of its entries.

    NotFoundError without a document, NotKeptError when it is gone.
    """
    raw = await queries.raw(fetch_id, services)
    return await PARSE_THREADS.run(
        lambda: _view(raw.body, raw.fetch, services.config, first, count)
    )


def _view(body: bytes, fetch: FetchRecord, config: Config, first: int, count: int) -> DocumentView:
    document = RawDocument(body=body, url=fetch.final_url, content_type=fetch.content_type)
    parsed = parse_document(document, config.parse)
    if isinstance(parsed, Unreadable):
        head = body[:_HEAD_BYTES].decode("utf-8", "replace")
        return DocumentView(fetch=fetch, length=len(body), head=head, unreadable=parsed)
    clean = normalise(parsed, url=document.url, config=config.normalise, seen_at=fetch.fetched_at)
    pairs = list(zip(parsed.entries, clean.entries, strict=True))
    begins = [one.slice.offset for one in parsed.entries if one.slice is not None]
    end = min([_HEAD_BYTES, *begins])
    return DocumentView(
        fetch=fetch,
        length=len(body),
        head=_text(body[:end], parsed.encoding),
        parsed=parsed,
        clean=clean,
        entries=tuple(
            _stages(number, one, entry, body, parsed.encoding)
            for number, (one, entry) in enumerate(pairs, 1)
            if first <= number < first + count
        ),
        total=len(pairs),
        repairs=parsed.repairs,
    )


def _stages(
    number: int, parsed: ParsedEntry, clean: Entry, body: bytes, encoding: str
) -> EntryStages:
    place = parsed.slice
    return EntryStages(
        number=number,
        raw=None
        if place is None
        else _text(body[place.offset : place.offset + place.length], encoding),
        offset=None if place is None else place.offset,
        parsed=parsed,
        clean=clean,
    )


def _text(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding, "replace")
    except LookupError:  # a label that Python does not know
        return data.decode("utf-8", "replace")
