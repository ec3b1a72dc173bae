"""Tables `cluster_sketches`, `cluster_keys`, `cluster_edges` and `clusters`: stories that several feeds tell.

One job at a time writes here, in one transaction with its cursor. The cost of an entry does not depend on how many
there are: candidates are found by the index of their keys, the newest few of each key.
"""
# Tested in tests/contracts/store/test_clusters.py

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, page_of, position
from feedmill.adapters.store.tables import codec
from feedmill.adapters.store.tables.running.jobs import advance_job, holds_job
from feedmill.cluster.group import Edge, Group, Member, group
from feedmill.model.base import Value
from feedmill.model.derived.cluster import (
    Cluster,
    ClusterChange,
    ClusterMember,
    EvidenceKind,
    Mirrors,
    Sketch,
    SketchBatch,
    StoredStory,
    StoryText,
)
from feedmill.model.event import NewEvent
from feedmill.model.page import Page
from feedmill.model.running.job import JobStep

ClusterEvents = Callable[[Sequence[ClusterChange]], Sequence[NewEvent]]

# candidates of one key, the newest: a title that returns every day costs no more
_PER_KEY: Final = 20
_FORGOTTEN: Final = 2_000  # sketches that a batch looks at; more than one brings
_STORIES: Final = (
    "SELECT e.entry_uid, f.tags, f.overrides, e.title, coalesce(t.html, e.content, e.summary, ''), e.link, e.canonical_link,"
    " t.final_url, t.canonical_url, CASE WHEN e.published_source IN ('published', 'updated') THEN e.published_effective END"
    " FROM entries e JOIN feeds f ON f.feed_no = e.feed_no"
    " LEFT JOIN fulltexts t ON t.entry_id = e.entry_id AND t.state = 'extracted'"
    " WHERE e.entry_uid @in($1) AND e.removed_at IS NULL AND e.backfill = 0"
)
_MEMBERS: Final = (
    "SELECT e.entry_id, e.feed_no, e.first_seen, length(coalesce(e.content, e.summary, '')), e.cluster_no"
    " FROM entries e WHERE "
)
_CLUSTER: Final = codec.RowCodec(
    Cluster,
    "cluster_id feeds representative title link updated_at first_seen",
    table="clusters",
    cluster_id=codec.Column(None, lambda number: f"c{number}"),
)
_MIRRORED: Final = codec.RowCodec(
    Mirrors, "feed_id url title other_id other_url other_title common share"
)
_CLUSTERS: Final = (
    "SELECT c.cluster_no, c.entries, e.entry_uid, e.title, e.canonical_link, c.updated_at,"
    " (SELECT min(m.first_seen) FROM entries m WHERE m.cluster_no = c.cluster_no)"
    " FROM clusters c JOIN entries e ON e.entry_id = c.representative_id"
)
_SKETCHES: Final = (
    "SELECT s.entry_id, e.feed_no, s.sketch FROM cluster_sketches s"
    " JOIN entries e ON e.entry_id = s.entry_id WHERE s.entry_id @in($1) AND e.first_seen >= $2"
)
_ADD_EDGE: Final = (
    f"{sql.insert_into('cluster_edges', ('entry_id', 'other_id', 'kind', 'score'))}"
    f" ON CONFLICT (entry_id, other_id) DO UPDATE SET {sql.excluded(('kind', 'score'))}"
)
_SAVE_CLUSTER: Final = (
    "INSERT INTO clusters (cluster_no, representative_id, entries, updated_at) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (cluster_no) DO UPDATE SET representative_id = excluded.representative_id,"
    " entries = excluded.entries, updated_at = excluded.updated_at"
    " WHERE clusters.representative_id <> excluded.representative_id"
    " OR clusters.entries <> excluded.entries"
)
_PAIR: Final = (
    "SELECT @least(e.feed_no, o.feed_no) AS kept, @greatest(e.feed_no, o.feed_no) AS other,"
    " CASE WHEN e.feed_no < o.feed_no THEN e.entry_id ELSE o.entry_id END AS entry_id FROM entries e"
)
_MIRRORS: Final = f"""
WITH pairs AS ({_PAIR} JOIN entries o ON o.entry_id = e.same_as WHERE o.feed_no <> e.feed_no
 UNION {_PAIR} JOIN articles a ON a.article_hash = e.article_hash
       JOIN entries o ON o.entry_id = a.entry_id WHERE o.feed_no <> e.feed_no
 UNION {_PAIR} JOIN entries o ON o.cluster_no = e.cluster_no WHERE o.feed_no < e.feed_no),
counted AS (SELECT kept, other, count(*) AS common FROM pairs GROUP BY kept, other
            HAVING count(*) >= $1),
shares AS (SELECT kept, other, common, common * 1.0 / @least(
             (SELECT count(*) FROM entries e WHERE e.feed_no = kept),
             (SELECT count(*) FROM entries e WHERE e.feed_no = other)) AS share FROM counted)
SELECT k.id, k.url, k.title, o.id, o.url, o.title, s.common, s.share FROM shares s
  JOIN feeds k ON k.feed_no = s.kept JOIN feeds o ON o.feed_no = s.other
 WHERE s.share >= $2 AND NOT EXISTS
       (SELECT 1 FROM merged_feeds m WHERE m.feed_no IN (s.kept, s.other)) ORDER BY s.share DESC, s.common DESC, s.kept, s.other LIMIT $3"""


