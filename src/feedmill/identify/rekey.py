"""Detects a re-key: a publisher that gave most entries new guids at once (D9).

A new engine, a new domain, a plug-in that changed its mind: every guid is new, while titles and
links, or titles and dates, are as before. Read item by item this floods every reader with old news.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from feedmill.config import IdentifyConfig
from feedmill.identify.hashes import as_utc
from feedmill.identify.keys import address_tail
from feedmill.model.identity import FeedIdentity, Identified, KnownEntry, Rekeyed, Remap

# The title, and the link, what follows its host, or the date.
_Likeness = tuple[str, str | datetime]
_Alike = Callable[[Identified | KnownEntry], _Likeness | None]


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
