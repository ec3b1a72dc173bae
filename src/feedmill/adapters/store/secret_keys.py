"""Encrypts secrets at rest: webhook secrets, feed passwords, header values, proxies and push secrets.

AES-256-GCM with a key from FEEDMILL_SECRET_KEY, or from the file that FEEDMILL_SECRET_KEY_FILE names. The first key encrypts,
all of them decrypt: a new key is put in front of the old one, and `feedmill secrets encrypt` rewrites what the old one
has encrypted. Without a key, secrets are stored as they are. An encrypted value names its format and its key:

    enc1.KEY.DATA     KEY: 8 hexadecimal digits of a hash of the key; DATA: nonce and ciphertext, base64url

A process has one set of keys, given to it when it opens its store. It reads their file again when it meets a secret of a key that
it does not have: then another process has changed the key, and this one goes on.
"""

import os
import re
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final

from feedmill.errors import ConfigError, SecretKeyError, needs_extra

ENVIRONMENT: Final = "FEEDMILL_SECRET_KEY"
KEY_BYTES: Final = 32
SEALED: Final = "enc1."
_SEALED: Final = re.compile(r"enc1\.([0-9a-f]{8})\.([A-Za-z0-9_-]{38,}={0,2})")
_NONCE_BYTES: Final = 12
_FORMAT: Final = b"feedmill/enc1"


class SecretKeys:
    """The keys of this process by their id, the one that encrypts first."""

    def __init__(self, keys: tuple[bytes, ...] = ()) -> None:
        self._ciphers = {key_id(key): _cipher(key) for key in keys}

    @property
    def current(self) -> str | None:
        """The id of the key that encrypts; None without a key."""
        return next(iter(self._ciphers), None)

    def __contains__(self, name: str) -> bool:
        """Whether there is a key of this id."""
        return name in self._ciphers

    def seal(self, text: str) -> str:
        """The text encrypted; as it is without a key."""
        if self.current is None:
            return text
        nonce = token_bytes(_NONCE_BYTES)
        data = self._ciphers[self.current].encrypt(nonce, text.encode(), _FORMAT)
        return f"{SEALED}{self.current}.{urlsafe_b64encode(nonce + data).decode()}"

    def open(self, text: str) -> str:
        """The text as it was before it was encrypted; SecretKeyError without its key."""
        found = _SEALED.fullmatch(text)
        if found is None:
            return text
        name, data = found[1], urlsafe_b64decode(found[2])
        self.check(name)
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # an extra

        try:
            plain: bytes = self._ciphers[name].decrypt(
                data[:_NONCE_BYTES], data[_NONCE_BYTES:], _FORMAT
            )
        except InvalidTag as problem:
            message = f"a secret that key {name} has encrypted is damaged"
            raise SecretKeyError(message, hint="enter the secret again") from problem
        return plain.decode()

    def check(self, name: str) -> None:
        """SecretKeyError when there is no key of this id."""
        if name in self._ciphers:
            return
        given = "no key is given" if self.current is None else f"the key given is {self.current}"
        message = f"the secrets in this store are encrypted with key {name}, and {given}"
        raise SecretKeyError(message)


_keys = SecretKeys()
_environment: Mapping[str, str] = {}  # that the keys were read from


def use_keys_of_environment(environment: Mapping[str, str] = os.environ) -> SecretKeys:
    """Read the keys of this process anew; ConfigError when they are none."""
    global _keys, _environment  # noqa: PLW0603  # a process has one set of keys, as it has one environment
    named = environment.get(f"{ENVIRONMENT}_FILE")
    if named and environment.get(ENVIRONMENT):
        message = f"{ENVIRONMENT} and {ENVIRONMENT}_FILE are both set: give the key in one of them"
        raise ConfigError((message,))
    try:
        text = Path(named).read_text("utf-8") if named else environment.get(ENVIRONMENT, "")
    except (OSError, UnicodeDecodeError) as problem:
        message = f"{ENVIRONMENT}_FILE: cannot read {named}: {problem}"
        raise ConfigError((message,)) from problem
    keys = tuple(_key_of(one) for one in re.split(r"[\s,]+", text) if one)
    # A failed `feedmill secrets key > FILE` leaves such a file: secrets would be stored as they are.
    if named and not keys:
        message = f"{ENVIRONMENT}_FILE: {named} holds no key; `feedmill secrets key` prints one"
        raise ConfigError((message,))
    _environment = environment
    _keys = SecretKeys(keys)
    return _keys


def seal(text: str) -> str:
    """The text as it is stored."""
    return _keys.seal(text)


def unseal(text: str) -> str:
    """The text that is stored like this."""
    name = key_in(text)
    if name is not None and name not in _keys and f"{ENVIRONMENT}_FILE" in _environment:
        with suppress(ConfigError):  # then the key is still missing, and that is said
            use_keys_of_environment(_environment)
    return _keys.open(text)


def key_in(text: str) -> str | None:
    """The id of the key that has encrypted a stored text; None: it is plain."""
    found = _SEALED.fullmatch(text)
    return None if found is None else found[1]


def new_key() -> str:
    """A random key as it is given in the environment."""
    return urlsafe_b64encode(token_bytes(KEY_BYTES)).decode()


def key_id(key: bytes) -> str:
    """What a key is called."""
    return sha256(b"feedmill key id\0" + key).hexdigest()[:8]


def _key_of(text: str) -> bytes:
    try:
        key = b64decode(text, altchars=b"-_", validate=True)
    except (Base64Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        message = f"{ENVIRONMENT}: a key is {KEY_BYTES} bytes in base64; `feedmill secrets key` prints one"
        raise ConfigError((message,))
    return key


def _cipher(key: bytes) -> Any:  # noqa: ANN401  # of an extra
    with needs_extra("encryption", "encryption of secrets"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # an extra
    return AESGCM(key)
