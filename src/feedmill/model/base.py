"""The base class of every value in feedmill."""
# Tested in tests/unit/adapters/store/postgres/test_parameters.py

from typing import dataclass_transform

import msgspec


@dataclass_transform(
    frozen_default=True, kw_only_default=True, eq_default=True, field_specifiers=(msgspec.field,)
)
class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fact that was true once and is never changed; change is a new value.

    What is built once from values that were there before is part of no cycle, so the garbage
    collector need not look at values: a tenth of the cost of a poll.
    """