class _Own(Value):
    """What is read of a feed's overrides: without its secrets."""

    clusters: bool | None = None


_own: Final = msgspec.json.Decoder(_Own).decode
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Sketch).decode


def story_texts(entry_uids: Sequence[str]) -> Query[tuple[StoredStory, ...]]:
    """What entries are compared by; without those that are removed, or were read from an archive."""
    found = yield from sql.rows(_STORIES, list(entry_uids))
    return tuple(
        StoredStory(
            entry_uid=uid,
            tags=codec.strings(tags),
            wanted=None if own is None else _own(own).clusters,
            link=link,
            text=StoryText(
                title=title,
                html=html,
                links=_links(canonical, final_url, page_url),
                published=codec.instant_or_none(published),
            ),
        )
        for uid, tags, own, title, html, link, canonical, final_url, page_url, published in found
    )


def save_sketches(
    batch: SketchBatch, *, events: ClusterEvents, step: JobStep | None = None
) -> Query[tuple[ClusterChange, ...] | None]:
    """Store sketches, find evidence and cluster anew what it touches; None when the job was lost.

    What changed is written to the log by `events` in the same transaction.
    """
    if step is not None and not (yield from holds_job(step)):
        return None
    changed, touched = yield from _replace_sketches(batch)
    touched |= yield from _find_evidence(changed, codec.micros(batch.since))
    changes = yield from _regroup(touched, batch)
    yield from sql.append_events(events(changes), f"cluster/{batch.cause}")
    yield from _forget_sketches(codec.micros(batch.since))
    if step is not None:
        yield from advance_job(step, batch.at)
    return changes


def repair_clusters(*, at: datetime, most: int, limit: int, events: ClusterEvents) -> Query[int]:
    """Cluster anew what lost entries to retention or to the end of a feed; how many clusters were looked at."""
    names = yield from sql.column(
        "SELECT c.cluster_no FROM clusters c WHERE c.entries <> (SELECT count(*) FROM entries e"
        " WHERE e.cluster_no = c.cluster_no) ORDER BY c.cluster_no LIMIT $1",
        limit,
    )
    if not names:
        return 0
    rest = yield from sql.column("SELECT entry_id FROM entries WHERE cluster_no @in($1)", names)
    batch = SketchBatch(cause=f"repair/{at.isoformat()}", at=at, since=at, max_entries=most)
    changes = yield from _regroup(set(rest), batch)
    yield from sql.write(
        "DELETE FROM clusters WHERE cluster_no @in($1) AND NOT EXISTS"
        " (SELECT 1 FROM entries e WHERE e.cluster_no = clusters.cluster_no)",
        names,
    )
    yield from sql.append_events(events(changes), f"cluster/{batch.cause}")
    return len(names)


