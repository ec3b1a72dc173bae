"""Checks that REST, gRPC and MCP share: allowed hosts, cross-origin requests, tokens, rate limit.

A request that names another host is refused: a page that makes its own name point to this machine
(DNS rebinding) sends that name. On loopback, as long as no token was ever made, everybody on the
machine may do everything; the first token closes that (D30).
"""
# Tested in tests/integration/interfaces/rest/

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter, authenticate, is_loopback
from feedmill.errors import CrowdedError
from feedmill.model.running.webhook import Caller

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:/?#@\[\]\s]+)(?::[0-9]{1,5})?")
_BEARER: Final = "bearer"
_LOOPBACK_CALLER: Final = Caller(
    token_id="loopback",  # noqa: S106  # a name, no secret
    name="loopback",
    scopes=("admin",),
)


def is_allowed_host(host: str, known: Sequence[str], *, is_local: bool) -> bool:
    """True when a Host header names this server: loopback names where bound to it, or a listed one."""
    if not is_local and not known:
        return True  # a token is needed there, and a rebound name has none
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found[1].lower()
    return name in known or (is_local and is_loopback(name))


def is_cross_origin(headers: Mapping[bytes, str]) -> bool:
    """True when a page of another origin sends the request: another scheme, host or port.

    Behind a proxy with TLS the scheme is the one that it forwards; a browser that says by itself that the page is of
    the same origin is believed, because no page can say that.
    """
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    # "same-site" is a page of the same host on another port, or of a sibling: no Origin comes with its <img>.
    if site in ("cross-site", "same-site"):
        return True
    if origin is None:
        return False
    scheme, _, host = origin.partition("://")
    if host != headers.get(b"host", ""):
        return True
    asked = headers.get(b"x-forwarded-proto", "http").partition(",")[0].strip().lower()
    return scheme.lower() != asked and site != "same-origin"


def bearer_token(fields: Sequence[str]) -> str | None:
    """The secret of the only Authorization field.

    Two fields are none: a proxy in between may have looked at the other one.
    """
    scheme, _, secret = (fields[0] if len(fields) == 1 else "").strip().partition(" ")
    return secret.strip() or None if scheme.lower() == _BEARER else None


async def identify_caller(
    token: str | None, services: Services, *, is_local: bool
) -> Caller | None:
    """The owner of the token; on loopback without any token in the store, an administrator."""
    caller = await authenticate(token, services.store, services.clock)
    if caller is None and is_local and not await services.store.tokens():
        return _LOOPBACK_CALLER
    return caller


def is_anonymous(caller: Caller | None) -> bool:
    """True for a program on this machine that showed no token: it may be an agent (D38)."""
    return caller is None or caller is _LOOPBACK_CALLER


def check_rate(limiter: RateLimiter, caller: Caller | None, address: str) -> None:
    """CrowdedError when a caller asks too often; without a token, each address has its own limit."""
    wait = limiter.admit(f"unknown {address}" if caller is None else caller.token_id)
    if wait > 0:
        message = f"too many requests; try again in {math.ceil(wait)} s"
        raise CrowdedError(message, reason="rate-limited", retry_after_sec=wait)
