"""A search as values: what must and must not stand in an entry, and where it was found."""
# Tested in tests/unit/search/

from feedmill.model.base import Value


class Term(Value):
    """Tokens that stand side by side; with `prefix` the last one is the beginning of a token."""

    tokens: tuple[str, ...]
    prefix: bool = False

    @property
    def needle(self) -> str:
        """The term as it stands in an indexed text, where every token has a space on both sides."""
        return f" {' '.join(self.tokens)}" + ("" if self.prefix else " ")


class Clause(Value):
    """Alternatives of which one has to be there: spellings of the same word."""

    terms: tuple[Term, ...]


class SearchQuery(Value):
    """What an entry has to hold, and what it must not hold."""

    text: str  # as it was asked
    required: tuple[Clause, ...]
    excluded: tuple[Term, ...] = ()
    full_texts: bool = False  # also in the extracted texts of web pages


class Fragment(Value):
    """A piece of plain text; `match` where the search found it."""

    text: str
    match: bool = False


class Highlight(Value):
    """Title and an excerpt of the text as plain text, cut where matches begin and end."""

    title: tuple[Fragment, ...] = ()
    excerpt: tuple[Fragment, ...] = ()
