"""Detects a re-key: a publisher that gave most entries new guids at once (D9).

A new engine, a new domain, a plug-in that changed its mind: every guid is new, while links and
titles are as before. Read item by item this floods every reader with old news.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from feedmill.config import IdentifyConfig
from feedmill.identify.keys import address_tail
from feedmill.model.identity import FeedIdentity, Identified, KnownEntry, Rekeyed, Remap

# The title, and the link or what follows its host.
_Likeness = tuple[str, str]


def pair_by_link_and_title(
    seen: Mapping[int, Identified], rows: Sequence[KnownEntry]
) -> dict[int, KnownEntry]:
    """Pairs of item and row with one title and one link; a likeness that is not unique makes no pair.

    First with the whole link, then with the link without its host, for sites that moved.
    """
    pairs = pair_unique(seen, rows, whole_link)
    taken = {row.entry_id for row in pairs.values()}
    loose = {position: item for position, item in seen.items() if position not in pairs}
    free = [row for row in rows if row.entry_id not in taken]
    return pairs | pair_unique(loose, free, address_tail)


def pair_unique(
    seen: Mapping[int, Identified],
    rows: Sequence[KnownEntry],
    address: Callable[[str], str | None],
) -> dict[int, KnownEntry]:
    """Pairs of item and row whose title and address agree, where that is said of one of each only."""
    items: defaultdict[_Likeness, list[int]] = defaultdict(list)
    for position, item in seen.items():
        likeness = _likeness(item.title_hash, item.link, address)
        if likeness is not None:
            items[likeness].append(position)
    owners: defaultdict[_Likeness, list[KnownEntry]] = defaultdict(list)
    for row in rows:
        likeness = _likeness(row.title_hash, row.canonical_link, address)
        if likeness is not None:
            owners[likeness].append(row)
    return {
        positions[0]: owners[likeness][0]
        for likeness, positions in items.items()
        if len(positions) == 1 and len(owners.get(likeness, ())) == 1
    }


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
    tail = address_tail(item.link or "")
    return tail is not None and tail == address_tail(row.canonical_link or "")


def _likeness(
    title: str | None, link: str | None, address: Callable[[str], str | None]
) -> _Likeness | None:
    if title is None or link is None:
        return None
    where = address(link)
    return None if where is None else (title, where)
