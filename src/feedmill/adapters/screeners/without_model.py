"""Screeners that need no model: by words (BM25), and by decisions from outside."""
# Tested in tests/integration/engine/two_phase/test_screen.py

import asyncio
from collections.abc import Sequence

from feedmill.errors import UsageError
from feedmill.model.screening import Judgement, Method, Score, ScreenText, TopicSet
from feedmill.screen.bm25 import Lexicon, build_lexicon, lexical_scores
from feedmill.screen.llm_prompt import scores_of


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


class AgentScreener:
    """The `Screener` for judgements that were made elsewhere; each needs its reason."""

    name: Method = "agent"
    failure = ""

    def __init__(self, judgements: Sequence[Judgement]) -> None:
        for one in judgements:
            if not one.reason.strip():
                message = f"the decision on candidate {one.ref} has no reason"
                raise UsageError(message)
            if not 0 <= one.score <= 1:
                message = f"the score of candidate {one.ref} is not between 0 and 1"
                raise UsageError(message)
        self._judgements = {one.ref: one for one in judgements}

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:
        """The decisions on these texts; UsageError for a topic that is not in the set."""
        known = {topic.id for topic in topics.topics}
        found = [self._judgements[text.ref] for text in texts if text.ref in self._judgements]
        for one in found:
            if one.topic is not None and one.topic not in known:
                message = f"candidate {one.ref}: no topic is called {one.topic!r}"
                raise UsageError(message)
        return tuple(score for one in found for score in scores_of(one, topics, "agent"))

    async def close(self) -> None:
        """Nothing is held."""
