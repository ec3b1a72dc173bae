"""The screener that needs no model: by words (BM25)."""
# Tested in tests/integration/engine/two_phase/test_screen.py

import asyncio
from collections.abc import Sequence

from feedmill.model.screening import Method, Score, ScreenText, TopicSet
from feedmill.screen.bm25 import Lexicon, build_lexicon, lexical_scores


class LexicalScreener:
    """The `Screener` by words; `reference` is the population that scores are compared with."""

    name: Method = "lexical"
    failure = ""

    def __init__(self, reference: Sequence[ScreenText]) -> None:
        self._reference = tuple(reference)
        self._lexicons: dict[str, Lexicon] = {}

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:
        """What words say of each text and each topic that has examples in its script."""
        return await asyncio.to_thread(self._score, texts, topics)

    async def close(self) -> None:
        """Nothing is held."""

    def _score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:
        lexicon = self._lexicons.get(topics.version)
        if lexicon is None:
            lexicon = self._lexicons[topics.version] = build_lexicon(topics, self._reference)
        return tuple(score for text in texts for score in lexical_scores(text, lexicon))
