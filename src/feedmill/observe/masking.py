"""Masks passwords, tokens and keys in addresses, for logs, messages and `config show`."""

import re
from typing import Any, Final
from urllib.parse import unquote

HIDDEN: Final = "***"

# A password may hold anything, also an unescaped "/" or "@": what is in doubt is hidden.
_PASSWORD: Final = re.compile(r"(://[^:/?#@\s]*:)\S*(?=@)")
# Without a colon it is the name of a user, or a token, as NATS has them.
_TOKEN: Final = re.compile(r"(?<!postgresql)(?<!postgres)(://)[^:/?#@\s]+(?=@)")
_PARAMETER: Final = re.compile(
    # Names of several words have dots in Kafka: sasl.password, ssl.key.pem.
    r"([?&;][\w.%-]*(?:password|passphrase|pwd|secret|token|key)[\w.%-]*=)[^&;\s]+",
    re.IGNORECASE,
)
# The callback of a subscription at a hub: who knows it can send pings.
_CALLBACK: Final = re.compile(r"(://[^\s?#]*/push/)[\w-]{20,}")


def mask_secrets(text: str) -> str:
    """The text with every password and token in its addresses replaced by ***."""
    text = _PASSWORD.sub(rf"\1{HIDDEN}", text)
    text = _TOKEN.sub(rf"\1{HIDDEN}", text)
    text = _CALLBACK.sub(rf"\1{HIDDEN}", text)
    return _PARAMETER.sub(rf"\1{HIDDEN}", text)


def secrets_in(url: str) -> tuple[str, ...]:
    """The passwords and tokens that `mask_secrets` hides in an address."""
    return tuple(
        found[0][len(found[1]) :]
        for pattern in (_PASSWORD, _TOKEN, _PARAMETER)
        for found in pattern.finditer(url)
    )


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
