"""`feedmill canonicalize`: find and verify the canonical address of a feed."""

from typing import Any, Final

import click
import msgspec

from feedmill.canonicalise.policies import FEED_PRESETS, PRESET_LEVELS
from feedmill.canonicalise.search import CanonicalOptions
from feedmill.canonicalise.urls import other_scheme
from feedmill.config import Config
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.exit import exit_with_error, is_json
from feedmill.interfaces.cli.options import flag, option
from feedmill.interfaces.cli.output import shorten, show_table, style_text
from feedmill.interfaces.library import PROBES, REWRITES, canonicalize_each
from feedmill.model.canonical import Asked, Candidate, Canonical, CanonicalReason, NotCanonical

CanonicalVerdict = Canonical | NotCanonical

_BECAUSE: Final[dict[CanonicalReason, str]] = {
    "response_url": "the server answered at this address, and no cleaner spelling was left to try",
    "redirect_verified": "another of its addresses redirects there",
    "content_verified": "fetched separately, it served the same bytes",
    "signature_verified": "fetched separately, it served the same feed in other bytes",
    "upgrade_https": "the same feed is served there by https",
    "exists_in_db": "the feed is already known by this address",
    "fallback": "kept the address as given: cleaner spellings were tried, none served the same feed",
}
_ROLES: Final = {
    "input": "as given",
    "bare": "no credentials",
    "rewrite": "platform",
    "self": "self link",
    "probe": "probe",
    "variant": "cleaner",
    "upgrade": "https",
}
_SOURCES: Final = {
    "input": "the given address",
    "response": "where the server answered",
    "self": "the feed's own self link",
}
_HINTS: Final = {
    "malformed-url": "write an address like https://example.com/feed",
    "not-a-feed": "`feedmill add` looks for the feeds that a page names",
    "html-page": "a page, not a feed; `feedmill add` looks for the feeds that a page names",
    "private-address": "to allow a private network: FEEDMILL_EGRESS_ALLOW_CIDRS=192.168.1.0/24",
    "dns-failure": "check the spelling of the host",
    "rate-limited": "the host asked for a pause; try again later",
}


@command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@option(
    "--budget N", "Maximum number of requests after the first one.", least=0, most=20, default=3
)
@flag("--explain", "Show every candidate, every request and the reason.")
@option(
    "--rewrite",
    "rewrites",
    "Rewrite the address as this platform recommends; repeatable.",
    choices=tuple(REWRITES),
    multiple=True,
)
@option(
    "--probe",
    "probes",
    "Also try the usual feed addresses of this platform; repeatable.",
    choices=tuple(PROBES),
    multiple=True,
)
@flag("--no-signature", "Accept another address only when it serves the same bytes.")
@option(
    "--preset",
    "presets",
    "Try only the spellings of this preset; repeatable [all but feed-bare].",
    choices=tuple(PRESET_LEVELS),
    multiple=True,
)
@flag("--keep-www", "Do not try the address without www.")
@flag("--keep-http", "Do not try https where http answers.")
async def canonicalize(
    config: Config,
    urls: tuple[str, ...],
    *,
    explain: bool,
    **chosen: Any,  # noqa: ANN401
) -> Answer:
    """Find and verify the canonical address of a feed; nothing is stored.

    Exits with 1 when there is no feed at an address.

    \b
    Examples:
      feedmill canonicalize www.example.com/feed/?utm_source=mail
      feedmill canonicalize --explain --budget 5 https://example.com/rss
      feedmill canonicalize --json URL | jq -r .url
    """
    verdicts: list[CanonicalVerdict] = []

    def action(verdict: CanonicalVerdict) -> None:
        verdicts.append(verdict)
        if not is_json():
            _show(verdict, explain=explain)

    await canonicalize_each(urls, _options(chosen), config, action)
    has_failed = any(isinstance(verdict, NotCanonical) for verdict in verdicts)
    return Answer(_shapes(verdicts, explain=explain) if is_json() else None, "", int(has_failed))


def _options(chosen: dict[str, Any]) -> CanonicalOptions:
    return CanonicalOptions(
        budget=chosen["budget"],
        presets=chosen["presets"] or FEED_PRESETS,
        rewrites=tuple(REWRITES[name] for name in chosen["rewrites"]),
        probes=tuple(PROBES[name] for name in chosen["probes"]),
        use_signature=not chosen["no_signature"],
        prefer_https=not chosen["keep_http"],
        prefer_no_www=not chosen["keep_www"],
    )


