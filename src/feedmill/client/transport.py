"""HTTP transport of the client: requests to one engine, every failure as one of our exceptions.

Follows the event log: each event once and in order, reconnecting as often as needed.

Server-sent events are parsed without I/O: octets go in, messages come out (WHATWG HTML §9.2.6).
"""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, TypeVar

import httpx
import msgspec

from feedmill import errors
from feedmill.errors import AnswerError, BusyError, GapError, ProblemError, UnreachableError
from feedmill.model.base import Value
from feedmill.publish.shapes import EventShape, Problem
from feedmill.version import __version__

T = TypeVar("T")

Parameters = Mapping[str, str | int | datetime | list[str] | None]

_KINDS: Final[Mapping[int, type[errors.ProblemError]]] = {
    401: errors.TokenError,
    403: errors.TokenError,
    404: errors.MissingError,
    410: errors.MissingError,
    429: errors.BusyError,
    503: errors.BusyError,
}
_MOST_PROBLEM_BYTES: Final = 65_536
SILENCE_SEC: Final = 60.0  # heartbeats come far more often
_FIRST_WAIT_SEC: Final = 0.25
_LONGEST_WAIT_SEC: Final = 30.0
_LONGEST_PAUSE_SEC: Final = 3_600.0  # that a server may ask for
_MOST_BYTES: Final = 64 * 1024 * 1024  # of one message; the largest entry is far below
_RETRY_DIGITS: Final = 9  # of milliseconds: days; longer waits are not honoured
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


class Transport:
    """One pool of connections to one engine."""

    def __init__(
        self, base_url: str, token: str | None, timeout: float, tls: ssl.SSLContext | None
    ) -> None:
        if not base_url.lower().startswith(("http://", "https://")):
            message = (
                f"{base_url!r} is not the URL of an API: it must begin with http:// or https://"
            )
            raise errors.UsageError(message)
        headers = {"User-Agent": f"feedmill-client/{__version__}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        # Proxies and passwords come from the caller, not from the machine (a .netrc would win
        # over the token); redirects are not followed: the token is for this engine alone.
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=headers,
            timeout=timeout,
            trust_env=False,
            follow_redirects=False,
            verify=True if tls is None else tls,
        )

    async def close(self) -> None:
        """End every connection."""
        await self._http.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        shape: type[T],
        *,
        params: Parameters | None = None,
        body: object = None,
        silence_sec: float | None = None,
    ) -> T:
        """The answer as a value of that shape."""
        response = await self.octets(
            method, path, params=params, body=body, silence_sec=silence_sec
        )
        try:
            return msgspec.json.decode(response.content, type=shape)
        except msgspec.DecodeError as problem:
            message = f"{method} {path} was answered with something else: {problem}"
            raise errors.AnswerError(message) from problem

    async def octets(
        self,
        method: str,
        path: str,
        *,
        params: Parameters | None = None,
        body: object = None,
        silence_sec: float | None = None,
    ) -> httpx.Response:
        """The answer as it came, when it is a good one."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = self._http.build_request(
            method,
            path,
            params=_query(params or {}),
            content=content,
            headers=headers,
            timeout=self._limits(silence_sec),
        )
        try:
            response = await self._http.send(request)
        except (httpx.TransportError, httpx.DecodingError) as trouble:
            raise _unreachable(trouble) from trouble
        if not response.is_success:
            raise problem_of(response)
        return response

    @asynccontextmanager
    async def stream(
        self, path: str, *, headers: Mapping[str, str], silence_sec: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The octets of an answer that does not end; a silence longer than that ends it."""
        limits = self._limits(silence_sec)
        try:
            async with self._http.stream("GET", path, headers=headers, timeout=limits) as response:
                if not response.is_success:
                    await response.aread()
                    raise problem_of(response)
                yield response.aiter_bytes()
        except (httpx.TransportError, httpx.DecodingError) as trouble:
            raise _unreachable(trouble) from trouble

    def _limits(self, silence_sec: float | None) -> httpx.Timeout:
        """The usual limits, with another one for how long the server may be silent."""
        usual = self._http.timeout
        silence = usual.read if silence_sec is None else silence_sec
        return httpx.Timeout(
            connect=usual.connect, read=silence, write=usual.write, pool=usual.pool
        )


def problem_of(response: httpx.Response) -> errors.ProblemError | errors.AnswerError:
    """What an answer that is no success says, as an exception."""
    if response.is_redirect or response.is_informational:
        message = (
            f"the server answered {response.status_code}, a redirect: give the URL that it leads to"
        )
        return errors.AnswerError(message)
    said = _problem_document(response)
    fallback = errors.RefusedError if response.is_client_error else errors.ProblemError
    kind = _KINDS.get(response.status_code, fallback)
    return kind(
        said.detail or said.title,
        status=response.status_code,
        reason=said.type.rpartition("/")[2],
        hint=said.hint or "",
        retry_after_sec=_seconds(response.headers.get("Retry-After")),
        document=said,
    )


