"""Forms as WebSub sends them: application/x-www-form-urlencoded."""

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
