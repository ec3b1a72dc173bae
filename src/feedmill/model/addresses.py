"""Addresses of feeds as they may be shown: without the tokens that some of them contain."""
# Tested in tests/unit/observe/test_masking.py

import re
from typing import Final

# The last word of the name says what it is: api_key and access-token, not keyword.
_SECRET_PARAMETER: Final = re.compile(
    r"([?&;](?:[\w.%-]*[._-])?"
    r"(?:password|passwd|passphrase|pwd|secret|token|apikey|authkey|key|auth|sig|signature)=)[^&;#\s]+",
    re.IGNORECASE,
)

# In a dedupe_key, `guid:ADDRESS:ID`, a colon ends the address.
_SECRET_IN_KEY: Final = re.compile(
    _SECRET_PARAMETER.pattern.replace("[^&;#", "[^&;#:"), re.IGNORECASE
)


def mask_address(url: str) -> str:
    """The address of a feed with the tokens in its parameters replaced by ***.

    Narrower than `mask_secrets`: `?token=`, `?api_key=` and their like, but not `?keyword=`. People read these
    addresses, and most parameters of a feed are no secrets. Of a `dedupe_key` the publisher's id after the address stays.
    """
    if "=" not in url:
        return url
    pattern = _SECRET_IN_KEY if url.startswith("guid:") else _SECRET_PARAMETER
    return pattern.sub(r"\1***", url)
