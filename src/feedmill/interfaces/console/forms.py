"""Fields of forms: texts within limits, lists of tags, what a question was about."""
# Tested in tests/integration/interfaces/console/

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from litestar.datastructures import FormMultiDict

_MOST_CHARS: Final = 200


def text_field(form: FormMultiDict, name: str, most: int = _MOST_CHARS) -> str:
    """A text field without white space around it; empty when it is missing or a file."""
    given = form.get(name, "")
    return given.strip()[:most] if isinstance(given, str) else ""


def tags_of(text: str) -> tuple[str, ...]:
    """Tags that are separated by commas, each once."""
    return tuple(dict.fromkeys(one.strip()[:100] for one in text.split(",") if one.strip()))


def digest_of(things: Iterable[str]) -> str:
    """A digest of what a question shows, in any order: its answer is for exactly these."""
    return sha256("\n".join(sorted(things)).encode()).hexdigest()
