"""ETag and Last-Modified: learnt from a response, renewed by a 304, sent back byte for byte."""

import re

from feedmill.fetch.headers import header_list, header_value, is_sendable
from feedmill.model.fetch import Headers, Validators

_MAX_CHARS = 16_384  # of one validator; real ones have fewer than a hundred

# Servers that compress on the fly mark the tag of the compressed form (Apache bug 45023).
_CODING_SUFFIX = re.compile(r'[-;](?:gzip|deflate|br|zstd)"$')

# Credentials are not written down a second time; conditions differ by their nature.
_NOT_COMPARED = frozenset({"*", "authorization", "cookie", "if-none-match", "if-modified-since"})


def learn_validators(headers: Headers, request_headers: Headers, url: str) -> Validators | None:
    """What the answer lets us ask with next time; None when it gave nothing."""
    etag = _usable(header_value(headers, "etag"))
    last_modified = _usable(header_value(headers, "last-modified"))
    if etag is None and last_modified is None:
        return None
    names = _vary_names(headers)
    return Validators(
        etag=etag,
        last_modified=last_modified,
        url=url.partition("#")[0],
        vary=_sent_values(names, request_headers),
        vary_any="*" in names,
    )


def renew_validators(
    stored: Validators, headers: Headers, request_headers: Headers, url: str
) -> Validators | None:
    """The stored validators brought up to date by a 304 (RFC 9111 3.2); None: start over.

    A strong tag that is not the stored one vouches for a representation that we do not have
    (RFC 9111 4.3.4), so the next request has to be unconditional.
    """
    etag = _usable(header_value(headers, "etag"))
    if etag is not None and stored.etag is not None and _contradicts(etag, stored.etag):
        return None
    names = _vary_names(headers)
    return Validators(
        etag=etag or stored.etag,
        last_modified=_usable(header_value(headers, "last-modified")) or stored.last_modified,
        url=url.partition("#")[0],
        vary=_sent_values(names, request_headers) if names else stored.vary,
        vary_any="*" in names if names else stored.vary_any,
    )


def are_valid_for(validators: Validators, request_headers: Headers) -> bool:
    """Whether the request is the one they were given for, as far as Vary goes (RFC 9111 4.1).

    After an upgrade that changes our User-Agent or Accept, the server may have another
    representation for us, which a 304 would hide.
    """
    if validators.vary_any:
        return False
    names = tuple(name for name, _ in validators.vary)
    return _sent_values(names, request_headers) == validators.vary


def conditional_fields(validators: Validators) -> Headers:
    """If-None-Match and If-Modified-Since, both when both exist (RFC 9111 4.3.1)."""
    pairs = (
        ("If-None-Match", _usable(validators.etag)),
        ("If-Modified-Since", _usable(validators.last_modified)),
    )
    return tuple((name, value) for name, value in pairs if value is not None)


def _usable(value: str | None) -> str | None:
    return value if value and len(value) <= _MAX_CHARS and is_sendable(value) else None


def _contradicts(etag: str, stored: str) -> bool:
    if etag == stored or etag.startswith("W/"):
        return False
    return _opaque(etag) != _opaque(stored)


def _opaque(etag: str) -> str:
    # nginx weakens a tag when it compresses, Apache adds a suffix, and both may leave that out
    # of the 304. The representation is the same.
    return _CODING_SUFFIX.sub('"', etag.removeprefix("W/"))


def _vary_names(headers: Headers) -> tuple[str, ...]:
    names = (name.strip().lower() for name in header_list(headers, "vary").split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _sent_values(names: tuple[str, ...], request_headers: Headers) -> Headers:
    return tuple(
        (name, header_list(request_headers, name)) for name in names if name not in _NOT_COMPARED
    )
