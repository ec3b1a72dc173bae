"""Merging two feeds: everything of one becomes the other's, in one transaction.

Entries that both have become one row, which was first seen when the earlier was and counts what
both counted; the id of the row that goes still leads to it (`fold`). All other entries change
their feed and get keys under it, so that its next document finds them. Events stay in the log as they are.

Both lanes and both feeds are locked from the first statement on, so that no refresh of either commits
in between; the number of statements does not depend on how many entries there are.
"""
# Tested in tests/contracts/store/

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, rows, write, write_many
from feedmill.adapters.store.tables import codec
from feedmill.adapters.store.tables.codec import Row, json_text
from feedmill.adapters.store.tables.contents import entry_codec
from feedmill.adapters.store.tables.contents.fulltexts import KEEP_FULL_TERMS
from feedmill.adapters.store.tables.running import figures
from feedmill.adapters.store.tables.subscriptions.feeds import retag
from feedmill.adapters.store.tables.subscriptions.fetches import merge_times
from feedmill.adapters.store.tables.subscriptions.push import leave_feed
from feedmill.identify.hashes import item_hash
from feedmill.identify.merge_feeds import adopted_keys, pair_twins
from feedmill.model.base import Value
from feedmill.model.entry import Entry
from feedmill.model.event import NewEvent
from feedmill.model.feed import Lane, MergeCounts
from feedmill.model.identity import KnownEntry, digests_of

_LOCK_LANES: Final = (
    "SELECT lane_id FROM lanes WHERE lane_id IN (SELECT s.lane_id FROM feed_sched s"
    " JOIN feeds f ON f.feed_no = s.feed_no WHERE f.id IN ($1, $2)) ORDER BY lane_id FOR NO KEY UPDATE"
)
_FENCE: Final = (
    "UPDATE lanes SET epoch = epoch + 1 WHERE owner IS NOT NULL AND lane_id IN"
    " (SELECT lane_id FROM feed_sched WHERE feed_no IN ($1, $2)) AND lane_id <> $3"
)
# The rows in the loser's current document count for themselves from now on.
_LEAVE_DOCUMENT: Final = (
    "UPDATE entries SET in_document = 0, seen_count = seen_count + $1 - confirmation,"
    " last_seen = @greatest(last_seen, $2) WHERE feed_no = $3 AND in_document = 1"
)
_KNOWN: Final = (
    f"SELECT {entry_codec.KNOWN_COLUMNS} FROM entries e JOIN feeds f ON f.feed_no = e.feed_no"
    f" WHERE e.feed_no = $1 UNION ALL SELECT {entry_codec.TOMBSTONE_COLUMNS} FROM tombstones e"
    " JOIN feeds f ON f.feed_no = e.feed_no WHERE e.feed_no = $1 ORDER BY 1"
)
_KEYS: Final = (
    "SELECT entry_id, key_type, key_value FROM entry_identities WHERE entry_id IN"
    " (SELECT entry_id FROM entries WHERE feed_no = $1"
    " UNION ALL SELECT entry_id FROM tombstones WHERE feed_no = $1)"
)
_SET_HASHES: Final = (
    "UPDATE entries SET item_hash = h.item_hash"
    " FROM @rows($1, item_hash text, entry_id bigint) AS h WHERE entries.entry_id = h.entry_id"
)
_COLLISIONS: Final = (
    "SELECT l.scheduled_at FROM fetches l JOIN fetches w ON w.scheduled_at = l.scheduled_at"
    " WHERE l.feed_no = $1 AND w.feed_no = $2 ORDER BY 1"
)

_STATE_COLUMNS: Final = (
    "content_hash, title, summary, content, canonical_link, published, updated, fetch_id, slice_offset,"
    " slice_length"
)
_PAIRS: Final = "@rows($1, gone bigint, kept bigint) AS p"
_STATE_LAST: Final = 2_147_483_647  # the number of the state that goes, until all are numbered anew
_ADD_STATES: Final = f"""
INSERT INTO entry_revisions (entry_id, number, replaced_at, changed, {_STATE_COLUMNS})
SELECT e.entry_id, {_STATE_LAST}, $1, p.changed, {_STATE_COLUMNS}
  FROM @rows($2, gone bigint, changed text) AS p JOIN entries e ON e.entry_id = p.gone"""
