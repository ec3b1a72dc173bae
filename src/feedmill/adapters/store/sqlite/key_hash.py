"""What identity keys are found by: a number of 64 bits, so that the text of a key is stored once.

The number is not unique: a lookup compares the text, too, and keys that share a number differ in `lookup_no`.
Keys that come in together should stand on the same pages of the index, so the number begins with what they
share: 16 bits of the host and 10 of the text up to the last part of its path, or 26 of the text without its
last characters where there is no address. The other 38 bits are of the whole text: a publisher that wants a
thousand keys with one number has to try 2^48 texts.

Numbers are stored, so this function does not change; another one would come with a migration.
"""
# Tested in tests/integration/adapters/store/sqlite/test_identity_keys.py

import re
from hashlib import sha256
from typing import Final
from zlib import crc32

# Adds a key that no entry has; the single writer asks and inserts in one statement of one transaction.
ADD_KEY: Final = (
    "INSERT INTO entry_identities (entry_id, lookup_hash, lookup_no, key_type, key_value)"
    " SELECT ?3, h, (SELECT coalesce(max(i.lookup_no) + 1, 0) FROM entry_identities i WHERE i.lookup_hash = h), ?1, ?2"
    " FROM (SELECT key_hash(CAST(?1 || ':' || ?2 AS BLOB)) AS h) WHERE NOT EXISTS (SELECT 1 FROM entry_identities i"
    " WHERE i.lookup_hash = h AND i.key_type = ?1 AND i.key_value = ?2)"
)

_TEXT_BITS: Final = 38
_STEM_BITS: Final = 10
_ENDING: Final = 4  # characters in which ids of one feed differ, as a rule
_host: Final = re.compile(rb"//(?:www\.)?([^/]*)").search
_stem: Final = re.compile(rb".*[/:?=#]", re.DOTALL).match


def key_hash(text: bytes) -> int:
    """The number of a key, given as `type:value`. Octets, because a damaged text may be no UTF-8."""
    address, stem = _host(text), _stem(text)
    if address is None or stem is None:
        place = crc32(text[:-_ENDING]) >> 6
    else:
        place = (crc32(address[1]) >> 16) << _STEM_BITS | crc32(stem[0]) & (1 << _STEM_BITS) - 1
    whole = int.from_bytes(sha256(text).digest()[:8], "big")
    return (place << _TEXT_BITS | whole >> 64 - _TEXT_BITS) - (1 << 63)
