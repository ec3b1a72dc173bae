"""What documents changed, as rows: entries, identities, articles, revisions, removals.

Almost every entry of a document is known and unchanged, and no row of it is written: the feed
counts how often its current document was confirmed, and an entry in it was seen as often and as
lately as that. Only what enters, leaves or changes is written (D31), for all documents of a
transaction at once: one statement per kind of change, and none for a kind that does not occur.

Documents are sorted out before anything is written, so that a transaction that has to be repeated begins from the
same documents.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.tables.codec import Row, json_text, micros, micros_or_none
from feedmill.adapters.store.tables.contents.entry_codec import (
    INSERT,
    POINT_TO_FIRST,
    REVIVE,
    REWRITE,
    content_row,
)
from feedmill.adapters.store.tables.contents.fulltexts import ON_CONFLICT
from feedmill.adapters.store.tables.contents.held_entries import hold, release
from feedmill.adapters.store.tables.running.jobs import add_job
from feedmill.adapters.store.tables.subscriptions.feeds import save_quota
from feedmill.adapters.store.tables.subscriptions.push import count_push
from feedmill.model.event import NewEvent
from feedmill.model.identity import (
    Added,
    Change,
    FieldDigests,
    Identified,
    IdentityKey,
    Rekeyed,
    Removed,
    Revised,
    UnchangedEntry,
)
from feedmill.model.refresh import Committed, Refresh

# Locked as it is read: with legacy_guid_across_feeds, two feeds may revise one entry at once.
_KEEP_REVISIONS: Final = sql.RowStatement(
    ("entry_id", "replaced_at", "changed"),
    "INSERT INTO entry_revisions SELECT e.entry_id, e.revisions + 1, :replaced_at, :changed,"
    " e.content_hash, e.title, e.summary, e.content, e.canonical_link, e.published, e.updated,"
    " e.fetch_id, e.slice_offset, e.slice_length FROM @locked_entries e @also WHERE e.entry_id = :entry_id",
)
# The number of a revision counts on; the entry's own count is that of the last one.
_THIN: Final = sql.RowStatement(
    ("entry_id", "revisions"),
    "DELETE FROM entry_revisions @using WHERE entry_revisions.entry_id = :entry_id"
    " AND entry_revisions.number <= (SELECT e.revisions FROM entries e WHERE e.entry_id = :entry_id) - :revisions",
)
_PLACE: Final = sql.RowStatement(
    ("entry_id", "fetch_id", "slice_offset", "slice_length", "slice_digest"),
    "UPDATE entries SET fetch_id = :fetch_id, slice_offset = :slice_offset,"
    " slice_length = :slice_length, slice_digest = :slice_digest @from WHERE entries.entry_id = :entry_id",
)
_RENAME: Final = sql.RowStatement(
    ("entry_id", "guid"),
    "UPDATE entries SET guid = :guid @from WHERE entries.entry_id = :entry_id",
)
_KEEP_KEYS: Final = sql.RowStatement(sql.KEY_COLUMNS, "@add_keys")
_ARTICLE_COLUMNS: Final = ("article_hash", "article_version", "entry_id", "link", "first_seen")
_KEEP_ARTICLES: Final = sql.RowStatement(
    _ARTICLE_COLUMNS,
    f"INSERT INTO articles ({', '.join(_ARTICLE_COLUMNS)}) @values ON CONFLICT DO NOTHING RETURNING entry_id",
)
_SEARCHABLE: Final = sql.RowStatement(
    ("entry_id", "terms"), f"INSERT INTO entry_search (entry_id, terms) @values {ON_CONFLICT}"
)
_CURRENT: Final = sql.RowStatement(
    ("feed_no",),
    "SELECT entries.feed_no, entries.entry_id FROM entries @also"
    " WHERE entries.feed_no = :feed_no AND entries.in_document = 1",
)
_SIGHTING: Final = ("entry_id", "confirmation", "seen_at")
_LAST_SEEN: Final = (
    "last_seen = @greatest(entries.last_seen, :seen_at) @from WHERE entries.entry_id = :entry_id"
)
_ENTER: Final = sql.RowStatement(
    _SIGHTING,
    "UPDATE entries SET in_document = 1, confirmation = :confirmation,"
    f" seen_count = entries.seen_count + 1, {_LAST_SEEN}",
)
_LEAVE: Final = sql.RowStatement(
    _SIGHTING,
    "UPDATE entries SET in_document = 0, seen_count = entries.seen_count + :confirmation - entries.confirmation,"
    f" {_LAST_SEEN} AND entries.in_document = 1",
)
_SEEN_AGAIN: Final = sql.RowStatement(
    ("entry_id", "seen_at"),
    f"UPDATE entries SET seen_count = entries.seen_count + 1, {_LAST_SEEN}",
)
_REMOVE: Final = sql.RowStatement(
    ("entry_id", "removed_at", "removed_reason", "removed_comment"),
    "UPDATE entries SET removed_at = :removed_at, removed_reason = :removed_reason,"
    " removed_comment = :removed_comment @from"
    " WHERE entries.entry_id = :entry_id AND entries.removed_at IS NULL",
)


class PendingDocument(msgspec.Struct, kw_only=True):
    """A document being written, and what happened to its feed's rows so far."""

    feed_no: int
    fetch_id: str
    seen_at: int
    whole: bool  # it is the feed's current document from now on
    before: int  # confirmations of the document that was current until now
    before_at: int  # and the last of them
    changes: Sequence[Change]
    removed: Sequence[Removed] = ()
    backfill: bool = False  # a page of the feed's archive
    keep_revisions: int = 0  # of each entry; 0: all
    known: set[int] = msgspec.field(default_factory=set)  # rows that stand in it and were there
    overtaken: set[str] = msgspec.field(default_factory=set)  # added by another refresh meanwhile

    @property
    def confirmation(self) -> int:
        """The number of this confirmation."""
        return self.before + 1 if self.whole else self.before

    def marks(self) -> Iterator[int | str]:
        """The entries that it writes about."""
        for change in self.changes:
            match change:
                case Added():
                    yield change.entry_uid
                case Revised() | UnchangedEntry():
                    yield change.known.entry_id
                case _:
                    pass
        yield from (one.known.entry_id for one in self.removed)