# First below zero, where no number is taken.
_JOIN_REVISIONS: Final = f"""
UPDATE entry_revisions SET entry_id = n.kept, number = -n.place
  FROM (SELECT o.entry_id, o.number, p.kept, row_number() OVER (PARTITION BY p.kept
               ORDER BY o.replaced_at, o.number = {_STATE_LAST}, o.entry_id, o.number) AS place
          FROM {_PAIRS} JOIN entry_revisions o ON o.entry_id IN (p.gone, p.kept)) AS n
 WHERE entry_revisions.entry_id = n.entry_id AND entry_revisions.number = n.number"""
_NUMBER_REVISIONS: Final = (
    "UPDATE entry_revisions SET number = -number WHERE entry_id @in($1) AND number < 0"
)
# `{kept}` and `{gone}` are entries or tombstones.
_JOIN_LINEAGE: Final = """
UPDATE {kept} AS k SET first_seen = @least(k.first_seen, g.first_seen),
       last_seen = @greatest(k.last_seen, g.last_seen), seen_count = k.seen_count + g.seen_count,
       revisions = @greatest(k.revisions, g.revisions,
                             (SELECT count(*) FROM entry_revisions r WHERE r.entry_id = k.entry_id))
  FROM @rows($1, gone bigint, kept bigint) AS p JOIN {gone} AS g ON g.entry_id = p.gone
 WHERE k.entry_id = p.kept"""
_PLACE_UNDATED: Final = (
    "UPDATE entries SET published_effective = first_seen"
    " WHERE entry_id @in($1) AND published_source = 'first_seen'"
)
_SAME_AS: Final = (
    f"UPDATE entries SET same_as = nullif(p.kept, entries.entry_id) FROM {_PAIRS}"
    " WHERE entries.same_as = p.gone"
)
_FORMER_ID: Final = (
    "INSERT INTO entry_aliases (entry_uid, entry_id) VALUES ($1, $2)"
    " ON CONFLICT (entry_uid) DO UPDATE SET entry_id = excluded.entry_id"
)


# The full text of the row that goes, where the one that stays is alive and has none.
_KEEP_FULL_TEXT: Final = (
    f"UPDATE fulltexts SET entry_id = p.kept FROM {_PAIRS} WHERE fulltexts.entry_id = p.gone"
    " AND NOT EXISTS (SELECT 1 FROM fulltexts o WHERE o.entry_id = p.kept)"
    " AND EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = p.kept)"
)


_KEEP_MEDIA: Final = (
    f"UPDATE media SET entry_id = p.kept FROM {_PAIRS} WHERE media.entry_id = p.gone"
    " AND NOT EXISTS (SELECT 1 FROM media o WHERE o.entry_id = p.kept AND o.url_key = media.url_key)"
    " AND EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = p.kept)"
)


class Side(Value):
    """One of the two feeds."""

    feed_no: int
    id: str
    feed_key: str
    tags: tuple[str, ...]
    ignored_guids: tuple[str, ...]
    ignored_links: tuple[str, ...]
    confirmations: int
    confirmed_at: int | None


_SIDE: Final = codec.RowCodec(
    Side,
    "feed_no id feed_key tags ignored_guids ignored_links confirmations confirmed_at",
    table="feeds",
)
_SIDES: Final = (
    f"SELECT {_SIDE.names()} FROM feeds WHERE id IN ($1, $2) ORDER BY feed_no @lock(FOR UPDATE)"
)
# What is stored of an entry, as far as it identifies it.
_ENTRY: Final = codec.RowCodec(
    Entry, "guid link canonical_link title summary published", table="entries"
)


