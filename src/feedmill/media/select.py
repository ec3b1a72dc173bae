"""Which files of a feed are downloaded: by type, size, the newest entries, and one version of each; and which go for room."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Final

from feedmill.canonicalise.urls import http_url
from feedmill.config import MediaConfig
from feedmill.media.types import media_type_of_name
from feedmill.model.derived.fetched import MediaFile, MediaRules, WantedFile
from feedmill.model.entry import EntryEnclosure
from feedmill.model.event import StoredEntry
from feedmill.model.feed import Feed
from feedmill.model.running.job import NewJob

DOWNLOAD_KIND: Final = "media"


def rules_of(feed: Feed, config: MediaConfig) -> MediaRules:
    """The rules for a feed: its own before those of the settings."""
    own = feed.overrides
    newest, most = own.media_newest, own.media_max_bytes
    return MediaRules(
        types=own.media_types or config.types,
        max_bytes=config.max_file_bytes if most is None else min(most, config.max_file_bytes),
        newest=config.newest if newest is None else newest,
    )


def download_job(wanted: WantedFile, *, forced: bool = False) -> NewJob:
    """The job that downloads a file."""
    return NewJob(
        kind=DOWNLOAD_KIND,
        key=wanted.media_id,
        url=wanted.url,
        feed_id=wanted.feed_id,
        payload={"forced": True} if forced else {},
    )


def select_files(entries: Iterable[StoredEntry], rules: MediaRules) -> tuple[WantedFile, ...]:
    """The files to keep, those of the newest entries first."""
    by_date = sorted(
        entries,
        key=lambda entry: (entry.published_effective or entry.first_seen, entry.entry_uid),
        reverse=True,
    )
    wanted: list[WantedFile] = []
    chosen = 0
    for entry in by_date:
        files = tuple(_files_of(entry, rules))
        wanted += files
        chosen += bool(files)
        if rules.newest and chosen == rules.newest:
            break
    return tuple(wanted)


def media_id(entry_uid: str, url: str) -> str:
    """The id of a file of an entry, the same whenever it is selected."""
    return sha256(f"{entry_uid}\n{url}".encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _files_of(entry: StoredEntry, rules: MediaRules) -> Iterator[WantedFile]:
    """Its files that the rules want; of the versions of its main file, the preferred one.

    An alternate takes the place of the first enclosure, which the publisher made the default.
    """
    main = [one for one in entry.enclosures if not one.alternate]
    versions = [*main[:1], *(one for one in entry.enclosures if one.alternate)]
    ranked = [(_rank(one, rules), one) for one in versions]
    usable = [(rank, one) for rank, one in ranked if rank is not None]
    best = [min(usable, key=lambda found: found[0])[1]] if usable else []
    others = [one for one in main[1:] if _rank(one, rules) is not None]
    for one in (*best, *others):
        url = http_url(one.url)
        if url is not None:
            yield WantedFile(
                media_id=media_id(entry.entry_uid, url),
                entry_uid=entry.entry_uid,
                feed_id=entry.feed_id,
                url=url,
                published_at=entry.published_effective or entry.first_seen,
                type=one.type,
                length=one.length,
                integrity=one.integrity,
            )


def _rank(file: EntryEnclosure, rules: MediaRules) -> int | None:
    """The place of its type among those that are wanted, 0 is best; None: not wanted."""
    if file.length is not None and file.length > rules.max_bytes:
        return None
    # Many feeds give no type, or one that says nothing.
    said = file.type if file.type not in (None, "application/octet-stream") else None
    kind = said or media_type_of_name(file.url)
    return next(
        (at for at, pattern in enumerate(rules.types) if fnmatchcase(kind, pattern.lower())), None
    )


def files_that_go(
    oldest_first: Sequence[MediaFile], missing_bytes: int, *, before: datetime
) -> tuple[MediaFile, ...] | None:
    """The files to delete for `missing_bytes`; None when only newer ones than `before` are left.

    A file never takes the place of one that belongs to a newer entry.
    """
    going, freed = list[MediaFile](), 0
    for file in oldest_first:
        if freed >= missing_bytes:
            break
        if file.newest_at is not None and file.newest_at >= before:
            return None
        going.append(file)
        freed += file.size_bytes
    return tuple(going) if freed >= missing_bytes else None
