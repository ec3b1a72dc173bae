"""Compares a document with the known rows: known x seen -> Added | Revised | Touched | Skipped | Rekeyed | Conflict.

Assigns keys and public ids to the items of a document: none that another row holds.

A key belongs to one row for ever (entry_identities is unique), so a key that is taken is left
where it is, and the item registers what is free. Who goes first does not depend on the order of
the document.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from feedmill.config import IdentifyConfig
from feedmill.identify.document_profile import DocumentProfile, profile_document
from feedmill.identify.hashes import recipe_of, text_hash
from feedmill.identify.keys import item_key, scoped_url_key, without_guids
from feedmill.identify.match import Match, Matching, match, rekey_change, stable_order
from feedmill.model.identity import (
    Added,
    ArticleFate,
    Change,
    Changes,
    ChangeSummary,
    Conflict,
    FeedIdentity,
    Identified,
    IdentityKey,
    KnownEntry,
    Rekeyed,
    Revised,
    Skipped,
    UnchangedEntry,
)

MAX_REMEMBERED = 64  # ignored guids and links of one feed; a document adds one or two at most

_TEXT = frozenset({"title", "summary", "content", "unknown"})


def diff(
    known: Iterable[KnownEntry],
    seen: Sequence[Identified],
    feed: FeedIdentity,
    config: IdentifyConfig,
    *,
    touched: Sequence[UnchangedEntry] = (),
    articles: Collection[str] = (),
    profile: DocumentProfile | None = None,
) -> Changes:
    """Every change that a document makes, in document order, a re-key first.

    `known` are the rows that hold any of `keys_of(seen)`; giving the rows of the feed's last
    document as well lets a re-key be seen whose links are shared. `touched` is what `touch`
    found, `articles` are the hashes of `articles_of(seen)` that the store has, `profile` is that of
    the document where it is at hand.
    """
    profile = profile or profile_document([item.entry for item in seen], feed, config, touched)
    matching = match(known, seen, feed, profile, config, touched)
    if matching.is_renumbered:
        bare = without_guids(seen, feed, config, touched)
        compared = diff(known, bare, feed, config, touched=touched, articles=articles)
        return replace(compared, is_renumbered=True)
    found = _item_changes(seen, matching, feed, articles)
    overtaken = {hit.row.entry_id for hit in matching.matches.values()}
    kept = [t for t in touched if t.known.entry_id not in overtaken]
    changes = (*_rekey(seen, matching, feed), *_in_document_order(found, kept))
    return Changes(
        changes=changes,
        summary=_summary(changes, config),
        ignored_guids=_remember(profile.ignored_guids, feed.ignored_guids),
        ignored_links=_remember(profile.ignored_links, feed.ignored_links),
    )


def _item_changes(
    seen: Sequence[Identified], matching: Matching, feed: FeedIdentity, articles: Collection[str]
) -> list[Change]:
    keys = new_keys(seen, matching, feed)
    seen_articles, renamed = _Articles(articles), frozenset(matching.renamed)
    changes: list[Change] = []
    for position, item in enumerate(seen):
        hit = matching.matches.get(position)
        if hit is not None:
            changes.append(_known(item, hit, keys[position], seen_articles, position in renamed))
        elif position in keys:
            twin = same_elsewhere(item, matching.owners, feed)
            changes.append(
                Added(
                    seen=item,
                    entry_uid=new_uid(item, keys[position]),
                    new_keys=keys[position],
                    article=seen_articles.fate(item),
                    same_as=None if twin is None else twin.entry_id,
                )
            )
        else:
            changes.append(_skipped(position, seen, matching))
        if hit is not None and position in matching.conflicts:
            losers = matching.conflicts[position]
            changes.append(Conflict(seen=item, winner=hit.row, losers=losers))
    return changes


class _Articles:
    """The articles there are, with those of this document as it is read."""

    def __init__(self, articles: Collection[str]) -> None:
        self.articles = set(articles)

    def fate(self, item: Identified, row: KnownEntry | None = None) -> ArticleFate:
        digest = item.article_hash
        if digest is None:
            return "none"
        if row is not None and row.article_hash == digest:
            return "same"
        if digest in self.articles:
            return "duplicate"
        self.articles.add(digest)
        return "new"


def _known(
    item: Identified,
    hit: Match,
    keys: tuple[IdentityKey, ...],
    seen_articles: _Articles,
    renamed: bool,
) -> Revised | UnchangedEntry:
    row = hit.row
    changed = _changed(item, row)
    restored = row.removed or row.content_hash is None
    # Hashes of another recipe or reader say nothing about the publisher: rewrite, announce nothing.
    same_recipe = recipe_of(row.content_version)[0] == recipe_of(item.content_version)[0]
    # A re-key often moves the site: the link is part of what one feed.rekeyed event announces.
    quiet = not same_recipe or (renamed and set(changed) <= {"link"})
    if restored or (changed and not quiet):
        return Revised(
            known=row,
            seen=item,
            matched_by=hit.by,
            changed=changed,
            new_keys=keys,
            article=seen_articles.fate(item, row),
            restored=restored,
        )
    # What a volatile field holds now is kept too: a signed address of an enclosure expires.
    refresh = (
        item.content_hash != row.content_hash
        or row.content_version != item.content_version
        or bool(recipe_of(item.content_version)[1])
    )
    return UnchangedEntry(
        known=row,
        matched_by=hit.by,
        seen=item,
        slice=item.entry.slice,
        new_keys=keys,
        refresh=refresh,
    )


def _changed(item: Identified, row: KnownEntry) -> tuple[str, ...]:
    if item.content_hash == row.content_hash:
        return ()
    if not row.field_digests:
        return ("unknown",)
    before = dict(row.field_digests)
    found = tuple(name for name, digest in item.field_digests if before.get(name) != digest)
    if row.content_version == item.content_version:
        return found
    # A field of which less or more counts now than then cannot be compared.
    was, now = recipe_of(row.content_version)[1], recipe_of(item.content_version)[1]
    return tuple(name for name in found if was.get(name) == now.get(name))


def _skipped(position: int, seen: Sequence[Identified], matching: Matching) -> Skipped:
    kept = matching.repeats.get(position)
    if kept is not None:
        return Skipped(seen=seen[position], repeats=seen[kept])
    former = matching.owners.get(item_key(seen[position].item_hash))
    row = matching.repeats_known.get(position, former)
    return Skipped(seen=seen[position], repeats_known=row)


def _rekey(
    seen: Sequence[Identified], matching: Matching, feed: FeedIdentity
) -> tuple[Rekeyed, ...]:
    if not matching.renamed:
        return ()
    pairs = [(seen[position], matching.matches[position].row) for position in matching.renamed]
    return (rekey_change(pairs, feed),)


def _in_document_order(found: list[Change], touched: Sequence[UnchangedEntry]) -> Sequence[Change]:
    return sorted([*found, *touched], key=_offset) if touched else found


def _offset(change: Change) -> int:
    if isinstance(change, UnchangedEntry):
        piece = change.slice
    else:
        assert not isinstance(change, Rekeyed)
        piece = change.seen.entry.slice
    return -1 if piece is None else piece.offset


def _summary(changes: Sequence[Change], config: IdentifyConfig) -> ChangeSummary:
    # Almost all are unchanged: only the others are looked at, and by one kind after the other.
    others = [change for change in changes if not isinstance(change, UnchangedEntry)]
    touched = len(changes) - len(others)
    revised = [change for change in others if isinstance(change, Revised)]
    rewritten = sum(not _TEXT.isdisjoint(change.changed) for change in revised)
    flood = max(
        config.history_rewritten_min_items,
        config.history_rewritten_ratio * (len(revised) + touched),
    )
    return ChangeSummary(
        added=sum(isinstance(change, Added) for change in others),
        revised=len(revised),
        touched=touched,
        skipped=sum(isinstance(change, Skipped) for change in others),
        rekeyed=sum(len(change.remaps) for change in others if isinstance(change, Rekeyed)),
        conflicts=sum(isinstance(change, Conflict) for change in others),
        articles_skipped=sum(
            change.article == "duplicate"
            for change in others
            if isinstance(change, Added | Revised)
        ),
        history_rewritten=rewritten >= flood,
    )


def _remember(found: frozenset[str], before: tuple[str, ...]) -> tuple[str, ...]:
    """The newly found first, so that the oldest are forgotten."""
    return (*sorted(found.difference(before)), *before)[:MAX_REMEMBERED]


def new_keys(
    seen: Sequence[Identified], matching: Matching, feed: FeedIdentity
) -> dict[int, tuple[IdentityKey, ...]]:
    """The keys to register for each item that is kept.

    An item without a row and without a single free key, not even that of the item itself, is
    left out: it is, word for word, what a known entry used to be.
    """
    # The key of a row of an older version is registered when the row is seen again.
    taken = {key for key, row in matching.owners.items() if not row.legacy}
    found: dict[int, tuple[IdentityKey, ...]] = {}
    for position in _in_order(seen, matching.matches):
        found[position] = _free(_wanted(seen[position], matching.owners, feed), taken)
    for position in _unmatched(seen, matching):
        item = seen[position]
        free = _free(_wanted(item, matching.owners, feed), taken)
        free = free or _free([item_key(item.item_hash)], taken)
        if free:
            found[position] = free
    return found


def new_uid(item: Identified, keys: tuple[IdentityKey, ...]) -> str:
    """The public id of a new entry: the regular one if it also holds the key that stands for it.

    Otherwise one from a key that it does hold: keys are unique for ever, and so is the id.
    """
    if any(key.type == "guid" or key.value.startswith("uid:") for key in keys):
        return item.entry_uid
    return f"hash:{text_hash(f'{keys[0].type}:{keys[0].value}')}"


def same_elsewhere(
    item: Identified, owners: Mapping[IdentityKey, KnownEntry], feed: FeedIdentity
) -> KnownEntry | None:
    """Another feed's entry with the same address, by its link or by guid and link together."""
    for key in item.keys:
        row = owners.get(key)
        if row is not None and _is_foreign(row, feed) and row.canonical_link == item.link:
            return row
    return None