def _shapes(verdicts: list[CanonicalVerdict], *, explain: bool) -> dict[str, Any]:
    if len(verdicts) > 1:
        return {"items": [_shape(one, explain=explain) for one in verdicts], "next": None}
    if isinstance(verdict := verdicts[0], NotCanonical):
        exit_with_error(verdict.reason, _words(verdict), _HINTS.get(verdict.reason, ""))
    return _shape(verdict, explain=explain)


def _shape(verdict: CanonicalVerdict, *, explain: bool) -> dict[str, Any]:
    """The verdict as JSON, with candidates and requests when --explain is given."""
    if isinstance(verdict, NotCanonical):
        error = {"code": verdict.reason, "message": _words(verdict)}
        hint = _HINTS.get(verdict.reason)
        return {"input_url": verdict.input_url, "error": {**error, "hint": hint}}
    shape: dict[str, Any] = msgspec.to_builtins(verdict)
    for name in ("existing",) if explain else ("existing", "candidates", "asked"):
        del shape[name]
    return shape


def _show(verdict: CanonicalVerdict, *, explain: bool) -> None:
    if explain:
        click.echo(style_text(shorten(verdict.input_url, 400), bold=True))
        if isinstance(verdict, Canonical):
            click.echo()
            _show_candidates(verdict)
        if verdict.asked:
            click.echo()
            _show_requests(verdict)
        click.echo()
    if isinstance(verdict, NotCanonical):
        _show_failure(verdict)
        return
    click.echo(style_text(shorten(verdict.url, 400), fg="green", bold=True))
    click.echo(f"  {_BECAUSE[verdict.reason]} ({verdict.reason})")
    if words := _why_not_self(verdict):
        click.echo(f"  {shorten(words, 400)}")
    if explain:
        click.echo(f"  {_origin(verdict)}")
        click.echo()


def _show_candidates(verdict: Canonical) -> None:
    rows = [
        (f"{one.cleanliness:.1f}", one.url, _proposed_by(one), one.verdict)
        for one in verdict.candidates
    ]
    show_table(("score", "candidate", "proposed by", "result"), rows, wrap=True)


def _show_requests(verdict: CanonicalVerdict) -> None:
    is_moved = any(one.final_url != one.url for one in verdict.asked)
    ended = ("ended at",) if is_moved else ()
    rows = [
        (
            str(number),
            _ROLES.get(one.role, one.role),
            one.url,
            "-" if one.status is None else str(one.status),
            *(("-" if one.final_url == one.url else one.final_url,) if is_moved else ()),
            _meaning(one),
        )
        for number, one in enumerate(verdict.asked, 1)
    ]
    show_table(("", "why", "request", "status", *ended, "result"), rows, wrap=True)


def _show_failure(verdict: NotCanonical) -> None:
    message = f"feedmill: {shorten(_words(verdict), 400)} ({verdict.reason})"
    hint = _HINTS.get(verdict.reason)
    click.echo(message + (f"\n  {hint}" if hint else ""), err=True)


def _proposed_by(one: Candidate) -> str:
    return one.preset.removeprefix("feed-") or "as found"


def _meaning(one: Asked) -> str:
    return f"{one.verdict}: {one.detail}" if one.detail else one.verdict


def _words(verdict: NotCanonical) -> str:
    answered = "no feed" if verdict.status is None else f"no feed; it answered {verdict.status}"
    return ": ".join(filter(None, (verdict.input_url, verdict.detail or answered)))


def _why_not_self(verdict: Canonical) -> str:
    """Why the address that the feed names as its own was not taken; empty when it was, or names none."""
    named = verdict.self_url
    if named is None or verdict.source == "self" or named in (verdict.url, verdict.response_url):
        return ""
    answers = [one for one in verdict.asked if one.url in (named, other_scheme(named))]
    if not answers:
        return f"its self URL {named} was not requested: no request was left (--budget)"
    last = next((one for one in answers if one.url == named), answers[-1])
    if last.final_url in (verdict.url, verdict.response_url):
        return f"its self URL {named} only redirects there"
    status = f", HTTP {last.status}" if last.status else ""
    return f"its self URL {named} was not taken: {_meaning(last)}{status}"


def _origin(verdict: Canonical) -> str:
    """One sentence: the source of the address and the number of requests."""
    spelt = f", spelt by {verdict.preset}" if verdict.preset else ""
    more = "1 request" if verdict.requests == 1 else f"{verdict.requests} requests"
    first = "no request was made" if not verdict.asked else f"{more} after the first"
    return f"it comes from {_SOURCES[verdict.source]}{spelt}; {first}"
