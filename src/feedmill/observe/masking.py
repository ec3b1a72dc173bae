"""Masks passwords, tokens and keys in addresses, for logs, messages and `config show`."""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from feedmill.model.addresses import hide, token_spans

_WORD: Final = re.compile(r"\S++")
_USER: Final = re.compile(r"://[^:/?#@\s]*+:")
# Without a colon it is the name of a user, or a token, as NATS has them.
_TOKEN: Final = re.compile(r"(?<!postgresql)(?<!postgres)://([^:/?#@\s]++)(?=@)")
_PARAMETER: Final = re.compile(
    # Names of several words have dots in Kafka: sasl.password, ssl.key.pem.
    r"[?&;]([\w.%-]++)=([^&;\s]++)"
)
_SECRET_NAME: Final = re.compile("password|passphrase|pwd|secret|token|key", re.IGNORECASE)
# The callback of a subscription at a hub: who knows it can send pings.
_CALLBACK: Final = re.compile(r"(?<=/push/)[\w-]{20,}+")
_END_OF_PATH: Final = re.compile("[?#]|$")


def mask_secrets(text: str) -> str:
    """The text with every password and token in its addresses replaced by ***."""
    return hide(text, _secret_spans(text))


def secrets_in(url: str) -> tuple[str, ...]:
    """The passwords and tokens that `mask_secrets` hides in an address."""
    return tuple(url[start:end] for start, end in _secret_spans(url))


def database_address(url: str) -> str:
    """Scheme, user, host and database of a URL, without its password and parameters.

    A password may hold anything, also an unescaped "/" or "@": what is in doubt is left out.
    """
    scheme, found, rest = url.partition("://")
    if not found:
        return "the database"
    who, at, where = rest.rpartition("@")
    name = unquote(re.split("[:/?#@]", who, maxsplit=1)[0])
    return f"{scheme}://{name}{at}{re.split('[?#]', where, maxsplit=1)[0]}"


def mask_all_secrets(shape: Any) -> Any:  # noqa: ANN401  # whatever JSON can say
    """The same for every string in nested lists and mappings."""
    if isinstance(shape, str):
        return mask_secrets(shape) if "://" in shape else shape
    if isinstance(shape, dict):
        return {key: mask_all_secrets(value) for key, value in shape.items()}
    if isinstance(shape, list | tuple):
        return [mask_all_secrets(value) for value in shape]
    return shape


def _secret_spans(text: str) -> list[tuple[int, int]]:
    found = list(token_spans(text))
    found += (one.span(2) for one in _PARAMETER.finditer(text) if _SECRET_NAME.search(one[1]))
    if "://" in text:
        for word in _WORD.finditer(text):
            found += _spans_of_address(text, *word.span())
    return sorted(found)


def _spans_of_address(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    # A password may hold anything, also an unescaped "/" or "@": what is in doubt is hidden.
    at = text.rfind("@", start, end)
    user = _USER.search(text, start, at) if at >= 0 else None
    if user is not None:
        yield user.end(), at
    for token in _TOKEN.finditer(text, start, end):
        yield token.span(1)
    scheme = text.find("://", start, end)
    if scheme >= 0:
        path = _END_OF_PATH.search(text, scheme, end)
        for callback in _CALLBACK.finditer(text, scheme, path.start() if path else end):
            yield callback.span()
