"""Collected documents, standing screens and held entries as rows and back."""

from typing import Final

import msgspec

from feedmill.adapters.store.tables.codec import Row, instant, json_text, micros
from feedmill.model.candidate import CollectedDocument
from feedmill.model.live_screen import HeldEntry, StandingScreen
from feedmill.model.screening import Screening, TopicSet

COLLECTED_COLUMNS: Final = "fetch_id, url, final_url, fetched_at, body_sha256, content_type"
SCREEN_COLUMNS: Final = "id, created_at, feed_id, tag, keep_at, method, topics"
NEW_HELD_COLUMNS: Final = (
    "feed_no, entry_uid, dedupe_key, content_hash, held_at, fetch_id, body_sha256, slice_offset,"
    " title, screening"
)
HELD_COLUMNS: Final = (
    "f.id, h.entry_uid, h.dedupe_key, h.content_hash, h.held_at, h.fetch_id, h.body_sha256,"
    " h.slice_offset, h.title, h.screening"
)
_topics: Final = msgspec.json.Decoder(TopicSet).decode
_screening: Final = msgspec.json.Decoder(Screening).decode


def collected_row(document: CollectedDocument) -> Row:
    """The COLLECTED_COLUMNS of a document."""
    return (
        document.fetch_id,
        document.url,
        document.final_url,
        micros(document.fetched_at),
        document.body_sha256,
        document.content_type,
    )


def screen_row(screen: StandingScreen) -> Row:
    """The SCREEN_COLUMNS of a standing screen."""
    topics = None if screen.topics is None else json_text(screen.topics)
    whose = (screen.feed_id, screen.tag)
    return (screen.id, micros(screen.created_at), *whose, screen.keep_at, screen.method, topics)


def screen_of(row: Row) -> StandingScreen:
    """The standing screen of a row of SCREEN_COLUMNS."""
    screen_id, created_at, feed_id, tag, keep_at, method, topics = row
    return StandingScreen(
        id=screen_id,
        created_at=instant(created_at),
        feed_id=feed_id,
        tag=tag,
        keep_at=keep_at,
        method=method,
        topics=None if topics is None else _topics(topics),
    )


def held_row(feed_no: int, one: HeldEntry) -> Row:
    """The NEW_HELD_COLUMNS of an entry that is kept back."""
    return (
        feed_no,
        one.entry_uid,
        one.dedupe_key,
        one.content_hash,
        micros(one.held_at),
        one.fetch_id,
        one.body_sha256,
        one.slice_offset,
        one.title,
        None if one.screening is None else json_text(one.screening),
    )


def held_of(row: Row) -> HeldEntry:
    """The held entry of a row of HELD_COLUMNS."""
    feed_id, uid, dedupe_key, content_hash, held_at, fetch_id, body, offset, title, screening = row
    return HeldEntry(
        feed_id=feed_id,
        entry_uid=uid,
        dedupe_key=dedupe_key,
        content_hash=content_hash,
        held_at=instant(held_at),
        fetch_id=fetch_id,
        body_sha256=body,
        slice_offset=offset,
        title=title,
        screening=None if screening is None else _screening(screening),
    )
