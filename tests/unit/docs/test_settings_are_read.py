"""Every setting is read by something: one that nothing reads promises what does not happen."""

import re
from pathlib import Path

import msgspec
import pytest

from feedmill import config

SOURCE = Path(config.__file__).parent
FIELDS = [
    (section.name, field.name)
    for section in msgspec.structs.fields(config.Config)
    for field in msgspec.structs.fields(section.type)
]
TEXT = "\n".join(
    path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path != Path(config.__file__)
)


@pytest.mark.parametrize(("section", "name"), FIELDS, ids=".".join)
def test_setting_is_read_outside_of_its_definition(section: str, name: str) -> None:
    assert re.search(rf"\.{name}\b", TEXT), f"[{section}] {name} is read by nothing"
