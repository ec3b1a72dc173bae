"""The screener that asks a language model: any endpoint that speaks the OpenAI protocol.

Costs are bounded: calls and tokens of a run have ceilings, answers that cannot be used open a
breaker, every answer is remembered. What it cannot rate stays with the other methods, and
`failure` says why. Its requests go through the same guard as every other (D27).
"""

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.adapters.screeners.llm_client import CompletionFailure, LlmClient
from feedmill.config import ScreenConfig
from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.fetcher import Fetcher
from feedmill.errors import ScreenerError
from feedmill.model.screening import Judgement, Method, Score, ScreenText, TopicSet
from feedmill.screen.llm_prompt import PROMPT_VERSION, build_prompt, parse_judgements, scores_of

_KIND: Final = "judgement"


class LlmScreener:
    """The `Screener` by a language model; one run of screening each, with one budget."""

    name: Method = "llm"

    def __init__(
        self,
        config: ScreenConfig,
        fetcher: Fetcher,
        clock: Clock,
        memory: ScreeningCache,
        *,
        key: str | None = None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._memory = memory
        self._completions = LlmClient(config, fetcher, clock, key=key)
        self.failure = ""

    @property
    def calls(self) -> int:
        """Requests that were made so far."""
        return self._completions.calls

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:
        """What the model says of those texts that it rated; ScreenerError when it rated none."""
        self.failure = ""
        keys = {text.ref: self._key(text, topics) for text in texts}
        known = await self._recall(keys)
        todo = [text for text in texts if text.ref not in known]
        fresh = await self._judge_all(todo, topics)
        await self._memory.put_many(
            _KIND, {keys[one.ref]: msgspec.json.encode(one) for one in fresh.values()}
        )
        rated = known | fresh
        if texts and not rated:
            message = f"the language model rated nothing: {self.failure}"
            raise ScreenerError(message, reason="llm-unavailable")
        return tuple(score for one in rated.values() for score in scores_of(one, topics, "llm"))

    async def close(self) -> None:
        """Nothing is held; fetcher and memory belong to whoever made them."""

    async def _judge_all(
        self, texts: Sequence[ScreenText], topics: TopicSet
    ) -> dict[int, Judgement]:
        size = max(1, self._config.llm_batch)
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        places = asyncio.Semaphore(max(1, self._config.llm_concurrency))
        found: dict[int, Judgement] = {}

        async def judge(batch: Sequence[ScreenText]) -> None:
            async with places:
                found.update(await self._judge(batch, topics))

        async with asyncio.TaskGroup() as group:
            for batch in batches:
                group.create_task(judge(batch))
        left = [text for text in texts if text.ref not in found]
        if left:
            self.failure = self._completions.failure or "it left texts out of its answers"
        return found

    async def _judge(self, batch: Sequence[ScreenText], topics: TopicSet) -> dict[int, Judgement]:
        """A batch, and then one by one what a usable answer left out of it."""
        found = await self._ask(batch, topics)
        if not found or len(batch) == 1:
            return found
        for text in batch:
            if text.ref not in found:
                found |= await self._ask([text], topics)
        return found

    async def _ask(self, batch: Sequence[ScreenText], topics: TopicSet) -> dict[int, Judgement]:
        # A reference is good for one question only: a text cannot guess another's.
        texts: Mapping[str, ScreenText] = {self._clock.new_secret()[:12]: text for text in batch}
        model = self._config.llm_model
        content = await self._completions.ask(
            lambda form: build_prompt(texts, topics, model=model, form=form)
        )
        if isinstance(content, CompletionFailure):
            return {}
        found = {
            one.ref: one for one in parse_judgements(content, texts, topics, model=model or "llm")
        }
        self._completions.judge_answer(is_usable=bool(found))
        return found

    async def _recall(self, keys: Mapping[int, str]) -> dict[int, Judgement]:
        remembered = await self._memory.get_many(_KIND, list(keys.values()))
        found: dict[int, Judgement] = {}
        for ref, key in keys.items():
            if key in remembered:
                one = msgspec.json.decode(remembered[key], type=Judgement)
                found[ref] = msgspec.structs.replace(one, ref=ref)
        return found

    def _key(self, text: ScreenText, topics: TopicSet) -> str:
        bare = msgspec.structs.replace(text, ref=0)
        parts = (PROMPT_VERSION, self._config.llm_url, self._config.llm_model, topics.version)
        return sha256(msgspec.json.encode((*parts, bare))).hexdigest()
