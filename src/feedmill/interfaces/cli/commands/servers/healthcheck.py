"""`feedmill healthcheck`: check whether a role on this machine is ready, for containers."""
# Tested in tests/integration/interfaces/cli/

import http.client
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import msgspec

from feedmill.config import Config
from feedmill.interfaces.cli.command import Answer, command, print_answer
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.options import Number, option, usage_error
from feedmill.interfaces.cli.output import shorten
from feedmill.interfaces.cli.run_command import config_of

_MOST_BYTES = 65_536
_ITSELF = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}  # noqa: S104  # asked, not bound


class _Answer(NamedTuple):
    is_ready: bool
    said: Any


@command()
@option("--url URL", "URL to check instead of the configured one.")
@option(
    "--timeout SEC",
    "timeout_sec",
    "Timeout in seconds.",
    type=Number(min=0.1),
    default=5.0,
)
def healthcheck(url: str | None, timeout_sec: float) -> None:
    """Exit with 0 when the role is ready, else with 1 and the reasons.

    It requests /readyz on FEEDMILL_HEALTH_PORT or, when that is not set, on the REST port.

    \b
    Examples:
      FEEDMILL_HEALTH_PORT=9471 feedmill healthcheck    # of that worker
      feedmill healthcheck --url http://127.0.0.1:8642/readyz
    """
    address = url or health_url_of(config_of())
    if not address.startswith(("http://", "https://")):
        usage_error(f"{address!r} is not a URL; it must begin with http:// or https://")
    try:
        answer = _ask(address, timeout_sec)
    except (OSError, http.client.HTTPException) as problem:
        words = getattr(problem, "reason", problem)  # urllib puts what happened into its own
        hint = "check that the role is running and that FEEDMILL_HEALTH_PORT or --url match its settings"
        exit_with_error("unreachable", f"{address} does not answer ({words})", hint)
    if not answer.is_ready:
        exit_with_error("not-ready", f"{address} is not ready: {_reasons(answer.said)}")
    print_answer(Answer(answer.said, "ready"))


def health_url_of(config: Config) -> str:
    """The /readyz URL according to the settings."""
    port = config.health.port or config.serve.port
    host = config.health.host if config.health.port else config.serve.host
    return f"http://{_ITSELF.get(host, host)}:{port}/readyz"


def _ask(address: str, timeout_sec: float) -> _Answer:
    # The environment's proxies are for others: this asks the machine itself.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(address, timeout=timeout_sec) as response:
            return _Answer(is_ready=True, said=_decoded(response.read(_MOST_BYTES)))
    except HTTPError as problem:
        with problem:
            return _Answer(is_ready=False, said=_decoded(problem.read(_MOST_BYTES)))


def _decoded(body: bytes) -> Any:  # noqa: ANN401  # any JSON
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {"detail": body.decode("utf-8", "replace")}


def _reasons(said: Any) -> str:  # noqa: ANN401
    """The reasons on a health page, or the detail of a REST problem."""
    if not isinstance(said, dict):
        return "no reason was given"
    reasons = said.get("reasons") or [{"part": "door", "reason": said.get("detail", "unknown")}]
    return shorten(", ".join(f"{one.get('part')} {one.get('reason')}" for one in reasons), 400)