def merge_feeds(
    loser_id: str,
    winner_id: str,
    *,
    at: datetime,
    events: Sequence[NewEvent] = (),
    lane: Lane | None = None,
) -> Query[MergeCounts | None]:
    """Give everything of the loser to the winner; None when one of them is not there.

    The counts join the data of every `feed.merged` event. Refreshes under way that have read
    entries of either feed under another lane than the caller's are fenced off: what they decided
    does not fit any more.
    """
    yield from sql.lock(_LOCK_LANES, loser_id, winner_id)
    found = yield from sql.each_of(_SIDE.value, _SIDES, loser_id, winner_id)
    sides = {side.id: side for side in found}
    loser, winner = sides.get(loser_id), sides.get(winner_id)
    if loser is None or winner is None or loser_id == winner_id:
        return None
    yield from sql.write(_FENCE, loser.feed_no, winner.feed_no, -1 if lane is None else lane.id)
    confirmed = (loser.confirmations, loser.confirmed_at or 0)
    yield from sql.write(_LEAVE_DOCUMENT, *confirmed, loser.feed_no)
    folded, moved = yield from _merge_entries(loser, winner, at)
    counts = MergeCounts(
        entries=moved,
        folded=folded,
        fetches=(yield from _move_fetches(loser.feed_no, winner.feed_no)),
        aliases=(yield from _move_rest(loser, winner)),
    )
    yield from _merge_figures(loser.feed_no, winner.feed_no)
    yield from merge_times(winner.feed_no, loser.feed_no)
    yield from sql.write("DELETE FROM feeds WHERE feed_no = $1", loser.feed_no)
    counted = [_counted(event, counts) for event in events]
    yield from sql.append_events(counted, f"feed/{loser_id}/merged/{winner_id}")
    return counts


def _merge_entries(loser: Side, winner: Side, at: datetime) -> Query[tuple[int, int]]:
    """Fold what both have and hand over the rest; how many of each."""
    theirs = yield from _known(loser.feed_no)
    ours = yield from _known(winner.feed_no)
    pairs = pair_twins(
        ours,
        theirs,
        ignored_guids={*loser.ignored_guids, *winner.ignored_guids},
        ignored_links={*loser.ignored_links, *winner.ignored_links},
    )
    by_id = {one.entry_id: place_of(one) for one in (*theirs, *ours)}
    found = yield from sql.rows(
        f"SELECT entry_id, {_ENTRY.names()} FROM entries WHERE feed_no = $1", loser.feed_no
    )
    entries = {one[0]: _ENTRY.value(one[1:]) for one in found}
    for table in ("entries", "tombstones"):
        yield from sql.write(
            f"UPDATE {table} SET feed_no = $1 WHERE feed_no = $2", winner.feed_no, loser.feed_no
        )
    folds = [gone_and_kept(by_id[given], by_id[kept]) for given, kept in pairs.items()]
    yield from fold(folds, at)
    homes = {one.entry_id: one.entry_id for one in theirs}
    homes |= {gone.entry_id: kept.entry_id for gone, kept in folds if gone.entry_id in homes}
    yield from _rename(theirs, homes, entries, loser, winner)
    return len(pairs), len(theirs) - len(pairs)


def _known(feed_no: int) -> Query[tuple[KnownEntry, ...]]:
    """All that was ever known of a feed's entries: living, removed and expired ones."""
    found = yield from sql.rows(_KNOWN, feed_no)
    keys: dict[int, list[tuple[str, str]]] = {one[0]: [] for one in found}
    for entry_id, kind, value in (yield from sql.rows(_KEYS, feed_no)):
        keys[entry_id].append((kind, value))
    return tuple(entry_codec.known_of(one, keys[one[0]]) for one in found)


def _rename(
    known: Sequence[KnownEntry],
    homes: dict[int, int],
    entries: dict[int, Entry],
    loser: Side,
    winner: Side,
) -> Query[None]:
    """Register every row of the loser under the winner's name; a key that is taken stays there."""
    keys: list[tuple[str, str, int]] = []
    hashes: list[tuple[str, int]] = []
    for one in known:
        entry, home = entries.get(one.entry_id), homes[one.entry_id]
        named = adopted_keys(
            one, entry, old_key=loser.feed_key, feed_key=winner.feed_key, feed_id=winner.id
        )
        keys += [(key.type, key.value, home) for key in named]
        if entry is not None and home == one.entry_id:
            hashes.append((item_hash(entry, one.guid, winner.feed_key), home))
    keys = yield from sql.storable(keys)
    # In one order: another transaction that registers these keys waits, and never in a circle.
    yield from sql.write_many(
        "@add_key", sorted(keys, key=lambda key: (codec.digest(key[1]), key[0]))
    )
    yield from sql.write(_SET_HASHES, codec.json_text(hashes))


