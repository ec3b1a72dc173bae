"""Screener with decisions from outside: an agent or a person has judged the candidates."""

from collections.abc import Sequence

from feedmill.errors import UsageError
from feedmill.model.screening import Judgement, Method, Score, ScreenText, TopicSet
from feedmill.screen.llm_prompt import scores_of


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
