"""Table `push_subscriptions`: feeds at WebSub hubs, with the evidence for and against each hub."""
# Tested in tests/contracts/store/test_push.py

from datetime import datetime
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import SECRET, Column, RowCodec
from feedmill.model.feed import HubTally, PushEvidence, PushSubscription

_SUBSCRIPTION: Final = RowCodec(
    PushSubscription,
    "token feed_id hub topic secret state created_at asked_at verified_at lease_until"
    " last_error last_push_at last_body_sha256 pushes rejected by_push by_poll streak"
    " missed_at id",
    table="push_subscriptions",
    secret=SECRET,
)
_COLUMNS: Final = _SUBSCRIPTION.names("p.").replace("p.id", "p.subscription_id")
_SELECT: Final = f"SELECT {_COLUMNS} FROM push_subscriptions p"
_SUM: Final = Column(None, int)  # PostgreSQL's are decimal numbers
_TALLY: Final = RowCodec(
    HubTally,
    "hub subscriptions active pushes by_push by_poll verified_at last_push_at missed_at",
    active=_SUM,
    pushes=_SUM,
    by_push=_SUM,
    by_poll=_SUM,
)
# What the subscriber decides; the counters belong to polls and pings.
_STATE: Final = (
    "feed_id", "hub", "topic", "secret", "state", "asked_at", "verified_at", "lease_until",
    "last_error",
)  # fmt: skip
_NEW: Final = ("token", "created_at", *_STATE)
_LATEST: Final = "CASE WHEN p.state = 'active' THEN 0 WHEN p.state = 'asked' THEN 1 ELSE 2 END"


def add_push_subscription(new: PushSubscription) -> Query[PushSubscription]:
    """Store a subscription; as it is stored, with its number."""
    kept = yield from sql.storable(new)
    yield from sql.write(
        sql.insert_into("push_subscriptions", _NEW), *_SUBSCRIPTION.row(kept, *_NEW)
    )
    stored = yield from push_subscription(new.token)
    assert stored is not None
    return stored


def push_subscription(token: str) -> Query[PushSubscription | None]:
    """The subscription whose callback has that token."""
    return sql.one_of(_SUBSCRIPTION.value, f"{_SELECT} WHERE p.token = $1", token)


def push_subscriptions(feed_id: str | None = None) -> Query[tuple[PushSubscription, ...]]:
    """The subscriptions of a feed, the live one first; None: of all feeds."""
    where = "" if feed_id is None else " WHERE p.feed_id = $1"
    return sql.each_of(
        _SUBSCRIPTION.value,
        f"{_SELECT}{where} ORDER BY {_LATEST}, p.asked_at DESC, p.subscription_id",
        *(() if feed_id is None else (feed_id,)),
    )


def change_push_subscription(changed: PushSubscription) -> Query[bool]:
    """Store the state of a subscription; its counters stay as they are."""
    kept = yield from sql.storable(changed)
    return (
        yield from sql.write_one(
            f"UPDATE push_subscriptions SET {sql.assigned(_STATE)} WHERE subscription_id = ${len(_STATE) + 1}",
            *_SUBSCRIPTION.row(kept, *_STATE),
            kept.id,
        )
    )


def reject_push(subscription_id: int) -> Query[None]:
    """Count a ping that was not believed."""
    yield from sql.write(
        "UPDATE push_subscriptions SET rejected = rejected + 1 WHERE subscription_id = $1",
        subscription_id,
    )


def count_push(found: PushEvidence) -> Query[None]:
    """Add what a poll or a ping says about the hub."""
    if found.body_sha256 is not None:
        yield from sql.write(
            "UPDATE push_subscriptions SET pushes = pushes + 1, by_push = by_push + $2,"
            " streak = streak + $2, last_push_at = $3, last_body_sha256 = $4"
            " WHERE subscription_id = $1",
            found.subscription_id,
            found.by_push,
            found.at,
            found.body_sha256,
        )
    if found.by_poll:
        yield from sql.write(
            "UPDATE push_subscriptions SET by_poll = by_poll + $2, streak = 0, missed_at = $3"
            " WHERE subscription_id = $1",
            found.subscription_id,
            found.by_poll,
            found.at,
        )


def hub_tallies(hub: str | None = None) -> Query[tuple[HubTally, ...]]:
    """All subscriptions of each hub together, by its name; or of one hub."""
    where = "" if hub is None else " WHERE hub = $1"
    return sql.each_of(
        _TALLY.value,
        "SELECT hub, count(*), sum(CASE WHEN state = 'active' THEN 1 ELSE 0 END), sum(pushes),"
        " sum(by_push), sum(by_poll), min(verified_at), max(last_push_at), max(missed_at)"
        f" FROM push_subscriptions{where} GROUP BY hub ORDER BY hub",
        *(() if hub is None else (hub,)),
    )


def leave_feed(feed_id: str) -> Query[None]:
    """Let the subscriptions of a feed that is removed or merged end by themselves."""
    yield from sql.write(
        "UPDATE push_subscriptions SET feed_id = NULL,"
        " state = CASE WHEN state = 'unsubscribing' THEN state ELSE 'ended' END WHERE feed_id = $1",
        feed_id,
    )


def purge_push(before: datetime) -> Query[int]:
    """Delete subscriptions of feeds that are gone."""
    return sql.write(
        "DELETE FROM push_subscriptions WHERE feed_id IS NULL"
        " AND coalesce(asked_at, created_at) < $1",
        before,
    )
