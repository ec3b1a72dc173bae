"""Applies the quotas of a feed to what a document brings (D40).

Entries are taken in the order of the document until a quota is spent; the others wait. They are neither stored nor
announced, the document counts as not read, and a later poll takes them if the document still has them. So one
publisher cannot fill the disk, and nothing is lost that a publisher keeps on offer.
"""
# Tested in tests/integration/engine/poll/test_quota.py

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from feedmill.config import QuotaConfig
from feedmill.model.base import Value
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed, FeedOverrides, QuotaReason, QuotaUse
from feedmill.model.identity import Added, Change, Identified, Rekeyed, Revised, UnchangedEntry
from feedmill.publish.events import event_of_quota

# With it come the parsers, and the words about a quota are asked for without them.
if TYPE_CHECKING:
    from feedmill.engine.documents.read_document import ComparedDocument

_DAY_SEC: Final = 86_400
_KNOWN: Final = (Revised, UnchangedEntry)  # a union would be made anew for every entry
_SETTINGS: Final[dict[QuotaReason, tuple[str, str]]] = {
    "entries-per-poll": ("entries_per_poll", "new entries of one document"),
    "entries-per-day": ("entries_per_day", "new entries a day"),
    "bytes-per-day": ("bytes_per_day", "bytes of new and changed entries a day"),
}


class QuotaResult(Value):
    """What is left of a document, and what the feed has used."""

    read: "ComparedDocument"
    use: QuotaUse | None
    begins_to_wait: bool = False  # worth an event


def own_quota(overrides: FeedOverrides, config: QuotaConfig) -> QuotaConfig:
    """The quotas of a feed: a multiple of the general ones when it has one of its own."""
    if overrides.quota is None:
        return config
    times = overrides.quota
    scaled = {
        name: max(round(getattr(config, name) * times), 1) if times and getattr(config, name) else 0
        for name in config.__struct_fields__
    }
    return QuotaConfig(**scaled)


def apply_quota(
    read: "ComparedDocument", feed: Feed, config: QuotaConfig, now: datetime
) -> QuotaResult:
    """The document without the entries that have to wait."""
    quota, before = own_quota(feed.overrides, config), feed.quota
    use = use_today(feed, now)
    budget = _Budget(quota, use)
    summary = read.changes.summary
    if not (summary.added or summary.revised or summary.rekeyed or read.held):
        idle = None if before is None else replace(use, waiting=0, reason=None)
        return QuotaResult(read=_with_few_keys(read, quota.identities_per_entry), use=idle)
    kept = tuple(
        change if isinstance(change, UnchangedEntry) else budget.take(change)
        for change in read.changes.changes
    )
    held = tuple(one for one in read.held if budget.takes(one.change.seen, is_new=True))
    use = budget.use()
    if use.waiting:
        changes = tuple(change for change in kept if change is not None)
        added = [change for change in changes if isinstance(change, Added)]
        summary = replace(
            summary,
            added=len(added),
            revised=sum(isinstance(change, Revised) for change in changes),
            touched=sum(isinstance(change, UnchangedEntry) for change in changes),
            articles_skipped=sum(
                change.article == "duplicate"
                for change in changes
                if isinstance(change, Added | Revised)
            ),
        )
        from feedmill.engine.documents.read_document import dates_of  # noqa: PLC0415  # see above

        read = replace(
            read,
            changes=replace(read.changes, changes=changes, summary=summary),
            new_dates=dates_of((*added, *(one.change for one in held))),
            held=held,
            newly_held=min(read.newly_held, len(held)),
            waiting=use.waiting,
        )
    is_known = before is not None and (before.day, before.reason) == (use.day, use.reason)
    return QuotaResult(
        read=_with_few_keys(read, quota.identities_per_entry),
        use=use,
        begins_to_wait=use.reason is not None and not is_known,
    )


def quota_events(feed: Feed, quota: QuotaResult | None, now: datetime) -> tuple[NewEvent, ...]:
    """One event when entries begin to wait, and one more on each day on which they do."""
    if quota is None or quota.use is None or not quota.begins_to_wait:
        return ()
    use = quota.use
    return (event_of_quota(feed.id, use.reason, now=now, waiting=use.waiting),)