class ChangeBatch(msgspec.Struct):
    """The rows of a batch by what is done with them; a new entry goes by its public id at first."""

    added: dict[str, tuple[PendingDocument, Added]] = msgspec.field(default_factory=dict)
    revised: list[Row] = msgspec.field(default_factory=list)
    thinned: list[Row] = msgspec.field(default_factory=list)  # entry, revisions to keep
    rewritten: list[Row] = msgspec.field(default_factory=list)
    placed: list[Row] = msgspec.field(default_factory=list)
    renamed: list[Row] = msgspec.field(default_factory=list)
    keys: list[tuple[str, str, int | str]] = msgspec.field(default_factory=list)
    articles: list[tuple[Identified, int | str, int]] = msgspec.field(default_factory=list)
    ids: dict[str, int] = msgspec.field(default_factory=dict)
    digests_text: Callable[[FieldDigests], str] = json_text  # how digests of fields are stored

    def added_rows(self) -> list[Row]:
        """Id, feed, time, document, origin and CONTENT_COLUMNS of the new entries, in document order."""
        return [
            (
                uid,
                document.feed_no,
                document.seen_at,
                int(document.whole),
                document.confirmation,
                change.same_as,
                int(document.backfill),
                *content_row(change.seen, document.fetch_id, document.seen_at, self.digests_text),
            )
            for uid, (document, change) in self.added.items()
        ]

    def recognise(self, uids: Collection[str]) -> None:
        """Entries that another refresh added meanwhile: theirs is the row, the article and the event."""
        self.articles = [one for one in self.articles if one[1] not in uids]
        for uid in uids:
            document, _ = self.added[uid]
            document.overtaken.add(uid)
            if uid in self.ids:
                document.known.add(self.ids[uid])

    def key_rows(self) -> list[tuple[str, str, int]]:
        """Type, value and entry of each key."""
        return [
            (kind, value, entry_id)
            for kind, value, owner in self.keys
            if (entry_id := self._id_of(owner)) is not None
        ]

    def article_rows(self) -> list[Row]:
        """Hash, version, entry, link and time of each article."""
        return [
            (seen.article_hash, seen.article_version, entry_id, seen.entry.article_link, seen_at)
            for seen, owner, seen_at in self.articles
            if seen.article_hash is not None and (entry_id := self._id_of(owner)) is not None
        ]

    def search_rows(self) -> list[Row]:
        """Number and tokens of each entry whose text is new."""
        from feedmill.search.tokens import search_terms  # noqa: PLC0415  # see entry_search

        return [
            (entry_id, search_terms(seen.entry.title, seen.entry.summary, seen.entry.content))
            for seen, owner, _ in self.articles
            if (entry_id := self._id_of(owner)) is not None
        ]

    def duplicates(self, refused: Iterable[int]) -> list[int]:
        """Entries that another one may have preceded: their article was refused, or their address is known."""
        twins = (uid for uid, (_, change) in self.added.items() if change.same_as is not None)
        return sorted({*refused, *(self.ids[uid] for uid in twins if uid in self.ids)})

    def _id_of(self, owner: int | str) -> int | None:
        """The row's number; None for one that was added by another refresh and removed since."""
        return owner if isinstance(owner, int) else self.ids.get(owner)


