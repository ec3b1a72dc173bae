"""Search for every interface: marks what was found in entries."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_search.py

from collections.abc import Sequence

from msgspec.structs import replace

from feedmill.engine.run.services import Services
from feedmill.errors import ConflictError
from feedmill.model.derived.search import SearchQuery
from feedmill.model.event import StoredEntry


def check_searchable(services: Services) -> None:
    """ConflictError where search is off."""
    if not services.config.search.enabled:
        message = "search is off: entries are not indexed"
        hint = "set [search] enabled = true, then run `feedmill reindex`"
        raise ConflictError(message, reason="search-off", hint=hint)


async def with_highlights(
    entries: Sequence[StoredEntry], query: SearchQuery, services: Services
) -> tuple[StoredEntry, ...]:
    """The entries, each with what the search found in it."""
    uids = [one.entry_uid for one in entries]
    pages = await services.store.full_texts_of(uids) if query.full_texts else {}

    def texts(entry: StoredEntry) -> tuple[str | None, ...]:
        page = pages.get(entry.entry_uid)
        return entry.summary, entry.content, None if page is None else page.html

    from feedmill.search.highlight import highlight  # noqa: PLC0415  # its tables take 9 ms at every start

    return tuple(replace(one, highlight=highlight(query, one.title, texts(one))) for one in entries)
