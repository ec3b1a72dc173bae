"""The store's operations whose SQL both databases share: which query each one runs, and how.

`read` runs one statement, `look` several on one snapshot, `write` a transaction. What is hot or differs
for good reasons (claims, commits, identities, the event log, retention) is in the store of each database.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables import confirmations as confirmation_table
from feedmill.adapters.store.tables import cursors as cursor_table
from feedmill.adapters.store.tables import leases as lease_table
from feedmill.adapters.store.tables import tokens as token_table

P = ParamSpec("P")
T = TypeVar("T")

Method: TypeAlias = Callable[Concatenate["SqlStore", P], Coroutine[Any, Any, T]]


def read(query: Callable[P, Query[T]]) -> Method[P, T]:
    """A method that runs a query of one statement."""

    @wraps(query)
    async def method(self: "SqlStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read(lambda: query(*args, **kwargs))

    return method


def look(query: Callable[P, Query[T]]) -> Method[P, T]:
    """A method that runs a query of several statements on one snapshot."""

    @wraps(query)
    async def method(self: "SqlStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._look(lambda: query(*args, **kwargs))

    return method


def write(query: Callable[P, Query[T]]) -> Method[P, T]:
    """A method that runs a query in a transaction, which is committed when it returns."""

    @wraps(query)
    async def method(self: "SqlStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._write(lambda: query(*args, **kwargs))

    return method


class SqlStore(ABC):
    """Most of `engine.ports.store.Store`; `make` makes the query, anew for each attempt."""

    add_token = write(token_table.add_token)
    tokens = read(token_table.tokens)
    token_secrets = read(token_table.token_secrets)
    rotate_token = write(token_table.rotate_token)
    revoke_token = write(token_table.revoke_token)
    touch_token = write(token_table.touch_token)

    ask_question = write(confirmation_table.ask_question)
    questions = read(confirmation_table.questions)
    question = read(confirmation_table.question)
    answer_question = write(confirmation_table.answer_question)
    ticket = read(confirmation_table.ticket)
    spend_ticket = write(confirmation_table.spend_ticket)

    hold_lease = write(lease_table.hold_lease)
    end_lease = write(lease_table.end_lease)

    cursor = read(cursor_table.cursor)

    async def set_cursor(self, consumer: str, seq: int) -> None:
        """Store how far a consumer has read; going back is allowed, to replay."""
        reach("cursor-move")
        await self._write(lambda: cursor_table.set_cursor(consumer, seq))
        reach("cursor-moved")

    @abstractmethod
    async def _read(self, make: Callable[[], Query[T]]) -> T: ...

    @abstractmethod
    async def _look(self, make: Callable[[], Query[T]]) -> T: ...

    @abstractmethod
    async def _write(self, make: Callable[[], Query[T]]) -> T: ...