def clusters(
    *, min_feeds: int = 2, after: str | None = None, limit: int = 100
) -> Query[Page[Cluster]]:
    """Stories that at least so many feeds tell, the one that grew last first."""
    start = position(after, 2) or (codec.NEVER, codec.NEVER)
    found = yield from sql.rows(
        f"{_CLUSTERS} WHERE c.entries >= $1 AND (c.updated_at, c.cluster_no) < ($2, $3)"
        " ORDER BY c.updated_at DESC, c.cluster_no DESC LIMIT $4",
        min_feeds,
        *start,
        limit + 1,
    )
    return page_of(found, limit, _CLUSTER.value, lambda one: f"{one[5]}.{one[0]}")


def cluster(cluster_id: str) -> Query[Cluster | None]:
    """One cluster."""
    return sql.one_of(
        _CLUSTER.value, f"{_CLUSTERS} WHERE c.cluster_no = $1", _number_of(cluster_id)
    )


def cluster_members(cluster_id: str) -> Query[tuple[ClusterMember, ...]]:
    """The entries of a cluster, the first that came in first, with what joins each to the others."""
    found = yield from sql.rows(
        "SELECT e.entry_id, e.entry_uid, f.id, f.title, e.title, e.canonical_link, e.first_seen,"
        " (SELECT c.representative_id FROM clusters c WHERE c.cluster_no = e.cluster_no)"
        " FROM entries e JOIN feeds f ON f.feed_no = e.feed_no WHERE e.cluster_no = $1"
        " ORDER BY e.first_seen, e.entry_id",
        _number_of(cluster_id),
    )
    kinds = yield from _kinds_of([one[0] for one in found])
    return tuple(
        ClusterMember(
            entry_uid=uid,
            feed_id=feed_id,
            feed_title=feed_title,
            title=title,
            link=link,
            first_seen=codec.instant(first_seen),
            representative=entry_id == chosen,
            evidence=kinds.get(entry_id, ()),
        )
        for entry_id, uid, feed_id, feed_title, title, link, first_seen, chosen in found
    )


def mirrors(*, min_common: int, min_share: float, limit: int) -> Query[tuple[Mirrors, ...]]:
    """Pairs of feeds that have the same articles: equal addresses, or entries of one cluster."""
    found = yield from sql.rows(_MIRRORS, min_common, min_share, limit)
    return tuple(_MIRRORED.value((*one[:-1], round(one[-1], 3))) for one in found)


def cluster_id_of(cluster_no: int | None) -> str | None:
    """The public name of a cluster."""
    return None if cluster_no is None else f"c{cluster_no}"


def _links(canonical: str | None, final_url: str | None, page_url: str | None) -> tuple[str, ...]:
    """The link of an entry, where its page was served, and what the page calls itself; in one spelling."""
    from feedmill.canonicalise.policies import canonical_link  # noqa: PLC0415  # 4 ms that no list needs

    spelled = (canonical_link(one) for one in (final_url, page_url) if one)
    return tuple(dict.fromkeys(one for one in (canonical, *spelled) if one))


def _replace_sketches(batch: SketchBatch) -> Query[tuple[dict[int, Sketch], set[int]]]:
    """Store the sketches; those by number, and the entries that lost evidence."""
    found = yield from sql.rows(
        "SELECT entry_uid, entry_id FROM entries WHERE entry_uid @in($1)",
        [*batch.sketches, *batch.gone],
    )
    numbers: dict[str, int] = dict(found)
    ids = list(numbers.values())
    lost = yield from sql.column(
        "SELECT entry_id FROM cluster_edges WHERE other_id @in($1)"
        " UNION SELECT other_id FROM cluster_edges WHERE entry_id @in($1)",
        ids,
    )
    yield from sql.write(
        "DELETE FROM cluster_edges WHERE entry_id @in($1) OR other_id @in($1)", ids
    )
    for table in ("cluster_keys", "cluster_sketches"):
        yield from sql.write(f"DELETE FROM {table} WHERE entry_id @in($1)", ids)
    from feedmill.cluster.sketch import keys_of  # noqa: PLC0415  # patterns of 3 ms at every start

    changed = {numbers[uid]: made for uid, made in batch.sketches.items() if uid in numbers}
    yield from sql.write_many(
        "INSERT INTO cluster_sketches (entry_id, sketch) VALUES ($1, $2)",
        [(entry_id, b64encode(_encode(made)).decode()) for entry_id, made in changed.items()],
    )
    yield from sql.write_many(
        "INSERT INTO cluster_keys (entry_id, key) VALUES ($1, $2)",
        [(entry_id, key) for entry_id, made in changed.items() for key in keys_of(made)],
    )
    gone = {numbers[uid] for uid in batch.gone if uid in numbers}
    return changed, {*lost, *gone}


