"""What every value in feedmill has in common: frozen, slotted, built by keyword."""

from typing import dataclass_transform

import msgspec


@dataclass_transform(
    frozen_default=True, kw_only_default=True, eq_default=True, field_specifiers=(msgspec.field,)
)
class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that was true once and is never changed; change is a new value."""
