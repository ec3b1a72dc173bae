"""Full texts for every interface: opt in, fetch pages, extract stored pages again, read."""
# Tested in tests/integration/engine/jobs/test_fulltext.py

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from feedmill.engine.documents.full_text import extract_again
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.run.pages import each_item
from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.errors import NotFoundError, required
from feedmill.extract.opt_in import full_text_job
from feedmill.model.base import Value
from feedmill.model.derived.full_text import FullText
from feedmill.model.event import StoredEntry
from feedmill.model.page import EntryFilter, LinePage
from feedmill.publish.events import event_of_full_text
from feedmill.publish.shapes import FullTextShape

_PAGE = 200


class Replayed(Value):
    """What today's extractor made of stored pages."""

    pages: int = 0  # that were extracted again
    changed: int = 0  # of them, those whose text differs
    missing: int = 0  # pages that retention has deleted
    current: int = 0  # extracted by today's extractor already


async def get_full_text(entry_uid: str, services: Services) -> FullTextShape:
    """The full text of an entry, or why it has none."""
    entry = await queries.entry(entry_uid, services)
    found = await services.store.full_text(entry.entry_uid)
    message = f"the page of entry {entry.entry_uid} was not fetched"
    return required(found, message, "fetch it: `feedmill fulltext fetch ENTRY`")


async def entry_with_full_text(entry_uid: str, services: Services) -> dict[str, Any]:
    """One entry with its full text in `full_text`; null where there is none."""
    found = await queries.entry(entry_uid, services)
    return (await _with_full_texts((found,), services))[0]


async def entries_with_full_text(
    where: EntryFilter, services: Services, *, cursor: str | None = None, limit: int | None = None
) -> LinePage:
    """Entries that match the filter, each with its full text in `full_text`."""
    page = await queries.entries(where, services, cursor=cursor, limit=limit)
    items = await _with_full_texts(page.items, services)
    return LinePage(lines=b"\n".join(map(msgspec.json.encode, items)), next=page.next)


async def with_full_content(
    entries: Sequence[StoredEntry], services: Services
) -> tuple[StoredEntry, ...]:
    """The entries with their full text as content, where there is one."""
    found = await services.store.full_texts_of([one.entry_uid for one in entries])
    return tuple(
        replace(one, content=text.html) if (text := found.get(one.entry_uid)) else one
        for one in entries
    )


async def queue_pages(
    services: Services,
    *,
    entry_uids: Sequence[str] = (),
    feed_id: str | None = None,
    limit: int = 20,
) -> list[str]:
    """Queue the pages of entries, or of the newest entries of a feed; the uids that were queued.

    An entry that has a full text, or a reason for having none, is fetched anew.
    """
    entries = [await queries.entry(uid, services) for uid in entry_uids]
    if feed_id is not None:
        where = EntryFilter(feed_id=feed_id)
        entries += (await services.store.entries(where, limit=limit)).items
    queued: list[str] = []
    for entry in entries:
        job = full_text_job(entry.entry_uid, entry.link, entry.feed_id)
        if job is not None:
            wanted = replace(job, payload={"forced": True})
            await services.store.add_job(wanted, now=services.clock.now(), restart=True)
            queued.append(entry.entry_uid)
    return queued


async def replay_pages(
    services: Services, version: str, *, feed_id: str | None = None, everything: bool = False
) -> Replayed:
    """Extract stored pages again that another version extracted; all with `everything`."""
    done, read = Replayed(), services.store.full_texts
    async for page in each_item(lambda after: read(feed_id=feed_id, after=after, limit=_PAGE)):
        if page.body_sha256 is None:
            continue
        if not everything and page.version == version:
            done = replace(done, current=done.current + 1)
            continue
        changed = await _replay(page, services)
        if changed is None:
            done = replace(done, missing=done.missing + 1)
        else:
            done = replace(done, pages=done.pages + 1, changed=done.changed + changed)
    return done


async def _replay(page: FullText, services: Services) -> bool | None:
    """True when the text is another now; None when the page or its entry is gone."""
    entry = await services.store.entry(page.entry_uid)
    feed = await services.store.feed(page.feed_id)
    if entry is None or feed is None or page.body_sha256 is None:
        return None
    try:
        body = await load_body(page.body_sha256, services.store, services.blobs)
    except NotFoundError:
        return None
    again = replace(page, extracted_at=services.clock.now())
    found = await extract_again(again, body, entry, feed, services)
    changed = (found.html, found.reason) != (page.html, page.reason)
    events = (event_of_full_text(found),) if changed else ()
    await services.store.save_full_text(found, events=events)
    return changed


async def _with_full_texts(
    entries: Sequence[StoredEntry], services: Services
) -> list[dict[str, Any]]:
    found = await services.store.full_texts_of([one.entry_uid for one in entries])
    return [
        msgspec.to_builtins(one) | {"full_text": msgspec.to_builtins(found.get(one.entry_uid))}
        for one in entries
    ]