def _find_evidence(changed: dict[int, Sketch], since: int) -> Query[set[int]]:
    """Write the evidence between these entries and their candidates; the entries that have some."""
    from feedmill.cluster.sketch import compare, keys_of  # noqa: PLC0415  # as above

    candidates: dict[int, set[int]] = {}
    for entry_id, made in changed.items():
        keys = keys_of(made)
        found = (yield from sql.column(_candidates(len(keys)), *keys)) if keys else []
        candidates[entry_id] = {*found} - {entry_id}
    wanted = sorted(set(changed).union(*candidates.values()))
    known = {
        entry_id: (feed_no, _decode(b64decode(text)))
        for entry_id, feed_no, text in (yield from sql.rows(_SKETCHES, wanted, since))
    }
    edges: dict[tuple[int, int], codec.Row] = {}
    shared: set[int] = set()
    for entry_id in changed.keys() & known.keys():
        near = [one for one in candidates[entry_id] if one in known]
        void = _shared_links([entry_id, *near], known)
        shared |= void.keys()
        for other_id in near:
            ours, theirs = known[entry_id], known[other_id]
            if ours[0] == theirs[0]:
                continue  # a feed does not tell a story twice
            evidence = compare(
                _without(ours[1], void.get(entry_id)), _without(theirs[1], void.get(other_id))
            )
            if evidence is not None:
                pair = (max(entry_id, other_id), min(entry_id, other_id))
                edges[pair] = (*pair, evidence.kind, evidence.score)
    for column, other in (("entry_id", "other_id"), ("other_id", "entry_id")):
        lost = yield from sql.column(
            f"DELETE FROM cluster_edges WHERE kind = 'link' AND {column} @in($1) RETURNING {other}",
            sorted(shared),
        )
        shared.update(lost)
    yield from sql.write_many(_ADD_EDGE, list(edges.values()))
    return shared | {entry_id for pair in edges for entry_id in pair}


def _shared_links(
    ids: Iterable[int], known: dict[int, tuple[int, Sketch]]
) -> dict[int, frozenset[int]]:
    """Links that a feed gives to several of these entries, by entry: they name none of them."""
    uses = Counter((known[one][0], link) for one in ids for link in known[one][1].links)
    return {
        one: void
        for one in ids
        if (void := frozenset(k for k in known[one][1].links if uses[known[one][0], k] > 1))
    }


def _without(made: Sketch, links: frozenset[int] | None) -> Sketch:
    if links is None:
        return made
    return replace(made, links=tuple(one for one in made.links if one not in links))


def _regroup(touched: set[int], batch: SketchBatch) -> Query[tuple[ClusterChange, ...]]:
    """Cluster the touched entries and everything that is in a cluster with them."""
    if not touched:
        return ()
    near = yield from sql.rows(f"{_MEMBERS}e.entry_id @in($1)", sorted(touched))
    names = sorted({one[4] for one in near if one[4] is not None})
    inside = yield from sql.rows(f"{_MEMBERS}e.cluster_no @in($1)", names)
    members = {one[0]: Member(*one) for one in (*near, *inside)}
    edges = yield from sql.rows(
        "SELECT entry_id, other_id, score FROM cluster_edges WHERE entry_id @in($1)",
        sorted(members),
    )
    groups = group(members.values(), [Edge(*one) for one in edges], batch.max_entries)
    yield from _write_groups(groups, names, codec.micros(batch.at))
    now = {entry_id: one for one in groups for entry_id in one.entry_ids}
    moved = {
        entry_id: (now[entry_id].cluster_no if entry_id in now else None)
        for entry_id, one in members.items()
        if one.cluster_no != (now[entry_id].cluster_no if entry_id in now else None)
    }
    yield from sql.write_many(
        "UPDATE entries SET cluster_no = $2 WHERE entry_id = $1", sorted(moved.items())
    )
    return (yield from _changes(moved, members, now))


