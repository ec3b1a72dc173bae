"""`feedmill healthcheck`: is the role on this machine ready? For containers, which ask by a command."""

import http.client
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import click
import msgspec

from feedmill.config import Config
from feedmill.interfaces.cli.exit import exit_with_error
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import shorten, show_json
from feedmill.interfaces.cli.run_command import config_of

_MOST_BYTES = 65_536
_ITSELF = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}  # noqa: S104  # asked, not bound


class _Answer(NamedTuple):
    is_ready: bool
    said: Any


@click.command()
@click.option("--url", metavar="URL", help="Ask there instead of where the settings say.")
@click.option(
    "--timeout",
    "timeout_sec",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    metavar="SEC",
    help="How long an answer may take.",
)
@json_option
@click.pass_context
def healthcheck(ctx: click.Context, url: str | None, timeout_sec: float, *, as_json: bool) -> None:
    """Leave with 0 when the role is ready and with 1 when it is not, saying why.

    It asks /readyz at FEEDMILL_HEALTH_PORT, or at the door of `serve` and `api` where none is set.

    \b
    Examples:
      FEEDMILL_HEALTH_PORT=9471 feedmill healthcheck      # the worker with that port
      feedmill healthcheck --url http://127.0.0.1:8642/readyz
    """
    address = url or health_url_of(config_of(ctx, as_json=as_json))
    if not address.startswith(("http://", "https://")):
        message = f"{address!r} is no address; it begins with http:// or https://"
        raise click.UsageError(message)
    try:
        answer = _ask(address, timeout_sec)
    except (OSError, http.client.HTTPException) as problem:
        words = getattr(problem, "reason", problem)  # urllib puts what happened into its own
        hint = "is the role started, and FEEDMILL_HEALTH_PORT or --url the same as there?"
        exit_with_error(
            "unreachable", f"{address} does not answer ({words})", hint, as_json=as_json
        )
    if not answer.is_ready:
        exit_with_error(
            "not-ready", f"{address} is not ready: {_reasons(answer.said)}", as_json=as_json
        )
    if as_json:
        show_json(answer.said)
    else:
        click.echo("ready")


def health_url_of(config: Config) -> str:
    """Where the role of these settings can be asked."""
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


def _decoded(body: bytes) -> Any:  # noqa: ANN401  # whatever somebody answers there
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {"detail": body.decode("utf-8", "replace")}


def _reasons(said: Any) -> str:  # noqa: ANN401
    """The reasons of a role's page, or the detail of a door's problem."""
    if not isinstance(said, dict):
        return "no reason was given"
    reasons = said.get("reasons") or [{"part": "door", "reason": said.get("detail", "unknown")}]
    return shorten(", ".join(f"{one.get('part')} {one.get('reason')}" for one in reasons), 400)