def quota_in_words(feed: Feed, config: QuotaConfig) -> tuple[str, ...]:
    """What the quotas of a feed are where they are its own, and what waits because of them."""
    said: list[str] = []
    times, use = feed.overrides.quota, feed.quota
    if times is not None:
        whose = f"{times:g} times the general quotas" if times else "no quotas"
        said.append(f"Own setting: {whose}.")
    if use is not None and use.reason in _SETTINGS:
        name, what = _SETTINGS[use.reason]
        limit = getattr(own_quota(feed.overrides, config), name)
        said.append(
            f"{use.waiting:,} new or changed entries of its last document wait: quota.{name} allows"
            f" {limit:,} {what}. Later polls take them in the order of the document if it still has"
            f" them; feedmill quota {feed.id} --times N allows more."
        )
    return tuple(said)


def use_today(feed: Feed, now: datetime) -> QuotaUse:
    """What the feed has used on this day (UTC); what waits is shown until its next document."""
    use, day = feed.quota, int(now.timestamp()) // _DAY_SEC
    if use is None:
        return QuotaUse(day=day)
    return use if use.day == day else replace(use, day=day, entries=0, bytes=0)


class _Budget:
    """Counts what is taken, and the first reason why something is not."""

    def __init__(self, quota: QuotaConfig, use: QuotaUse) -> None:
        self._quota, self._day = quota, use.day
        self._entries, self._bytes, self._new = use.entries, use.bytes, 0
        self._waiting = 0
        self._reason: QuotaReason | None = None

    def take(self, change: Change) -> Change | None:
        """The change, or what is left of it; None for a new entry that has to wait."""
        if isinstance(change, Added):
            return change if self.takes(change.seen, is_new=True) else None
        if isinstance(change, Revised) and not self.takes(change.seen, is_new=False):
            # It stays in the document as it was, and its bytes are still unknown ones.
            return UnchangedEntry(known=change.known, matched_by=change.matched_by)
        return change

    def takes(self, seen: Identified, *, is_new: bool) -> bool:
        """Whether there is room for the entry; what is taken is counted."""
        size = _size(seen)
        reason = self._spent(size, is_new=is_new)
        if reason is not None:
            self._waiting, self._reason = self._waiting + 1, self._reason or reason
            return False
        self._new += is_new
        self._entries += is_new
        self._bytes += size
        return True

    def _spent(self, size: int, *, is_new: bool) -> QuotaReason | None:
        quota = self._quota
        if is_new and 0 < quota.entries_per_poll <= self._new:
            return "entries-per-poll"
        if is_new and 0 < quota.entries_per_day <= self._entries:
            return "entries-per-day"
        return "bytes-per-day" if 0 < quota.bytes_per_day < self._bytes + size else None

    def use(self) -> QuotaUse:
        """What the feed has used now."""
        return QuotaUse(
            day=self._day,
            entries=self._entries,
            bytes=self._bytes,
            waiting=self._waiting,
            reason=self._reason,
        )


def _size(seen: Identified) -> int:
    """What an entry takes in the database, about: its bytes in the document."""
    entry = seen.entry
    if entry.slice is not None:
        return entry.slice.length
    return sum(len(text) for text in (entry.title, entry.summary, entry.content) if text)


def _with_few_keys(read: "ComparedDocument", most: int) -> "ComparedDocument":
    """Without new keys of entries that have enough: a publisher may give them new ids for ever."""
    full = _entries_with_keys(read.changes.changes, most) if most else frozenset()
    if not full:
        return read
    changes = tuple(_without_keys(change, full) for change in read.changes.changes)
    return replace(read, changes=replace(read.changes, changes=changes))


def _entries_with_keys(changes: Iterable[Change], most: int) -> frozenset[int]:
    return frozenset(
        change.known.entry_id
        for change in changes
        if isinstance(change, _KNOWN) and len(change.known.keys) >= most
    )


def _without_keys(change: Change, full: frozenset[int]) -> Change:
    if isinstance(change, _KNOWN) and change.known.entry_id in full:
        return replace(change, new_keys=())
    if isinstance(change, Rekeyed):
        return replace(
            change, remaps=tuple(one for one in change.remaps if one.entry_id not in full)
        )
    return change
