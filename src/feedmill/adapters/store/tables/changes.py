"""Documents sorted out before they are written: one batch of rows per kind of change.

Nothing here touches the database, so that a transaction that has to be repeated begins from the
same documents.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from feedmill.adapters.store.tables.codec import Row, json_text, micros, micros_or_none
from feedmill.adapters.store.tables.contents.entry_codec import content_row
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
from feedmill.model.refresh import Refresh


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


def remaining_events(refresh: Refresh, document: PendingDocument | None) -> list[NewEvent]:
    """The events, without those of entries that another refresh has added before."""
    overtaken = () if document is None else document.overtaken
    return [
        event
        for event in refresh.events
        if event.type != "new_entry" or event.entry_uid not in overtaken
    ]


def removed_rows(document: PendingDocument) -> list[Row]:
    """Entry, time, reason and comment of what was removed."""
    return [
        (one.known.entry_id, micros_or_none(one.when) or document.seen_at, one.reason, one.comment)
        for one in document.removed
    ]


def document_batches(documents: Iterable[PendingDocument]) -> Iterator[list[PendingDocument]]:
    """The documents in their order, apart where two of them write about the same entry."""
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
