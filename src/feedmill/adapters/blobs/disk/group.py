"""Bodies on their way into a segment: laid out as records, each body once."""

from collections.abc import Mapping

from feedmill.adapters.blobs.record import HEADER_BYTES, write_header
from feedmill.model.feed import BlobRef


class RecordGroup:
    """Records for one segment, from `start` on; what is `known` there already is not repeated."""

    def __init__(
        self, segment: str, start: int = 0, known: Mapping[str, BlobRef] | None = None
    ) -> None:
        self.segment, self._known = segment, known or {}
        self.end = start
        self.added: dict[str, BlobRef] = {}
        self._chunks: list[bytes] = []

    def add(self, sha256: str, body: bytes) -> BlobRef:
        """Where the body will lie."""
        known = self._known.get(sha256) or self.added.get(sha256)
        if known is not None:
            return known
        header = write_header(
            body, segment=self.segment, sha256=sha256, coding="raw", raw_length=len(body)
        )
        ref = BlobRef(
            sha256=sha256,
            segment=self.segment,
            offset=self.end,
            length=HEADER_BYTES + len(body),
            coding="raw",
            raw_length=len(body),
        )
        self._chunks += (header, body)
        self.added[sha256] = ref
        self.end += ref.length
        return ref

    def data(self) -> bytes:
        """Everything that was added, in one piece."""
        return b"".join(self._chunks)