def _wanted(
    item: Identified, owners: Mapping[IdentityKey, KnownEntry], feed: FeedIdentity
) -> list[IdentityKey]:
    wanted = list(item.keys)
    for key in item.keys:
        owner = owners.get(key)
        if key.type == "canonical_url" and owner is not None and _is_foreign(owner, feed):
            wanted.append(scoped_url_key(item.link or key.value, feed.feed_key))
    if item.guid is None:
        wanted.extend(key for key in item.spare_keys if key.value.startswith("uid:"))
    if item.match_confidence == "low":
        wanted.append(item_key(item.item_hash))
    return wanted


def _free(wanted: Iterable[IdentityKey], taken: set[IdentityKey]) -> tuple[IdentityKey, ...]:
    """The wanted keys that no row holds; they count as held from now on."""
    free = tuple(key for key in dict.fromkeys(wanted) if key not in taken)
    taken.update(free)
    return free


def _is_foreign(row: KnownEntry, feed: FeedIdentity) -> bool:
    return row.feed_id is not None and row.feed_id != feed.feed_id


def _unmatched(seen: Sequence[Identified], matching: Matching) -> list[int]:
    done = {*matching.matches, *matching.repeats, *matching.repeats_known}
    return _in_order(seen, (at for at in range(len(seen)) if at not in done))


def _in_order(seen: Sequence[Identified], positions: Iterable[int]) -> list[int]:
    return sorted(positions, key=lambda at: stable_order(seen[at]))
