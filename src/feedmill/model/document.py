"""What comes off the wire, before anybody has read it."""

from feedmill.model.base import Value


class RawDocument(Value):
    """The exact bytes of one answer (content-coding removed) and what came with them."""

    body: bytes
    url: str | None = None
    content_type: str | None = None
