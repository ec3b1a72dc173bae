"""Matches the items of a document with known rows, under the guards of D8.

Matching goes from the strongest evidence to the weakest, each step over the whole document, and
a row is given away once. So two items of one document never become one entry, and the order of
the document changes nothing.

Detects a re-key: a publisher that gave most entries new guids at once (D9).

A new engine, a new domain, a plug-in that changed its mind: every guid is new, while titles and
links, or titles and dates, are as before. Read item by item this floods every reader with old news.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from feedmill.config import IdentifyConfig
from feedmill.identify.document_profile import DocumentProfile, find_newer_versions, find_repeats
from feedmill.identify.guards import Guards, MatchStep
from feedmill.identify.hashes import as_utc
from feedmill.identify.keys import address_tail
from feedmill.model.base import Value
from feedmill.model.identity import (
    FeedIdentity,
    Identified,
    IdentityKey,
    KnownEntry,
    MatchedBy,
    Rekeyed,
    Remap,
    UnchangedEntry,
)

# The title, and the link, what follows its host, or the date.
_Likeness = tuple[str, str | datetime]
_Alike = Callable[[Identified | KnownEntry], _Likeness | None]


class Match(Value):
    row: KnownEntry
    by: MatchedBy


class Matching(Value):
    """Where each item of the document went; the numbers are positions in it."""

    matches: dict[int, Match]
    repeats: dict[int, int]  # of another item
    repeats_known: dict[int, KnownEntry]  # of a row that was touched by its slice
    renamed: tuple[int, ...]  # the new guids of a mass re-key, or nothing
    is_renumbered: bool  # the guids only number the items of each document
    conflicts: dict[int, tuple[tuple[IdentityKey, int], ...]]
    owners: dict[IdentityKey, KnownEntry]


def match(
    known: Iterable[KnownEntry],
    seen: Sequence[Identified],
    feed: FeedIdentity,
    profile: DocumentProfile,
    config: IdentifyConfig,
    touched: Sequence[UnchangedEntry] = (),
) -> Matching:
    """The row of each item, or none; what it repeats; and where its keys disagree."""
    known = tuple(known)
    if _are_all_new(seen, (*known, *[one.known for one in touched])):
        return Matching(
            matches={},
            repeats=find_repeats(seen),
            repeats_known={},
            renamed=(),
            is_renumbered=False,
            conflicts={},
            owners={},
        )
    return match_step_by_step(known, seen, feed, profile, config, touched)


def match_step_by_step(
    known: Iterable[KnownEntry],
    seen: Sequence[Identified],
    feed: FeedIdentity,
    profile: DocumentProfile,
    config: IdentifyConfig,
    touched: Sequence[UnchangedEntry] = (),
) -> Matching:
    """The same for items of which some may be known."""
    matcher = _Matcher(known, seen, feed, profile, config, touched)
    matcher.match_exactly()
    matcher.set_versions_aside()
    is_renumbered = matcher.is_renumbered()
    for step in matcher.guards.strong_steps():
        matcher.match_keys(step)
    matcher.match_rekeyed()
    for step in matcher.guards.weak_steps():
        matcher.match_keys(step)
    matcher.match_titles_of_shared_links()
    return Matching(
        matches=matcher.matches,
        repeats=matcher.repeats,
        repeats_known=matcher.repeats_known,
        renamed=matcher.renamed,
        is_renumbered=is_renumbered,
        conflicts=matcher.conflicts(),
        owners=matcher.owners,
    )


def stable_order(item: Identified) -> tuple[str, ...]:
    """An order of items that does not depend on where they stand."""
    return (item.guid or "", item.link or "", item.item_hash, item.content_hash)


def _are_all_new(seen: Sequence[Identified], rows: Sequence[KnownEntry]) -> bool:
    """Whether no item has a key, the guid, the title or the hash of a row: no step matches without one."""
    guids = {row.guid for row in rows} - {None}
    titles = {row.title_hash for row in rows} - {None}
    hashes = {row.item_hash for row in rows}
    keys = {key for row in rows for key in row.keys}
    return (
        guids.isdisjoint([item.guid for item in seen])
        and titles.isdisjoint([item.title_hash for item in seen])
        and hashes.isdisjoint([item.item_hash for item in seen])
        and keys.isdisjoint([key for item in seen for key in (*item.keys, *item.spare_keys)])
    )


class _Matcher:
    """The state of one matching: who is still open, and which rows are given away."""

    def __init__(
        self,
        known: Iterable[KnownEntry],
        seen: Sequence[Identified],
        feed: FeedIdentity,
        profile: DocumentProfile,
        config: IdentifyConfig,
        touched: Sequence[UnchangedEntry],
    ) -> None:
        self.seen, self.config, self.touched = seen, config, touched
        self.guards = Guards(seen, touched, feed, profile, config)
        # A row that was asked for by its keys has them; one that was only touched may not.
        rows = {row.entry_id: row for row in (*(t.known for t in touched), *known)}
        # Highest id first, so that in every index the oldest row has the last word.
        self.rows = [rows[entry_id] for entry_id in sorted(rows, reverse=True)]
        self.owners = {key: row for row in self.rows for key in row.keys}
        self.claimed = {t.known.entry_id for t in touched}
        self.matches: dict[int, Match] = {}
        self.ours = self.guards.ours(self.rows)
        guids = self.guards.guids_of(self.ours)
        self.pairs = {
            (guid, row.canonical_link): row for guid, row in zip(guids, self.ours, strict=True)
        }
        self.repeats = find_repeats(seen, self.pairs)
        self.repeats_known: dict[int, KnownEntry] = {}
        self.renamed: tuple[int, ...] = ()

    def match_exactly(self) -> None:
        """One guid with one link, or the same item word for word: stronger than any key alone."""
        items = {row.item_hash: row for row in self.ours}
        pairs = {pair: row for pair, row in self.pairs.items() if pair[0] is not None}
        self.settle("guid", lambda item: pairs.get((item.guid, item.link)))
        self.settle("item", lambda item: items.get(item.item_hash))
        # The newest version of an entry may have another link than the version that is known.
        for position in sorted(self.repeats, key=lambda at: stable_order(self.seen[at])):
            row = pairs.get((self.seen[position].guid, self.seen[position].link))
            kept = self.repeats[position]
            if row is not None and row.entry_id not in self.claimed and kept not in self.matches:
                self.claim(kept, row, "guid")

    def set_versions_aside(self) -> None:
        """Items that repeat a touched row: the younger version is the entry, the older is not."""
        versions = find_newer_versions(self.seen, self.touched)
        overtaken: set[int] = set()
        loose = [at for at in self.open() if at in versions]
        for position in sorted(loose, key=lambda at: stable_order(self.seen[at])):
            row, wins = versions[position]
            if wins and row.entry_id not in overtaken:
                overtaken.add(row.entry_id)
                self.matches[position] = Match(row=row, by="guid")
            else:
                self.repeats_known[position] = row

    def is_renumbered(self) -> bool:
        """Whether most guids of the document stand on other entries than before, as links and titles together say.

        Such a guid is a place in the document.
        """
        loose = {at: self.seen[at] for at in self.open() if self.seen[at].guid is not None}
        if len(loose) < self.config.rekey_min_items:
            return False
        free = [row for row in self.ours if row.entry_id not in self.claimed]
        moved = [
            row
            for at, row in pair_unique(loose, free, whole_link).items()
            if (owner := self.owners.get(loose[at].keys[0])) is not None
            and owner.entry_id != row.entry_id
            and owner.title_hash != row.title_hash
        ]
        return is_mass_rekey(len(moved), len(self.guards.standing - {None}), self.config)

    def match_keys(self, step: MatchStep) -> None:
        """The rows that one kind of key leads to, as far as its guard allows."""
        self.settle(step.by, lambda item: next((row for _, row in self.hits(item, step)), None))

    def match_rekeyed(self) -> None:
        """All the new ids of a mass re-key at once (D9), or none of them.

        The id of an item without a guid is its link.
        """
        known: set[str | None] = {None, *(row.canonical_link for row in self.ours)}
        standing: set[str | None] = {None, *(item.link for item in self.seen)}
        loose = {
            at: item
            for at in self.open()
            if (item := self.seen[at]).guid is not None or item.link not in known
        }
        free = [
            row
            for row in self.free_rows()
            if self.guards.guid_of(row) is not None or row.canonical_link not in standing
        ]
        pairs = pair_by_likeness(loose, free)
        flipped = [
            at
            for at, found in self.matches.items()
            if found.by == "alias" and is_renamed(self.seen[at], found.row)
        ]
        ids = len(self.seen) - len(self.repeats) + len(self.touched)
        if is_mass_rekey(len(pairs) + len(flipped), ids, self.config):
            self.renamed = tuple(sorted([*pairs, *flipped]))
            for position, row in pairs.items():
                self.claim(position, row, "rekey")

    def match_titles_of_shared_links(self) -> None:
        """Items without a guid whose link used to be theirs alone, by link and title together."""
        loose = {at: self.seen[at] for at in self.open() if self.seen[at].guid is None}
        for position, row in pair_unique(loose, self.free_rows(), whole_link).items():
            self.claim(position, row, "canonical_url")

    def conflicts(self) -> dict[int, tuple[tuple[IdentityKey, int], ...]]:
        """For each matched item, its other keys that lead to rows without a match."""
        steps = (*self.guards.strong_steps(), *self.guards.weak_steps())
        found: dict[int, tuple[tuple[IdentityKey, int], ...]] = {}
        for position in self.matches:
            losers: dict[int, IdentityKey] = {}
            for step in steps:
                for key, row in self.hits(self.seen[position], step):
                    if not _are_siblings(row, self.matches[position].row):
                        losers.setdefault(row.entry_id, key)
            if losers:
                found[position] = tuple((key, entry_id) for entry_id, key in losers.items())
        return found

    def settle(self, by: MatchedBy, wish: Callable[[Identified], KnownEntry | None]) -> None:
        """Give each wished-for row to the item that resembles it most."""
        wishes: defaultdict[int, list[int]] = defaultdict(list)
        rows: dict[int, KnownEntry] = {}
        for position in self.open():
            row = wish(self.seen[position])
            if row is not None and row.entry_id not in self.claimed:
                rows[row.entry_id] = row
                wishes[row.entry_id].append(position)
        for entry_id, positions in wishes.items():
            row = rows[entry_id]
            best = min(positions, key=lambda at: _distance(self.seen[at], row))
            self.claim(best, row, by)

    def claim(self, position: int, row: KnownEntry, by: MatchedBy) -> None:
        self.claimed.add(row.entry_id)
        self.matches[position] = Match(row=row, by=by)

    def open(self) -> list[int]:
        matches, repeats, known = self.matches, self.repeats, self.repeats_known
        return [
            at
            for at in range(len(self.seen))
            if at not in matches and at not in repeats and at not in known
        ]

    def free_rows(self) -> list[KnownEntry]:
        """Rows of this feed without a match, whose guid stands nowhere in the document."""
        return [
            row
            for row in self.ours
            if row.entry_id not in self.claimed
            and (self.guards.guid_of(row) is None or row.guid not in self.guards.standing)
        ]

    def hits(self, item: Identified, step: MatchStep) -> Iterable[tuple[IdentityKey, KnownEntry]]:
        for key in step.keys(item):
            row = self.owners.get(key)
            if row is not None and row.entry_id not in self.claimed and step.guard(item, row):
                yield key, row


def _are_siblings(one: KnownEntry, other: KnownEntry) -> bool:
    """Two rows that are known to share a guid, or a link without one: no conflict between them."""
    if one.guid is None:
        return other.guid is None and one.canonical_link == other.canonical_link
    return one.guid == other.guid


def _distance(item: Identified, row: KnownEntry) -> tuple[bool, bool, bool, tuple[str, ...]]:
    return (
        item.title_hash != row.title_hash,
        item.link != row.canonical_link,
        item.content_hash != row.content_hash,
        stable_order(item),
    )


def pair_by_likeness(
    seen: Mapping[int, Identified], rows: Sequence[KnownEntry]
) -> dict[int, KnownEntry]:
    """Pairs of item and row with one title and one link or date; what is not unique makes no pair.

    First with the whole link, then with the link without its host, for sites that moved, then with
    the instant of publication, for sites whose links are all new.
    """
    pairs: dict[int, KnownEntry] = {}
    for alike in (_with_link(whole_link), _with_link(_tail), _with_date):
        taken = {row.entry_id for row in pairs.values()}
        loose = {position: item for position, item in seen.items() if position not in pairs}
        pairs |= _pair(loose, [row for row in rows if row.entry_id not in taken], alike)
    return pairs


def pair_unique(
    seen: Mapping[int, Identified],
    rows: Sequence[KnownEntry],
    address: Callable[[str], str | None],
) -> dict[int, KnownEntry]:
    """Pairs of item and row whose title and address agree, where that is said of one of each only."""
    return _pair(seen, rows, _with_link(address))


def whole_link(link: str) -> str:
    """The address as it is."""
    return link


def is_mass_rekey(renamed: int, guids: int, config: IdentifyConfig) -> bool:
    """Whether so many of a document's guids are new names of known entries that it is a re-key."""
    return renamed >= max(config.rekey_min_items, config.rekey_ratio * guids)


