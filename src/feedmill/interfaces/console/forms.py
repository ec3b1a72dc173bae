"""Fields of forms: texts within limits, lists of tags."""
# Tested in tests/integration/interfaces/console/

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
