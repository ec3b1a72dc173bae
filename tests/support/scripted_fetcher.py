"""Small, typed stand-ins for the world, held by the same contract suites as the real things."""

from collections.abc import Callable, Mapping

import msgspec

from feedmill.engine.ports.io import BodyRoom
from feedmill.errors import UsageError
from feedmill.fetch.guard import check_url
from feedmill.model.fetch import FetchPlan, Headers, Post, RawResponse, Refused

Answer = RawResponse | Callable[[FetchPlan], RawResponse]


class ScriptedFetcher:
    """Answers by URL: each one once, the last one for ever; an unknown URL has no server.

    The URL guard holds here too (loopback literals are allowed, as in the tests of the real
    one), so that an engine that forgets to look at refusals is found out.
    """

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self._answers: dict[str, list[Answer]] = {}
        self.asked: list[FetchPlan] = []
        self.posted: list[Post] = []
        self.options: list[tuple[bool, str | None]] = []  # verify_tls and proxy of each request
        self.closed = False
        for url, answer in (answers or {}).items():
            self.script(url, answer)

    def script(self, url: str, *answers: Answer) -> None:
        """Replace what is said at this URL."""
        self._answers[url] = list(answers)

    async def fetch(
        self,
        plan: FetchPlan,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        room: BodyRoom | None = None,  # noqa: ARG002  # small bodies only
    ) -> RawResponse:
        if self.closed:
            msg = "the fetcher is closed"
            raise UsageError(msg)
        self.asked.append(plan)
        self.options.append((verify_tls, proxy))
        refusal = check_url(plan.url, allow_cidrs=("127.0.0.0/8",))
        if isinstance(refusal, Refused):
            return _failed(plan, refusal.reason)
        answers = self._answers.get(plan.url)
        if not answers:
            return _failed(plan, "connection-failed")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        response = answer if isinstance(answer, RawResponse) else answer(plan)
        return msgspec.structs.replace(response, request_headers=plan.headers)

    async def post(self, post: Post) -> RawResponse:
        """Answers as to a GET, redirects included; what was sent is in `posted`."""
        if self.closed:
            msg = "the fetcher is closed"
            raise UsageError(msg)
        self.posted.append(post)
        plan = FetchPlan(url=post.url, headers=post.headers, conditional=False, limits=post.limits)
        return await self.fetch(plan)

    async def close(self) -> None:
        self.closed = True


def said(url: str, status: int = 200, body: bytes = b"", headers: Headers = ()) -> RawResponse:
    """A plain answer for a script."""
    return RawResponse(
        url=url,
        final_url=url,
        status=status,
        headers=headers,
        body=body,
        wire_length=len(body),
    )


def _failed(plan: FetchPlan, reason: object) -> RawResponse:
    return msgspec.convert(
        {
            "url": plan.url,
            "final_url": plan.url,
            "error": reason,
            "request_headers": plan.headers,
        },
        RawResponse,
    )
