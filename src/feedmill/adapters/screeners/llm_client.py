"""One question to an OpenAI-compatible endpoint at a time, within the budget of a run.

A server that does not know structured output is asked for a plain JSON object, then for plain
text. One that asks us to wait is waited for, within limits. One whose answers cannot be used is
left alone after a few.
"""

from collections.abc import Callable
from typing import Final

from feedmill.config import ScreenConfig
from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.fetcher import Fetcher
from feedmill.fetch.retry_after import retry_after_sec
from feedmill.model.base import Value
from feedmill.model.fetch import FetchLimits, Headers, Post, RawResponse
from feedmill.screen.llm_prompt import FORMS, Form, completion_text

_ANSWER_BYTES: Final = 1024 * 1024
_HEADER_BYTES: Final = 65_536
_CHARS_PER_TOKEN: Final = 3
_WAITS: Final = 2  # for a server that is busy, per question
_DEFAULT_WAIT_SEC: Final = 1.0
_BUSY: Final = frozenset({429, 503})
_FORM_REFUSED: Final = frozenset({400, 422})


class CompletionFailure(Value):
    """Why there is no answer, in words."""

    words: str


class LlmClient:
    """Questions and answers of one run; `calls` and `failure` say what came of them."""

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
        max_redirects=0,
        max_body_bytes=_ANSWER_BYTES,
        max_wire_bytes=_ANSWER_BYTES,
        max_header_bytes=_HEADER_BYTES,
        min_bytes_per_sec=0,  # a model thinks before it speaks
        min_throughput_window_sec=10,
    )


def _words(response: RawResponse) -> str:
    if response.error is not None:
        return f"no answer: {response.error}"
    if response.status != 200:
        return f"it answered with status {response.status}"
    return "its answer is no completion"