def rekey_change(pairs: Iterable[tuple[Identified, KnownEntry]], feed: FeedIdentity) -> Rekeyed:
    """The one change that stands for all the new guids."""
    return Rekeyed(
        feed_id=feed.feed_id,
        remaps=tuple(Remap(entry_id=row.entry_id, new=item.keys[0]) for item, row in pairs),
    )


def is_renamed(item: Identified, row: KnownEntry) -> bool:
    """Whether item and row carry different guids under one title and one address."""
    if item.guid is None or row.guid is None or item.guid == row.guid:
        return False
    if item.title_hash is None or item.title_hash != row.title_hash:
        return False
    if item.link == row.canonical_link:
        return True
    tail = _tail(item.link or "")
    return tail is not None and tail == _tail(row.canonical_link or "")


def _pair(
    seen: Mapping[int, Identified], rows: Sequence[KnownEntry], alike: _Alike
) -> dict[int, KnownEntry]:
    items: defaultdict[_Likeness, list[int]] = defaultdict(list)
    for position, item in seen.items():
        likeness = alike(item)
        if likeness is not None:
            items[likeness].append(position)
    owners: defaultdict[_Likeness, list[KnownEntry]] = defaultdict(list)
    for row in rows:
        likeness = alike(row)
        if likeness is not None:
            owners[likeness].append(row)
    return {
        positions[0]: owners[likeness][0]
        for likeness, positions in items.items()
        if len(positions) == 1 and len(owners.get(likeness, ())) == 1
    }


def _with_link(address: Callable[[str], str | None]) -> _Alike:
    def alike(one: Identified | KnownEntry) -> _Likeness | None:
        link = one.canonical_link if isinstance(one, KnownEntry) else one.link
        if one.title_hash is None or link is None:
            return None
        where = address(link)
        return None if where is None else (one.title_hash, where)

    return alike


def _with_date(one: Identified | KnownEntry) -> _Likeness | None:
    published = one.published if isinstance(one, KnownEntry) else one.entry.published
    if one.title_hash is None or published is None:
        return None
    return one.title_hash, as_utc(published)


def _tail(url: str) -> str | None:
    """What follows the host, without the slash at its end."""
    return (address_tail(url) or "").rstrip("/") or None