def _move_fetches(loser: int, winner: int) -> Query[int]:
    """Hand over the fetches; where both were asked at one instant, the loser's is a moment later."""
    collisions = yield from sql.column(_COLLISIONS, loser, winner)
    if collisions:
        taken = yield from sql.column(
            "SELECT scheduled_at FROM fetches WHERE feed_no IN ($1, $2)", loser, winner
        )
        later = _moments_after(collisions, set(taken))
        yield from sql.write_many(
            "UPDATE fetches SET scheduled_at = $3 WHERE feed_no = $1 AND scheduled_at = $2",
            [(loser, was, at) for was, at in zip(collisions, later, strict=True)],
        )
    moved = yield from sql.write(
        "UPDATE fetches SET feed_no = $1 WHERE feed_no = $2", winner, loser
    )
    yield from sql.write("UPDATE header_blocks SET feed_no = $1 WHERE feed_no = $2", winner, loser)
    return moved


def _move_rest(loser: Side, winner: Side) -> Query[int]:
    """Addresses, history, tags and imports; how many addresses. The winner keeps its title."""
    ends = (winner.feed_no, loser.feed_no)
    yield from sql.write(
        "UPDATE feeds SET title = coalesce(title, (SELECT title FROM feeds WHERE feed_no = $2))"
        " WHERE feed_no = $1",
        *ends,
    )
    yield from retag(winner.feed_no, tuple(dict.fromkeys((*winner.tags, *loser.tags))))
    yield from sql.write("UPDATE feed_moves SET feed_no = $1 WHERE feed_no = $2", *ends)
    # What is held stays held; what is held in both feeds is held once.
    yield from sql.write(
        "UPDATE held_entries SET feed_no = $1 WHERE feed_no = $2 AND NOT EXISTS (SELECT 1"
        " FROM held_entries w WHERE w.feed_no = $1 AND w.entry_uid = held_entries.entry_uid)",
        *ends,
    )
    yield from leave_feed(loser.id)
    # Imports, webhooks, screens and jobs of the loser continue with the winner.
    for table in ("import_outlines", "webhooks", "standing_screens", "jobs"):
        yield from sql.write(
            f"UPDATE {table} SET feed_id = $1 WHERE feed_id = $2", winner.id, loser.id
        )
    return (yield from sql.write("UPDATE feed_aliases SET feed_no = $1 WHERE feed_no = $2", *ends))


def _merge_figures(loser: int, winner: int) -> Query[None]:
    """Give the figures of one feed to another; both are locked.

    What is of the winner's present day joins it there, so that a feed has one row for each day.
    """
    kept = yield from sql.rows(
        f"SELECT day, {', '.join(figures.COLUMNS)} FROM feed_figures WHERE feed_no = $1", loser
    )
    today = yield from sql.value("SELECT today FROM feed_sched WHERE feed_no = $1", winner)
    places = {name: f"${number}" for number, name in enumerate(figures.COLUMNS, start=2)}
    yield from sql.write_many(
        f"UPDATE feed_sched SET {figures.assignments(places.__getitem__, greatest='@greatest')}"
        " WHERE feed_no = $1",
        [(winner, *values) for day, *values in kept if day == today],
    )
    more = figures.assignments(
        lambda name: f"excluded.{name}", greatest="@greatest", own="", row="feed_days."
    )
    yield from sql.write_many(
        f"{sql.insert_into('feed_days', ('feed_no', 'day', *figures.COLUMNS))}"
        f" ON CONFLICT (day, feed_no) DO UPDATE SET {more}",
        [(winner, *one) for one in kept if one[0] != today],
    )
    failed = yield from sql.rows(
        "SELECT day, outcome, status, polls FROM feed_failures WHERE feed_no = $1", loser
    )
    yield from sql.write_many(
        figures.count_failures(f"VALUES ({sql.slots(5)})"),
        [(day, winner, *rest) for day, *rest in failed],
    )
    yield from sql.write("DELETE FROM feed_failures WHERE feed_no = $1", loser)
    yield from sql.write("DELETE FROM feed_days WHERE feed_no = $1", loser)


