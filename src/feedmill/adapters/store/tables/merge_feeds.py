"""What a merge of two feeds reads and writes, as rows and back."""

from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from feedmill.adapters.store.tables.codec import Row, instant_or_none, strings
from feedmill.model.entry import Entry
from feedmill.model.event import NewEvent
from feedmill.model.feed import MergeCounts
from feedmill.model.identity import KnownEntry

SIDE_COLUMNS: Final = (
    "feed_no, id, feed_key, tags, ignored_guids, ignored_links, confirmations,"
    " coalesce(confirmed_at, 0)"
)
ENTRY_COLUMNS: Final = "guid, link, canonical_link, title, summary, published"
STATE_COLUMNS: Final = (
    "content_hash, title, summary, content, canonical_link, published, updated, fetch_id"
)
REVISION_COLUMNS: Final = f"replaced_at, changed, {STATE_COLUMNS}"


class Side(NamedTuple):
    """One of the two feeds."""

    feed_no: int
    id: str
    feed_key: str
    tags: tuple[str, ...]
    ignored_guids: tuple[str, ...]
    ignored_links: tuple[str, ...]
    confirmations: int
    confirmed_at: int


class Place(NamedTuple):
    """Where one row of two that are the same entry stands."""

    entry_id: int
    entry_uid: str
    table: str  # entries, or tombstones for what retention left

    @property
    def is_living(self) -> bool:
        return self.table == "entries"


def side_of(row: Row) -> Side:
    """The side of a row of SIDE_COLUMNS."""
    feed_no, feed_id, feed_key, tags, guids, links, confirmations, confirmed_at = row
    return Side(
        feed_no,
        feed_id,
        feed_key,
        strings(tags),
        strings(guids),
        strings(links),
        confirmations,
        confirmed_at,
    )


def place_of(row: KnownEntry) -> Place:
    """Where the row stands."""
    expired = row.content_hash is None
    return Place(row.entry_id, row.entry_uid, "tombstones" if expired else "entries")


def gone_and_kept(theirs: Place, ours: Place) -> tuple[Place, Place]:
    """Which of two rows goes and which stays: the winner's, if it is not expired."""
    return (ours, theirs) if theirs.is_living and not ours.is_living else (theirs, ours)


def entry_of(row: Row) -> Entry:
    """What is stored of an entry, as far as it identifies it: a row of ENTRY_COLUMNS."""
    guid, link, canonical_link, title, summary, published = row
    return Entry(
        guid=guid,
        link=link,
        canonical_link=canonical_link,
        title=title,
        summary=summary,
        published=instant_or_none(published),
    )


def differences(gone: Row, kept: Row) -> tuple[str, ...]:
    """The fields in which two rows of (field_digests, content_version) differ; none when they were
    hashed by different recipes.
    """
    (theirs, by), (ours, other) = gone, kept
    if by != other:
        return ()
    before, now = _digests(theirs), dict(_digests(ours))
    return tuple(name for name, digest in before if now.get(name) != digest)


def counted(event: NewEvent, counts: MergeCounts) -> NewEvent:
    """The event; that of the merge tells the counts."""
    if event.type != "feed.merged":
        return event
    return replace(event, data={**event.data, **msgspec.to_builtins(counts)})


def _digests(text: str) -> Any:  # noqa: ANN401  # what this store wrote itself
    return msgspec.json.decode(text)
