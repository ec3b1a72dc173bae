"""Transfer of one store into another: copied rows, and the comparison of the two."""

from typing import Literal

from feedmill.model.base import Value

DifferenceKind = Literal["missing", "extra", "changed"]  # of a row in the new store


class CopiedTable(Value):
    """Rows of one kind: how many there are, and how many of them came over this time."""

    name: str
    rows: int
    copied: int = 0
    folded: int = (
        0  # twins of another row, once their characters were replaced; ever since it began
    )
    replaced: int = 0  # characters that became U+FFFD, ever since it began


class RowDifference(Value):
    """The first row of a kind that is not the same in both stores."""

    kind: DifferenceKind
    key: str  # JSON
    columns: tuple[str, ...] = ()  # those that differ, when the row is changed


class ComparedTable(Value):
    """Rows of one kind in two stores: their numbers, and a SHA-256 over all of them in one order."""

    name: str
    rows_from: int
    rows_to: int
    digest_from: str
    digest_to: str
    folded: int = 0  # rows of the old store that another row of the new one speaks for
    differing: int = 0
    first: RowDifference | None = None

    @property
    def is_same(self) -> bool:
        """True when no row differs."""
        return self.differing == 0


class Transfer(Value):
    """A move from one store to another, as far as it has come."""

    source: str
    target: str
    tables: tuple[CopiedTable, ...]
    compared: tuple[ComparedTable, ...] = ()
    migrations: tuple[str, ...] = ()  # of the new store: applied now, or to be applied
    resumed: bool = False
    ended: bool = False  # everything is over there, and was compared

    @property
    def is_same(self) -> bool:
        """True when no row differs in what was compared."""
        return all(table.is_same for table in self.compared)