def _write_groups(groups: Sequence[Group], before: list[int], at: int) -> Query[None]:
    kept = {one.cluster_no for one in groups}
    gone = [name for name in before if name not in kept]
    yield from sql.write("DELETE FROM clusters WHERE cluster_no @in($1)", gone)
    yield from sql.write_many(
        _SAVE_CLUSTER,
        [(one.cluster_no, one.representative_id, len(one.entry_ids), at) for one in groups],
    )


def _changes(
    moved: dict[int, int | None], members: dict[int, Member], now: dict[int, Group]
) -> Query[tuple[ClusterChange, ...]]:
    """What happened to the entries that moved."""
    wanted = {*moved, *(now[one].representative_id for one in moved if one in now)}
    named = yield from sql.rows(
        "SELECT e.entry_id, e.entry_uid, f.id FROM entries e JOIN feeds f ON f.feed_no = e.feed_no"
        " WHERE e.entry_id @in($1)",
        sorted(wanted),
    )
    names = {one[0]: one[1:] for one in named}
    kinds = yield from _kinds_of(sorted(moved))
    return tuple(
        ClusterChange(
            entry_uid=names[entry_id][0],
            feed_id=names[entry_id][1],
            cluster_id=cluster_id_of(cluster_no),
            previous=cluster_id_of(members[entry_id].cluster_no),
            feeds=len(now[entry_id].entry_ids) if entry_id in now else 0,
            representative=names[now[entry_id].representative_id][0] if entry_id in now else None,
            evidence=kinds.get(entry_id, ()),
        )
        for entry_id, cluster_no in sorted(moved.items())
    )


def _kinds_of(ids: list[int]) -> Query[dict[int, tuple[EvidenceKind, ...]]]:
    """The kinds of evidence that each entry has."""
    found = yield from sql.rows(
        "SELECT entry_id, kind FROM cluster_edges WHERE entry_id @in($1)"
        " UNION SELECT other_id, kind FROM cluster_edges WHERE other_id @in($1) ORDER BY 1, 2",
        ids,
    )
    kinds: dict[int, tuple[EvidenceKind, ...]] = {}
    for entry_id, kind in found:
        kinds[entry_id] = (*kinds.get(entry_id, ()), kind)
    return kinds


def _forget_sketches(since: int) -> Query[None]:
    """Let go of some sketches that are too old to be compared; their clusters stay."""
    found = yield from sql.rows(
        "SELECT s.entry_id, e.first_seen FROM cluster_sketches s"
        " JOIN entries e ON e.entry_id = s.entry_id ORDER BY s.entry_id LIMIT $1",
        _FORGOTTEN,
    )
    old = [entry_id for entry_id, first_seen in found if first_seen < since]
    for table in ("cluster_keys", "cluster_sketches") if old else ():
        yield from sql.write(f"DELETE FROM {table} WHERE entry_id @in($1)", old)


def _candidates(keys: int) -> str:
    """The newest entries of each of so many keys."""
    return " UNION ALL ".join(
        f"SELECT entry_id FROM (SELECT entry_id FROM cluster_keys WHERE key = ${at}"
        f" ORDER BY entry_id DESC LIMIT {_PER_KEY}) AS k{at}"
        for at in range(1, keys + 1)
    )


def _number_of(cluster_id: str) -> int:
    """The number in a public name; -1 for what is none."""
    digits = cluster_id[1:]
    return int(digits) if cluster_id[:1] == "c" and digits.isdecimal() and len(digits) < 19 else -1