class Sightings(msgspec.Struct):
    """Rows that enter a current document, leave one, or were seen outside of one."""

    entered: list[Row] = msgspec.field(default_factory=list)  # entry, confirmation, time
    again: list[Row] = msgspec.field(default_factory=list)  # entry, time
    left: list[Row] = msgspec.field(default_factory=list)  # entry, confirmation, time

    def add(self, document: PendingDocument, before: AbstractSet[int]) -> None:
        """Note the rows of a document; `before` are those of the one that was current."""
        gone = {one.known.entry_id for one in document.removed}
        if document.whole:
            sighting = (document.confirmation, document.seen_at)
            self.entered += [(entry_id, *sighting) for entry_id in document.known - before]
            gone |= before - document.known
        else:
            self.again += [(entry_id, document.seen_at) for entry_id in document.known]
        # From now on these rows count for themselves.
        self.left += [(entry_id, document.before, document.before_at) for entry_id in gone]


def pending_document(
    refresh: Refresh, feed_no: int, confirmations: int, confirmed_at: int
) -> PendingDocument:
    """The document of a refresh, with the confirmations of the one that was current until now."""
    return PendingDocument(
        feed_no=feed_no,
        fetch_id=refresh.fetch.fetch_id,
        seen_at=micros(refresh.fetch.fetched_at),
        whole=refresh.in_document,
        before=confirmations,
        before_at=confirmed_at,
        changes=() if refresh.changes is None else refresh.changes.changes,
        removed=refresh.removed,
        backfill=refresh.backfill,
        keep_revisions=refresh.keep_revisions,
    )


def write_beside(feed_no: int, refresh: Refresh) -> sql.Query[None]:
    """Write what few refreshes have beside their changes: held entries, evidence about a hub, jobs."""
    if refresh.held:
        yield from hold(feed_no, refresh.held)
    if refresh.released:
        yield from release(feed_no, refresh.released)
    if refresh.push is not None:
        yield from count_push(refresh.push)
        if refresh.entries_only and refresh.feed.quota is not None:
            yield from save_quota(feed_no, refresh.feed.quota)
    for job in refresh.jobs:
        yield from add_job(job, now=refresh.fetch.fetched_at)


def remaining_events(refresh: Refresh, document: PendingDocument | None) -> list[NewEvent]:
    """The events, without those of entries that another refresh has added before."""
    overtaken = () if document is None else document.overtaken
    return [
        event
        for event in refresh.events
        if event.type != "new_entry" or event.entry_uid not in overtaken
    ]


