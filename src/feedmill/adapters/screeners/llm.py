"""Screens by a language model: any endpoint that speaks the OpenAI protocol.

Costs are bounded: calls and tokens of a run have ceilings, answers that cannot be used open a
breaker, every answer is remembered. What it cannot rate stays with the other methods, and
`failure` says why. Its requests go through the same guard as every other (D27).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from feedmill.adapters.screeners.cache import ScreeningCache
from feedmill.config import ScreenConfig
from feedmill.engine.ports.io import Clock, Fetcher
from feedmill.errors import ScreenerError
from feedmill.fetch.headers import retry_after_sec
from feedmill.model.base import Value
from feedmill.model.fetch import FetchLimits, Headers, Post, RawResponse
from feedmill.model.screening import Judgement, Method, Score, ScreenText, TopicSet
from feedmill.screen.llm_prompt import (
    FORMS,
    PROMPT_VERSION,
    Form,
    build_prompt,
    completion_text,
    parse_judgements,
    scores_of,
)

_KIND: Final = "judgement"
_ANSWER_BYTES: Final = 1024 * 1024
_CHARS_PER_TOKEN: Final = 3
_WAITS: Final = 2  # for a server that is busy, per question
_DEFAULT_WAIT_SEC: Final = 1.0
_BUSY: Final = frozenset({429, 503})
_FORM_REFUSED: Final = frozenset({400, 422})


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
        """Nothing is held; fetcher and cache belong to the caller."""

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


class CompletionFailure(Value):
    """Why there is no answer, in words."""

    words: str


class LlmClient:
    """Requests of one run, within its budget; `calls` and `failure` say what came of them.

    A server that does not know structured output is asked for a plain JSON object, then for plain
    text. One that asks us to wait is waited for, within limits. One whose answers cannot be used is
    left alone after a few.
    """

    def __init__(
        self, config: ScreenConfig, fetcher: Fetcher, clock: Clock, *, key: str | None
    ) -> None:
        self._config = config
        self._fetcher = fetcher
        self._clock = clock
        self._headers: Headers = _headers(key)
        self._form = 0  # what the server is known to understand
        self._tokens = 0
        self._invalid = 0
        self.calls = 0
        self.failure = ""

    async def ask(self, body_for: Callable[[Form], bytes]) -> str | CompletionFailure:
        """The model's own words, or why there are none."""
        waits = 0
        form = self._form
        while True:
            if (spent := self._spent()) is not None:
                return spent
            response = await self._post(body_for(FORMS[form]))
            if response.status in _FORM_REFUSED and form + 1 < len(FORMS):
                form += 1
                continue
            if response.status in _BUSY and waits < _WAITS and await self._wait(response):
                waits += 1
                continue
            content = completion_text(response.body) if response.status == 200 else None
            if content is None:
                self.judge_answer(is_usable=False)
                return self._note(_words(response))
            # Only an answer proves a form; others may be under way with the one before.
            self._form = max(self._form, form)
            return content

    def judge_answer(self, *, is_usable: bool) -> None:
        """Count what could not be used; one good answer forgives all before it."""
        if is_usable:
            self._invalid = 0
            return
        self._invalid += 1
        if not self.failure:
            self._note("its answers cannot be used")

    def _spent(self) -> CompletionFailure | None:
        config = self._config
        if self._invalid >= config.llm_max_invalid:
            return self._note(f"left alone after {self._invalid} answers that cannot be used")
        if self.calls >= config.llm_max_calls:
            return self._note(f"the budget of {config.llm_max_calls} calls is spent")
        if self._tokens >= config.llm_max_tokens:
            return self._note(f"the budget of {config.llm_max_tokens} tokens is spent")
        return None

    async def _post(self, body: bytes) -> RawResponse:
        self.calls += 1
        self._tokens += len(body) // _CHARS_PER_TOKEN
        url = f"{(self._config.llm_url or '').rstrip('/')}/chat/completions"
        post = Post(url=url, headers=self._headers, body=body, limits=_limits(self._config))
        response = await self._fetcher.post(post)
        self._tokens += len(response.body) // _CHARS_PER_TOKEN
        return response

    async def _wait(self, response: RawResponse) -> bool:
        """Wait as long as the server asks; False when that is too long for a run."""
        asked = retry_after_sec(response.status or 0, response.headers, self._clock.now())
        wait_sec = _DEFAULT_WAIT_SEC if asked is None else asked
        if wait_sec > self._config.llm_retry_after_max_sec:
            return False
        await self._clock.sleep(wait_sec)
        return True

    def _note(self, words: str) -> CompletionFailure:
        self.failure = words
        return CompletionFailure(words=words)


def _headers(key: str | None) -> Headers:
    plain = (("Content-Type", "application/json"), ("Accept", "application/json"))
    return plain if key is None else (*plain, ("Authorization", f"Bearer {key}"))


def _limits(config: ScreenConfig) -> FetchLimits:
    return FetchLimits(
        timeout_ms=config.llm_timeout_ms,
        max_body_bytes=_ANSWER_BYTES,
        max_wire_bytes=_ANSWER_BYTES,
    )


def _words(response: RawResponse) -> str:
    if response.error is not None:
        return f"no answer: {response.error}"
    if response.status != 200:
        return f"it answered with status {response.status}"
    return "its answer is no completion"
