"""Events of a refresh for the log: one per thing that happened (002 §9.1)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from feedmill.model.addresses import mask_address
from feedmill.model.base import fields_of
from feedmill.model.derived.cluster import ClusterChange
from feedmill.model.derived.fetched import FullText, MediaItem
from feedmill.model.event import EventType, NewEvent
from feedmill.model.feed import (
    Feed,
    HostPace,
    HostState,
    MergedFeed,
    Move,
    MoveProof,
    NewFeed,
    QuotaReason,
)
from feedmill.model.identity import Added, Changes, Rekeyed, Removed, Revised
from feedmill.publish.to_json import format_instant

# So many revisions in one document are one piece of news, not so many.
FLOOD: Final = 1_000
# From the last number that is known to a log that went back to that of `log.rewound`: more than
# any reader can have been told beyond it.
REWOUND_LEAP: Final = 1_000_000


def events_of_changes(
    changes: Changes,
    removed: tuple[Removed, ...],
    *,
    feed: Feed,
    fetch_id: str,
    now: datetime,
    previous_fetch_id: str | None = None,
) -> tuple[NewEvent, ...]:
    """Events in document order; touched entries are no news.

    A rewritten history is reported with the fetch that brought the last document before it, for a
    comparison. When it is a flood, that one event stands for all the single ones.
    """
    events: list[NewEvent] = []
    rewritten = changes.summary.history_rewritten
    is_flood = rewritten and changes.summary.revised > FLOOD
    for change in changes.changes:
        match change:
            case Added():
                events.append(_added(change, feed, fetch_id, now))
            case Revised() if not is_flood:
                events.append(_revised(change, feed, fetch_id, now))
            case Rekeyed():
                data = {"entries": len(change.remaps), "fetch_id": fetch_id}
                events.append(_event("feed.rekeyed", feed.id, now, data))
            case _:
                pass
    events += [_removed(one, feed, fetch_id, now) for one in removed]
    if rewritten:
        data = {
            "revised": changes.summary.revised,
            "fetch_id": fetch_id,
            "previous_fetch_id": previous_fetch_id,
            "told_one_by_one": not is_flood,
        }
        events.append(_event("history.rewritten", feed.id, now, data))
    return tuple(events)


def event_of_state(before: Feed, after: Feed, *, now: datetime) -> tuple[NewEvent, ...]:
    """One event when the feed's health or circuit changed, none otherwise (D24: nothing is silently dead)."""
    was, now_is = before.schedule.circuit, after.schedule.circuit
    if before.schedule.health == after.schedule.health and was == now_is:
        return ()
    data = {
        "before": before.schedule.health,
        "after": after.schedule.health,
        "reason": after.last_result,
        "detail": after.last_detail,
        "circuit_before": was,
        "circuit": now_is,
    }
    return (_event("feed.state", after.id, now, data),)


def event_of_quota(
    feed_id: str, reason: QuotaReason | None, *, now: datetime, **counts: int
) -> NewEvent:
    """A feed that brought more than its quotas allow: what waits, or what was deleted early (D40)."""
    return _event("feed.quota", feed_id, now, {"reason": reason, **counts})


def event_of_host(
    host: str, before: HostState, after: HostState, pace: HostPace, *, now: datetime
) -> NewEvent:
    """A host that began to pause or to fail, or works again; of no feed."""
    until = pace.next_ok_at if after != "well" else None
    data = {
        "host": host,
        "before": before,
        "after": after,
        "reason": pace.blocked_reason or pace.failing_with,
        "since": format_instant(pace.troubled_since),
        "until": format_instant(until),
        "canary": pace.canary if after == "incident" else None,
    }
    return _event("host.state", "", now, data)


def events_of_clusters(changes: Sequence[ClusterChange], now: datetime) -> tuple[NewEvent, ...]:
    """An event for each entry that joined a cluster, moved to another one or left one."""
    return tuple(
        _event("entry.clustered", one.feed_id, now, msgspec.to_builtins(one), uid=one.entry_uid)
        for one in changes
    )


def event_of_full_text(found: FullText) -> NewEvent:
    """A full text that was extracted, or could not be."""
    is_there = found.state == "extracted"
    names = "words language author paywalled extractor version" if is_there else "reason detail"
    data = fields_of(found, f"entry_uid url {names}")
    kind: EventType = "fulltext.extracted" if is_there else "fulltext.failed"
    return _event(kind, found.feed_id, found.extracted_at, data, uid=found.entry_uid)


def event_of_media(item: MediaItem, *, at: datetime) -> NewEvent:
    """A file that was stored, or could not be."""
    stored = item.state == "stored"
    names = "sha256 size_bytes media_type path" if stored else "reason detail"
    data = fields_of(item, f"entry_uid media_id url {names}", url=mask_address(item.url))
    kind: EventType = "media.stored" if stored else "media.failed"
    return _event(kind, item.feed_id, at, data, uid=item.entry_uid)