def committed(document: PendingDocument | None, last_seq: int = 0) -> Committed:
    """What the commit did, with the entries that another refresh has added before."""
    overtaken = frozenset[str]() if document is None else frozenset(document.overtaken)
    return Committed(overtaken=overtaken, last_seq=last_seq)


def removed_rows(document: PendingDocument) -> list[Row]:
    """Entry, time, reason and comment of what was removed."""
    return [
        (one.known.entry_id, micros_or_none(one.when) or document.seen_at, one.reason, one.comment)
        for one in document.removed
    ]


def write_changes(
    documents: Sequence[PendingDocument],
    *,
    searchable: bool,
    digests_text: Callable[[FieldDigests], str] = json_text,
) -> sql.Query[None]:
    """Write everything; each document learns which of its entries another refresh was quicker to
    add. The feeds of the documents are locked by who calls."""
    for batch in document_batches(documents):
        yield from _write_batch(batch, ChangeBatch(digests_text=digests_text), searchable)


def _write_batch(
    documents: Sequence[PendingDocument], changes: ChangeBatch, searchable: bool
) -> sql.Query[None]:
    current = yield from _current(documents)
    for document in documents:
        group_changes(changes, document)
    yield from _add(changes)
    yield from sql.write_rows(_KEEP_REVISIONS, changes.revised)
    yield from _rewrite(changes)
    yield from sql.write_rows(_THIN, changes.thinned)
    yield from sql.write_rows(_PLACE, changes.placed)
    yield from sql.write_rows(_RENAME, changes.renamed)
    yield from _register(changes)
    yield from _index(changes, searchable=searchable)
    sightings = Sightings()
    for document in documents:
        sightings.add(document, current[document.feed_no])
    yield from sql.write_rows(_ENTER, sorted(sightings.entered))
    yield from sql.write_rows(_SEEN_AGAIN, sorted(sightings.again))
    yield from sql.write_rows(_LEAVE, sorted(sightings.left))
    removed = [row for document in documents for row in removed_rows(document)]
    yield from sql.write_rows(_REMOVE, removed)


def _current(documents: Sequence[PendingDocument]) -> sql.Query[dict[int, set[int]]]:
    """The rows of the documents that are current until now."""
    found: dict[int, set[int]] = defaultdict(set)
    feeds = [(document.feed_no,) for document in documents if document.whole]
    for feed_no, entry_id in (yield from sql.rows_of_rows(_CURRENT, feeds)):
        found[feed_no].add(entry_id)
    return found


def _add(changes: ChangeBatch) -> sql.Query[None]:
    """Insert the new entries in document order; what was there is known from now on."""
    changes.ids.update((yield from sql.rows_of_rows(INSERT, changes.added_rows())))
    late = [uid for uid in changes.added if uid not in changes.ids]
    if late:
        found = yield from sql.rows(
            "SELECT entry_uid, entry_id FROM entries WHERE entry_uid @in($1)", late
        )
        changes.ids.update(found)
        changes.recognise(late)


def _rewrite(changes: ChangeBatch) -> sql.Query[None]:
    """Write contents anew; a row that retention took comes back with what it left."""
    done = {row[0] for row in (yield from sql.rows_of_rows(REWRITE, changes.rewritten))}
    expired = [row for row in changes.rewritten if row[0] not in done]
    if expired:
        yield from sql.write_rows(REVIVE, expired)
        ids = [row[0] for row in expired]
        yield from sql.write("DELETE FROM tombstones WHERE entry_id @in($1)", ids)


def _register(changes: ChangeBatch) -> sql.Query[None]:
    """A key and an article belong to the entry that had them first, for ever (D8).

    They are shared by all feeds, so they are written in the order of their hashes: two transactions that want the same
    ones wait for each other and never in a circle.
    """
    keys, articles = changes.key_rows(), changes.article_rows()
    yield from sql.write_rows(_KEEP_KEYS, keys)
    articles.sort(key=lambda row: str(row[0]))
    kept = yield from sql.rows_of_rows(_KEEP_ARTICLES, articles)
    refused = {row[2] for row in articles} - {row[0] for row in kept}
    if later := changes.duplicates(refused):
        yield from sql.write(f"{POINT_TO_FIRST} WHERE entry_id @in($1)", later)


