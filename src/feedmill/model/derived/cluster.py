"""Clusters: entries of different feeds that tell the same story, what they are compared by, and their evidence."""
# Tested in tests/unit/cluster/

from datetime import datetime
from typing import Literal

from msgspec import field

from feedmill.model.base import Value

EvidenceKind = Literal[
    "link",  # both lead to the same address, as published or as the fetched page calls itself
    "text",  # both have the same text, or nearly so
    "title-and-text",  # the same title, and texts that share passages
    "title-and-time",  # the same title at the same time and texts that do not differ, or much of it in the same second
    "text-and-time",  # texts that share passages, published in the same second
]


class StoryText(Value):
    """What an entry is compared by."""

    title: str | None = None
    html: str = ""  # its content, its full text or its summary
    links: tuple[str, ...] = ()  # canonical; its own and those of its fetched page
    # by the publisher; None when it is only known when it came in
    published: datetime | None = None


class Sketch(Value, array_like=True):
    """An entry reduced to a few hundred bytes that can be compared with any other's."""

    links: tuple[int, ...] = ()
    titles: tuple[int, ...] = ()  # the title, and the title without what a site adds to it
    title_words: int = 0  # of the shorter of the two
    words: int = 0  # of the text, as far as it was read
    shingles: int = 0  # different runs of three words
    minhash: bytes = b""  # two bytes of each of 64 minima; empty: no text
    bands: tuple[int, ...] = ()  # of a text that is long enough to be compared by itself
    published: int | None = None  # Unix seconds
    title_hashes: bytes = b""  # two bytes of each word of the title


class Evidence(Value):
    """Why two entries tell the same story."""

    kind: EvidenceKind
    score: float  # 0 to 1


class Cluster(Value):
    """One story in several feeds."""

    cluster_id: str
    feeds: int  # that tell it, with one entry each
    representative: str  # entry_uid
    title: str | None
    link: str | None
    first_seen: datetime  # of its first entry
    updated_at: datetime  # when an entry joined or left it


class ClusterMember(Value):
    """An entry of a cluster."""

    entry_uid: str
    feed_id: str
    feed_title: str | None
    title: str | None
    link: str | None
    first_seen: datetime
    representative: bool
    evidence: tuple[EvidenceKind, ...]  # what joins it to others of the cluster


class StoredStory(Value):
    """An entry with what it is compared by."""

    entry_uid: str
    tags: tuple[str, ...]  # of its feed
    wanted: bool | None  # by its feed's own setting; None: as the tags say
    link: str | None  # as published, with its fragment
    text: StoryText


class SketchBatch(Value):
    """Entries that came in, changed or went, in the order of the log."""

    cause: str  # names the batch: the same batch written twice gives the same events
    at: datetime
    since: datetime  # entries that came in before are not compared any more
    max_entries: int  # of a cluster
    sketches: dict[str, Sketch] = field(default_factory=dict)  # by entry_uid
    gone: tuple[str, ...] = ()


class ClusterChange(Value):
    """An entry that joined a cluster, moved to another one or left one."""

    entry_uid: str
    feed_id: str
    cluster_id: str | None  # None: it stands alone again
    previous: str | None
    feeds: int = 0  # that carry the story now
    representative: str | None = None  # entry_uid
    evidence: tuple[EvidenceKind, ...] = ()


class Mirrors(Value):
    """Two feeds that carry the same articles."""

    feed_id: str  # the one to keep: subscribed to first
    other_id: str
    url: str
    other_url: str
    title: str | None
    other_title: str | None
    common: int  # entries that both have
    share: float  # of the entries of the smaller one