def _moments_after(instants: Sequence[int], taken: set[int]) -> list[int]:
    """For each instant the first one after it that is free."""
    found: list[int] = []
    for instant in instants:
        at = instant
        while at in taken:
            at += 1
        taken.add(at)
        found.append(at)
    return found


def _counted(event: NewEvent, counts: MergeCounts) -> NewEvent:
    """The event; that of the merge says the counts."""
    if event.type != "feed.merged":
        return event
    return replace(event, data={**event.data, **msgspec.to_builtins(counts)})


class Place(NamedTuple):
    """Where one row of two that are the same entry stands."""

    entry_id: int
    entry_uid: str
    table: str  # entries, or tombstones for what retention left

    @property
    def is_living(self) -> bool:
        return self.table == "entries"


def place_of(known: KnownEntry) -> Place:
    """Where the row stands."""
    expired = known.content_hash is None
    return Place(known.entry_id, known.entry_uid, "tombstones" if expired else "entries")


def gone_and_kept(theirs: Place, ours: Place) -> tuple[Place, Place]:
    """Which of two rows goes and which stays: the winner's, if it is not expired."""
    return (ours, theirs) if theirs.is_living and not ours.is_living else (theirs, ours)


def fold(folds: Sequence[tuple[Place, Place]], at: datetime) -> Query[None]:
    """Merge the first row of each pair into the second."""
    if not folds:
        return
    yield from _join_revisions([one for one in folds if one[0].is_living and one[1].is_living], at)
    for kept_table in ("entries", "tombstones"):
        for gone_table in ("entries", "tombstones"):
            chosen = [
                one for one in folds if (one[1].table, one[0].table) == (kept_table, gone_table)
            ]
            if chosen:
                statement = _JOIN_LINEAGE.format(kept=kept_table, gone=gone_table)
                yield from write(statement, _pairs(chosen))
    pairs, gone = _pairs(folds), [one.entry_id for one, _ in folds]
    yield from write(_PLACE_UNDATED, [kept.entry_id for _, kept in folds])
    for table in ("entry_identities", "articles", "entry_aliases"):
        yield from write(
            f"UPDATE {table} SET entry_id = p.kept FROM {_PAIRS} WHERE {table}.entry_id = p.gone",
            pairs,
        )
    yield from write(_KEEP_FULL_TEXT, pairs)
    yield from write(KEEP_FULL_TERMS, pairs)
    yield from write(_KEEP_MEDIA, pairs)
    yield from write(_SAME_AS, pairs)
    for table in ("entries", "tombstones"):
        yield from write(f"DELETE FROM {table} WHERE entry_id @in($1)", gone)
    yield from write_many(_FORMER_ID, [(one.entry_uid, kept.entry_id) for one, kept in folds])


def _join_revisions(folds: Sequence[tuple[Place, Place]], at: datetime) -> Query[None]:
    """Both histories of each in the order of time, numbered anew.

    Where the row that goes differs from the one that stays, it becomes an earlier state too.
    """
    if not folds:
        return
    ids = [place.entry_id for one in folds for place in one]
    found = yield from rows(
        "SELECT entry_id, field_digests, content_version FROM entries WHERE entry_id @in($1)", ids
    )
    stored = {one[0]: one[1:] for one in found}
    changed = [
        (gone.entry_id, json_text(fields))
        for gone, kept in folds
        if (fields := _differences(stored[gone.entry_id], stored[kept.entry_id]))
    ]
    yield from write(_ADD_STATES, at, json_text(changed))
    yield from write(_JOIN_REVISIONS, _pairs(folds))
    yield from write(_NUMBER_REVISIONS, [kept.entry_id for _, kept in folds])


def _differences(gone: Row, kept: Row) -> tuple[str, ...]:
    """The fields in which two rows of (field_digests, content_version) differ; none when they were
    hashed by different recipes.
    """
    (theirs, by), (ours, other) = gone, kept
    if by != other:
        return ()
    before, now = digests_of(theirs), dict(digests_of(ours))
    return tuple(name for name, digest in before if now.get(name) != digest)


def _pairs(folds: Iterable[tuple[Place, Place]]) -> str:
    """The rows that go, and for each the one that stays, for `@rows`."""
    return json_text([(gone.entry_id, kept.entry_id) for gone, kept in folds])
