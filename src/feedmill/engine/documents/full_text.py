"""From a fetched page to a stored full text: extract, judge, keep with the page and an event."""
# Tested in tests/integration/engine/jobs/test_fulltext.py

import re
from hashlib import sha256
from typing import Final

from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.documents.raw_documents import FULL_TEXT, keep_document
from feedmill.engine.run.services import Services
from feedmill.errors import MissingExtraError
from feedmill.extract.opt_in import judge_text
from feedmill.model.base import filled
from feedmill.model.derived.full_text import ExtractedText, FullText, NoFullText, PageTask
from feedmill.model.event import StoredEntry
from feedmill.model.feed import BlobRef, Feed, FetchRecord
from feedmill.model.running.job import JobStep
from feedmill.observe.traces import span
from feedmill.publish.events import event_of_full_text

_TAG: Final = re.compile(r"<[^<>]{0,2000}>")
_WORD: Final = re.compile(r"\w+")


async def store_full_text(
    entry: StoredEntry, feed: Feed, answer: Answer, services: Services, step: JobStep | None = None
) -> FullText | None:
    """Extract the text of a page that was fetched and store both; None when the entry is gone."""
    document = answer.document
    body = b"" if document is None else document.body
    digest = sha256(body).hexdigest() if body else None
    blob = None if digest is None else await _keep(body, digest, feed, answer, services)
    made = FullText(
        entry_uid=entry.entry_uid,
        feed_id=entry.feed_id,
        url=answer.url,
        final_url=answer.response.final_url,
        fetched_at=answer.at,
        extracted_at=answer.at,
        state="failed",
        http_status=answer.response.status,
        content_type=None if document is None else document.content_type,
        body_sha256=digest,
    )
    found = await extract_again(made, body, entry, feed, services)
    event = event_of_full_text(found)
    with span("store"):
        saved = await services.store.save_full_text(found, blob=blob, events=(event,), step=step)
    return found if saved else None


async def _keep(
    body: bytes, digest: str, feed: Feed, answer: Answer, services: Services
) -> BlobRef:
    """Keep the page with a note that says whose it is: it is no document of a feed."""
    fetch = FetchRecord(
        fetch_id=services.clock.new_id(),
        feed_id=feed.id,
        scheduled_at=answer.at,
        fetched_at=answer.at,
        url=feed.url,
        final_url=answer.response.final_url,
        outcome=FULL_TEXT,
        http_status=answer.response.status,
        body_sha256=digest,
    )
    return await keep_document(body, fetch, feed, services.store, services.blobs)


async def extract_again(
    page: FullText, body: bytes, entry: StoredEntry, feed: Feed, services: Services
) -> FullText:
    """The full text that a stored page gives today."""
    if services.extractor is None:
        extra, part = "fulltext", "extracting full texts"
        raise MissingExtraError(extra, part)
    selector, config = feed.overrides.full_text_selector, services.config
    task = PageTask(
        body=body,
        url=page.final_url,
        content_type=page.content_type,
        selector=selector,
        max_chars=config.normalise.content_max_chars,
        max_depth=config.normalise.html_max_depth,
    )
    with span("extract"):
        extracted = await services.extractor.extract(task)
    words = _words(entry.content or entry.summary or "")
    judged = judge_text(extracted, feed_words=words, config=config.fulltext)
    return full_text_of(page, judged, selector=selector)


def failed_page(page: FullText, failed: NoFullText) -> FullText:
    """The row of a page that could not be fetched."""
    return full_text_of(page, failed, selector=None)


def full_text_of(
    page: FullText, found: ExtractedText | NoFullText, *, selector: str | None
) -> FullText:
    """The page with what was extracted from it, or with the reason of the failure."""
    facts = {
        name: getattr(page, name)
        for name in (
            *("entry_uid", "feed_id", "url", "final_url", "fetched_at", "extracted_at"),
            *("http_status", "content_type", "body_sha256"),
        )
    }
    if isinstance(found, NoFullText):
        return FullText(
            **facts, state="failed", reason=found.reason, detail=found.detail, selector=selector
        )
    return filled(FullText, found, **facts, state="extracted", selector=selector)


def _words(html: str) -> int:
    return len(_WORD.findall(_TAG.sub(" ", html)))
