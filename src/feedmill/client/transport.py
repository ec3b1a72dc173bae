"""HTTP transport of the client: requests to one engine, every failure as one of our exceptions."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, TypeVar

import httpx
import msgspec

from feedmill import errors
from feedmill.publish.shapes import Problem
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
