"""Guards of D8: when a matching key may be trusted, so that no other feed's row is overwritten."""
# Tested in tests/unit/identify/

from collections.abc import Callable, Iterable, Sequence

from feedmill.config import IdentifyConfig
from feedmill.identify.document_profile import DocumentProfile
from feedmill.model.base import Value
from feedmill.model.identity import (
    FeedIdentity,
    Identified,
    IdentityKey,
    KeyType,
    KnownEntry,
    MatchedBy,
    UnchangedEntry,
)

Keys = Callable[[Identified], Iterable[IdentityKey]]
Guard = Callable[[Identified, KnownEntry], bool]


class MatchStep(Value):
    """One kind of evidence: the keys that lead to rows, and when such a hit counts."""

    by: MatchedBy
    keys: Keys
    guard: Guard


class Guards:
    """What is known of a document and its feed when a hit is judged."""

    def __init__(
        self,
        seen: Sequence[Identified],
        touched: Sequence[UnchangedEntry],
        feed: FeedIdentity,
        profile: DocumentProfile,
        config: IdentifyConfig,
    ) -> None:
        self.feed, self.config, self.ignored = feed, config, profile.ignored_guids
        self.touched_guids = self.guids_of([t.known for t in touched])
        self.standing = {item.guid for item in seen}.union(self.touched_guids)

    def strong_steps(self) -> tuple[MatchStep, ...]:
        """The publisher's id and its other spellings, strongest first."""
        return (
            MatchStep(by="guid", keys=_keys("guid"), guard=_is_scoped),
            MatchStep(by="alias", keys=_keys("alias", "address:"), guard=self.is_not_standing),
            MatchStep(by="alias", keys=_keys("alias", "path:"), guard=self.has_same_title),
        )

    def weak_steps(self) -> tuple[MatchStep, ...]:
        """Everything else, strongest first."""
        return (
            MatchStep(by="alias", keys=_uid_key, guard=self.is_our_row),
            MatchStep(by="canonical_url", keys=_url_keys, guard=self.may_share_link),
            MatchStep(by="legacy_guid", keys=_keys("legacy_guid"), guard=self.may_be_legacy),
            MatchStep(by="fallback_hash", keys=_keys("fallback_hash"), guard=self.is_our_row),
            MatchStep(by="item", keys=_item_key, guard=self.is_our_row),
        )

    def guid_of(self, row: KnownEntry) -> str | None:
        return None if row.guid in self.ignored else row.guid

    def guids_of(self, rows: Sequence[KnownEntry]) -> list[str | None]:
        """`guid_of` for each of many rows, without a call for each."""
        ignored = self.ignored
        return [None if row.guid in ignored else row.guid for row in rows]

    def ours(self, rows: Sequence[KnownEntry]) -> list[KnownEntry]:
        """The rows for which `is_ours` is true, without a call for each."""
        feed_id = self.feed.feed_id
        return [row for row in rows if row.feed_id is None or row.feed_id == feed_id]

    def is_ours(self, row: KnownEntry) -> bool:
        # A row of another feed is never taken over: a second source is an entry of its own (D10),
        # and no feed overwrites another feed's entry by copying its guid or link.
        return row.feed_id is None or row.feed_id == self.feed.feed_id

    def is_our_row(self, _item: Identified, row: KnownEntry) -> bool:
        return self.is_ours(row)

    def is_not_standing(self, item: Identified, row: KnownEntry) -> bool:
        """The row's own guid stands elsewhere in the document: it is another item (link blogs)."""
        guid = self.guid_of(row)
        elsewhere = guid is not None and guid != item.guid and guid in self.standing
        return self.is_ours(row) and not elsewhere

    def has_same_title(self, item: Identified, row: KnownEntry) -> bool:
        # Without its host a guid proves little: a planet carries /?p=1 of many sites.
        same = item.title_hash is not None and item.title_hash == row.title_hash
        return same and self.is_not_standing(item, row)

    def may_share_link(self, item: Identified, row: KnownEntry) -> bool:
        return not item.link_is_shared and self.is_not_standing(item, row)

    def may_be_legacy(self, item: Identified, row: KnownEntry) -> bool:
        if row.feed_id == self.feed.feed_id:
            return self.is_not_standing(item, row)
        reachable = row.feed_id is None or self.config.legacy_guid_across_feeds
        return reachable and item.link is not None and item.link == row.canonical_link


def _is_scoped(_item: Identified, _row: KnownEntry) -> bool:
    # The feed key is part of the key: only this feed can have registered it.
    return True


def _keys(kind: KeyType, prefix: str = "") -> Keys:
    def select(item: Identified) -> list[IdentityKey]:
        return [key for key in item.keys if key.type == kind and key.value.startswith(prefix)]

    return select


def _url_keys(item: Identified) -> list[IdentityKey]:
    spare = [key for key in item.spare_keys if key.value.startswith("url:")]
    return [*_keys("canonical_url")(item), *spare]


def _uid_key(item: Identified) -> list[IdentityKey]:
    if item.guid is not None:
        return []
    return [key for key in item.spare_keys if key.value.startswith("uid:")]


def _item_key(item: Identified) -> list[IdentityKey]:
    return [key for key in item.spare_keys if key.type == "fallback_hash"]
