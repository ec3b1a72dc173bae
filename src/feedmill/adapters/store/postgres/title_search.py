"""Search for words in titles: what PostgreSQL may leave out because it cannot match.

The rule (`paging.begins_word`) folds case as Unicode does, and no database does the same under every
locale. Letters of ASCII fold into ASCII everywhere, and nothing folds into Han, Kana or Hangul but
itself; so a title of ASCII alone is compared by PostgreSQL, a run of those signs has to stand in the
title as it is, and every other title with a sign beyond ASCII is looked at here.
"""

import re
from typing import Final

from feedmill.adapters.store.postgres.text_sanitising import postgres_text
from feedmill.adapters.store.statements import TitleSearch

_UNCASED: Final = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")
_BEYOND_ASCII: Final = "octet_length(e.title) > char_length(e.title)"


def title_search(text: str) -> TitleSearch:
    """How titles with a word that starts with the text are found."""
    kept = postgres_text(text)
    return TitleSearch(kept, _conditions(kept.casefold()), is_exact=False)


def _conditions(text: str) -> list[tuple[str, str]]:
    """Clauses with a place for one parameter each; no title that matches is left out."""
    if text.isascii():
        pattern = "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"
        return [(f'(e.title COLLATE "C" ILIKE {{}} OR {_BEYOND_ASCII})', pattern)]
    return [("strpos(e.title, {}) > 0", run.group()) for run in _UNCASED.finditer(text)] or [
        (f"{{}}::text IS NOT NULL AND {_BEYOND_ASCII}", text)
    ]