def _index(changes: ChangeBatch, *, searchable: bool) -> sql.Query[None]:
    """Index what is new; where search is off, no entry is left with the tokens of an earlier text."""
    if searchable:
        if changes.articles:
            yield from sql.write_rows(_SEARCHABLE, changes.search_rows())
    elif changes.rewritten:
        ids = [row[0] for row in changes.rewritten]
        yield from sql.write("DELETE FROM entry_search WHERE entry_id @in($1)", ids)


def document_batches(documents: Sequence[PendingDocument]) -> Iterator[Sequence[PendingDocument]]:
    """The documents in their order, apart where two of them write about the same entry."""
    if len(documents) == 1:  # always on SQLite: its entries need no look
        yield documents
        return
    batch: list[PendingDocument] = []
    marks: set[int | str] = set()
    for document in documents:
        own = set(document.marks())
        if not marks.isdisjoint(own):
            yield batch
            batch, marks = [], set()
        batch.append(document)
        marks |= own
    if batch:
        yield batch


def group_changes(batch: ChangeBatch, document: PendingDocument) -> None:
    """Put every change of the document where it belongs."""
    for change in document.changes:
        match change:
            case UnchangedEntry(seen=None, new_keys=()):  # most of them: recognised by the slice
                document.known.add(change.known.entry_id)
            case Added():
                batch.added.setdefault(change.entry_uid, (document, change))
                batch.articles.append((change.seen, change.entry_uid, document.seen_at))
                _note_keys(batch, change.new_keys, change.entry_uid)
            case Revised():
                _note_revised(batch, document, change)
            case UnchangedEntry():
                _note_touched(batch, document, change)
            case Rekeyed():
                batch.keys += [(r.new.type, r.new.value, r.entry_id) for r in change.remaps]
            case _:  # a repeat and a conflict change no row
                pass


def _note_revised(batch: ChangeBatch, document: PendingDocument, change: Revised) -> None:
    entry_id = change.known.entry_id
    if change.changed and change.known.content_hash is not None:
        batch.revised.append((entry_id, document.seen_at, json_text(change.changed)))
        if document.keep_revisions:
            batch.thinned.append((entry_id, document.keep_revisions))
    _note_rewritten(batch, document, change.seen, entry_id, revisions=int(bool(change.changed)))
    _note_keys(batch, change.new_keys, entry_id)
    document.known.add(entry_id)


def _note_touched(batch: ChangeBatch, document: PendingDocument, change: UnchangedEntry) -> None:
    known, seen, piece = change.known, change.seen, change.slice
    entry_id = known.entry_id
    if change.refresh and seen is not None:
        _note_rewritten(batch, document, seen, entry_id, revisions=0)
    else:
        if piece is not None and piece.digest != known.slice_digest:
            place = (document.fetch_id, piece.offset, piece.length, piece.digest)
            batch.placed.append((entry_id, *place))
        if seen is not None and seen.guid is not None and seen.guid != known.guid:
            batch.renamed.append((entry_id, seen.guid))
    _note_keys(batch, change.new_keys, entry_id)
    document.known.add(entry_id)


def _note_rewritten(
    batch: ChangeBatch,
    document: PendingDocument,
    seen: Identified,
    entry_id: int,
    *,
    revisions: int,
) -> None:
    content = content_row(seen, document.fetch_id, document.seen_at, batch.digests_text)
    batch.rewritten.append((entry_id, revisions, *content))
    batch.articles.append((seen, entry_id, document.seen_at))


def _note_keys(batch: ChangeBatch, keys: Sequence[IdentityKey], owner: int | str) -> None:
    batch.keys += [(key.type, key.value, owner) for key in keys]
