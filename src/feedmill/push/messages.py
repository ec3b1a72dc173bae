"""Forms (application/x-www-form-urlencoded) and signatures (X-Hub-Signature, WebSub §7.1) of WebSub messages."""

import hmac
import re
from collections.abc import Mapping
from typing import Final

import ada_url

FORM: Final = "application/x-www-form-urlencoded"
_MAX_FIELDS: Final = 50


def encode_form(fields: Mapping[str, str]) -> str:
    """The fields in their order."""
    form = ada_url.URLSearchParams("")
    for name, value in fields.items():
        form.append(name, value)
    return str(form)


def decode_form(text: str) -> dict[str, str]:
    """The fields by name; of a repeated one the first counts."""
    found: dict[str, str] = {}
    for name, value in list(ada_url.parse_search_params(text).items())[:_MAX_FIELDS]:
        found.setdefault(name, value[0])
    return found


SIGNATURE: Final = "X-Hub-Signature"

# sha256, sha384 and sha512 are written; sha1 is only read, because old hubs still send it.
_READ: Final = frozenset({"sha1", "sha256", "sha384", "sha512"})
_SPELLING: Final = re.compile(r"\s*([a-z0-9]{4,6})=([0-9a-fA-F]{40,128})\s*")


def sign_delivery(body: bytes, secret: str, *, method: str = "sha256") -> str:
    """The value of the header for a body."""
    return f"{method}={hmac.new(secret.encode(), body, method).hexdigest()}"


def is_signed(header: str | None, body: bytes, secret: str) -> bool:
    """True when the secret signed exactly this body; every comparison takes the same time."""
    match = None if header is None else _SPELLING.fullmatch(header)
    if match is None or match[1] not in _READ:
        return False
    digest = hmac.new(secret.encode(), body, match[1]).hexdigest()
    return hmac.compare_digest(digest, match[2].lower())