def event_of_new_feed(new: NewFeed) -> NewEvent:
    """A subscription that was not there before."""
    return _event("feed.added", new.id, new.created_at, _subscription(new))


def event_of_removed_feed(feed: Feed, *, now: datetime) -> NewEvent:
    """A subscription that was given up."""
    return _event("feed.removed", feed.id, now, _subscription(feed))


def event_of_move(feed: Feed, move: Move) -> NewEvent:
    """A feed that has a new address, or its old one again."""
    data = {
        "from_url": mask_address(move.from_url),
        "to_url": mask_address(move.to_url),
        "source": move.source,
        "proof": move.proof,
        "undone": move.undone_at is not None,
    }
    return _event("feed.moved", feed.id, move.undone_at or move.moved_at, data)


def event_of_held_move(feed: Feed, url: str, reason: str, *, now: datetime) -> NewEvent:
    """A move that was ripe and is not made."""
    data = {"url": mask_address(feed.url), "to_url": mask_address(url), "reason": reason}
    return _event("feed.move_held", feed.id, now, data)


def event_of_merge(loser: Feed, winner: Feed, proof: MoveProof, *, now: datetime) -> NewEvent:
    """Two subscriptions that became one; the store adds what it counted."""
    data = {
        "from": loser.id,
        "into": winner.id,
        "from_url": mask_address(loser.url),
        "into_url": mask_address(winner.url),
        "proof": proof,
    }
    return _event("feed.merged", winner.id, now, data)


def event_of_undone_merge(merged: MergedFeed, into: Feed, *, now: datetime) -> NewEvent:
    """A subscription that was merged into another and is one of its own again."""
    data = {
        "from": merged.into_id,
        "into": merged.feed_id,
        "from_url": mask_address(merged.into_url),
        "into_url": mask_address(merged.url),
        "proof": "undone",
    }
    return _event("feed.unmerged", into.id, now, data)


def event_of_rewound_log(delivered_seq: int, ended_at: int, *, now: datetime) -> NewEvent:
    """A log that had told more than it has now; readers get it wherever they are."""
    data = {"delivered_seq": delivered_seq, "log_ended_at": ended_at}
    return _event("log.rewound", "", now, data)


def is_rewound_untold(
    delivered_seq: int,
    delivered_id: str | None,
    *,
    id_there: str | None,
    last: int,
    rewound_at: int,
) -> bool:
    """True when the log does not have the told event and no later event says that it went back.

    `id_there` is the id under that number, None when there is none; `rewound_at` the number of the newest
    `log.rewound`.
    """
    is_other = delivered_seq > last or (id_there is not None and id_there != delivered_id)
    return is_other and rewound_at <= delivered_seq


def _added(change: Added, feed: Feed, fetch_id: str, now: datetime) -> NewEvent:
    entry = change.seen.entry
    data = {
        "entry_uid": change.entry_uid,
        "feed_id": feed.id,
        "published": entry.published,
        "canonical_link": entry.canonical_link,
        "raw_refs": [_raw_ref(change.seen.entry.slice, fetch_id)],
        "ingested_at": now,
        "title": entry.title,
        "duplicate_article": change.article == "duplicate",
    }
    return _event("new_entry", feed.id, now, data, uid=change.entry_uid)


def _revised(change: Revised, feed: Feed, fetch_id: str, now: datetime) -> NewEvent:
    entry = change.seen.entry
    data = {
        "entry_uid": change.known.entry_uid,
        "feed_id": feed.id,
        "changed": list(change.changed),
        "restored": change.restored,
        "canonical_link": entry.canonical_link,
        "title": entry.title,
        "raw_refs": [_raw_ref(entry.slice, fetch_id)],
    }
    return _event("entry.updated", feed.id, now, data, uid=change.known.entry_uid)


def _removed(one: Removed, feed: Feed, fetch_id: str, now: datetime) -> NewEvent:
    data = {
        "entry_uid": one.known.entry_uid,
        "feed_id": feed.id,
        "reason": one.reason,
        "comment": one.comment,
        "fetch_id": fetch_id,
    }
    return _event("entry.removed", feed.id, now, data, uid=one.known.entry_uid)


def _raw_ref(piece: object, fetch_id: str) -> dict[str, object]:
    offset, length = getattr(piece, "offset", None), getattr(piece, "length", None)
    return {"fetch_id": fetch_id, "offset": offset, "length": length}


def _subscription(feed: Feed | NewFeed) -> dict[str, object]:
    return {"url": mask_address(feed.url), "title": feed.title, "tags": list(feed.tags)}


def _event(
    kind: EventType, feed_id: str, at: datetime, data: Mapping[str, object], uid: str | None = None
) -> NewEvent:
    return NewEvent(type=kind, feed_id=feed_id, occurred_at=at, entry_uid=uid, data=dict(data))
