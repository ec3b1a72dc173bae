"""All kinds of background jobs. A new kind is one file with a `KIND`, and one line here."""

from typing import Final

from feedmill.engine.jobs import backfill, cluster, fulltext, media, websub, websub_hub
from feedmill.engine.jobs.kind import JobKind

KINDS: Final[tuple[JobKind, ...]] = (
    backfill.KIND,
    cluster.KIND,
    fulltext.KIND,
    *media.KINDS,
    *websub.KINDS,
    websub_hub.KIND,
)
