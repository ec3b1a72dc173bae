"""Rows of a table to values and back: each column is named once, with how it is kept."""

from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from feedmill.adapters.store.tables.codec import (
    Row,
    instant_or_none,
    json_or_null,
    json_text,
    micros_or_none,
)

T = TypeVar("T")


class Column(NamedTuple):
    """How a field is kept in its column; None: as it is."""

    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None


PLAIN: Final = Column()
INSTANT: Final = Column(micros_or_none, instant_or_none)
FLAG: Final = Column(int, bool)


def json_column(kind: Any) -> Column:  # noqa: ANN401  # a type
    """A value as JSON, None as NULL."""
    decode = msgspec.json.Decoder(kind).decode
    return Column(
        lambda value: None if value is None else json_text(value),
        lambda text: None if text is None else decode(text),
    )


def json_list(kind: Any) -> Column:  # noqa: ANN401  # a type
    """A tuple as JSON, an empty one as NULL."""
    decode = msgspec.json.Decoder(kind).decode
    return Column(json_or_null, lambda text: decode(text) if text else ())


class RowCodec(Generic[T]):
    """The columns of a table that a value is made of, named like its fields and in this order."""

    def __init__(self, made: type[T], **columns: Column) -> None:
        self._made, self._columns = made, columns
        self._decoders = [(name, column.decode) for name, column in columns.items()]

    def names(self, prefix: str = "") -> str:
        """The columns for a statement, each with the alias of its table."""
        return ", ".join(f"{prefix}{name}" for name in self._columns)

    def row(self, value: T, *names: str) -> Row:
        """The columns of a value, or those of them."""
        chosen = [(name, self._columns[name].encode) for name in names or self._columns]
        return tuple(
            getattr(value, name) if encode is None else encode(getattr(value, name))
            for name, encode in chosen
        )

    def value(self, row: Row) -> T:
        """The value of a row of all columns."""
        fields = {
            name: one if decode is None else decode(one)
            for (name, decode), one in zip(self._decoders, row, strict=True)
        }
        return self._made(**fields)