def _problem_document(response: httpx.Response) -> Problem:
    """The problem document, or one that says as much when a proxy in between speaks HTML."""
    status = response.status_code
    try:
        return msgspec.json.decode(response.content[:_MOST_PROBLEM_BYTES], type=Problem)
    except msgspec.DecodeError:
        return Problem(type=f"http-{status}", title=f"the server answered {status}", status=status)


def _seconds(value: str | None) -> float | None:
    return float(value) if value is not None and value.isascii() and value.isdigit() else None


def _query(params: Parameters) -> dict[str, str | int | list[str]]:
    """The parameters that are given, times in ISO 8601."""
    given = {name: value for name, value in params.items() if value is not None and value != []}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in given.items()
    }


def _unreachable(trouble: Exception) -> errors.UnreachableError:
    return errors.UnreachableError(f"{type(trouble).__name__}: {trouble}".rstrip(": "))


class SseMessage(Value):
    """One message; `id` is the last one that the stream has named."""

    id: str
    event: str
    data: str


class SseParser:
    """Reads a stream as it comes, cut anywhere."""

    def __init__(self) -> None:
        self.retry_sec: float | None = None  # what the server asked for
        self._rest = b""
        self._id, self._event = "", ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, octets: bytes) -> list[SseMessage]:
        """The messages that these octets complete."""
        whole = self._rest + octets
        # A carriage return at the very end may be the first half of a line end.
        usable = len(whole) - 1 if whole.endswith(b"\r") else len(whole)
        lines = _LINE_END.split(whole[:usable])
        self._rest = lines.pop() + whole[usable:]
        self._bound(len(self._rest))
        return [message for line in lines if (message := self._read(line)) is not None]

    def _read(self, line: bytes) -> SseMessage | None:
        if not line:
            return self._dispatch()
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._bound(len(value) + 1)  # a line counts, even an empty one
                self._size += len(value) + 1
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry_sec = int(value[:_RETRY_DIGITS]) / 1000
            case _:  # a comment, which keeps the connection alive, or a field of the future
                pass
        return None

    def _dispatch(self) -> SseMessage | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        if not data:
            return None
        return SseMessage(id=self._id, event=event or "message", data="\n".join(data))

    def _bound(self, more: int) -> None:
        if self._size + more > _MOST_BYTES:
            message = "an event larger than the server may send"
            raise AnswerError(message)


async def follow(
    transport: Transport, after: int, *, silence_sec: float = SILENCE_SEC
) -> AsyncGenerator[EventShape, None]:
    """Every event after that number, for ever.

    When the connection breaks it is made again, later and later, and goes on after the last event
    that was handed out. What comes twice is handed out once; what is missing is a GapError. A log that
    went back says so with an event `log.rewound`, or refuses the position: RefusedError, `log-rewound`.
    """
    seq, wait = after, _FIRST_WAIT_SEC
    lost_some = False
    while True:
        pause: float | None = None
        stream = SseParser()
        try:
            begin = 0 if lost_some else seq
            async for event in _connection(transport, stream, begin, silence_sec):
                if event.seq <= seq:
                    continue
                if event.seq > seq + 1 and event.type != "log.rewound":
                    raise GapError(seq, event.seq)
                seq, wait = event.seq, _FIRST_WAIT_SEC
                yield event
        except UnreachableError:
            pass
        except ProblemError as problem:
            if problem.reason == "not-kept" and not lost_some:
                lost_some = True  # the first event that is left says how many
                continue
            if problem.status < 500 and not isinstance(problem, BusyError):
                raise
            pause = min(problem.retry_after_sec or 0.0, _LONGEST_PAUSE_SEC)
        await asyncio.sleep(max(wait, pause or 0.0, min(stream.retry_sec or 0.0, 30.0)))
        wait = min(wait * 2, _LONGEST_WAIT_SEC)


async def _connection(
    transport: Transport, stream: SseParser, seq: int, silence_sec: float
) -> AsyncIterator[EventShape]:
    """The events of one connection, until it ends."""
    # Number 0 stands before the first event; the field must not be left out, or a server
    # begins with what happens next.
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(seq)}
    async with transport.stream(
        "/events/stream", headers=headers, silence_sec=silence_sec
    ) as octets:
        async for chunk in octets:
            for message in stream.feed(chunk):
                yield _event(message)


def _event(message: SseMessage) -> EventShape:
    try:
        return msgspec.json.decode(message.data, type=EventShape)
    except msgspec.DecodeError as problem:
        text = f"the stream says something that is no event: {problem}"
        raise AnswerError(text) from problem
