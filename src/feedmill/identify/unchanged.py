"""Entries recognised by the digest of their slice, without reading them (D31)."""

from collections.abc import Iterable

from feedmill.identify.hashes import content_version
from feedmill.model.identity import KnownEntry, UnchangedEntry
from feedmill.model.parsed import Slice


def known_slice_digests(known: Iterable[KnownEntry], reader: str = "") -> frozenset[str]:
    """The slice digests that the parser may pass over.

    Not those of removed or expired rows, which must be read again to come back, nor those that
    an older parser, normaliser or recipe read.
    """
    return frozenset(
        row.slice_digest
        for row in known
        if row.slice_digest is not None and _is_current(row, content_version(reader))
    )


def match_unchanged(
    known: Iterable[KnownEntry], slices: Iterable[Slice]
) -> tuple[UnchangedEntry, ...]:
    """The rows whose slice stands in the document again, in document order, each once."""
    rows = {row.slice_digest: row for row in sorted(known, key=_entry_id, reverse=True)}
    found: dict[int, UnchangedEntry] = {}
    for piece in slices:
        row = rows.get(piece.digest)
        if row is not None and row.entry_id not in found:
            found[row.entry_id] = UnchangedEntry(known=row, matched_by="slice", slice=piece)
    return tuple(found.values())


def _is_current(row: KnownEntry, version: str) -> bool:
    return not row.removed and row.content_hash is not None and row.content_version == version


def _entry_id(row: KnownEntry) -> int:
    return row.entry_id
