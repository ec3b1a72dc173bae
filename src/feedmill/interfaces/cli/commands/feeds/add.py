"""`feedmill add`: subscribe to feeds."""
# Tested in tests/integration/interfaces/cli/

import sys
from typing import Any

import click

from feedmill.app.settings import load_rules
from feedmill.config import Config
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import Subscribed, validate_address
from feedmill.errors import AddressError
from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.exit import exit_with_error, is_json
from feedmill.interfaces.cli.options import flag, option
from feedmill.interfaces.cli.output import show_json
from feedmill.interfaces.cli.run_command import config_of, with_services
from feedmill.interfaces.cli.subscribe_addresses import (
    AddAnswer,
    AddOptions,
    answer_shape,
    print_answers,
    subscribe_all,
)
from feedmill.model.feed import FeedOverrides

_SECONDS = click.IntRange(min=1)


@command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@option("--tag TAG", "tags", "Tag the feed; repeatable.", multiple=True)
@option("--title TEXT", "Title to use until the feed has been fetched.")
@option("--min-interval SEC", "Minimum polling interval.", type=_SECONDS)
@option("--max-interval SEC", "Maximum polling interval.", type=_SECONDS)
@option("--header NAME:VALUE", "headers", "Send this request header; repeatable.", multiple=True)
@option("--user-agent TEXT", "User-Agent for this feed.")
@option("--username NAME", "User name for Basic authentication; prompts for the password.")
@option("--proxy URL", "Fetch through this proxy.")
@flag("--insecure", "Do not verify the TLS certificate; shown in every listing.")
@option(
    "--choose N|URL|best",
    "Which feed to take when a page has several; on a terminal you are asked.",
)
@option(
    "--budget N",
    "Maximum number of requests when a page is searched for feeds [as the settings say: 12].",
    least=0,
    most=100,
)
@flag("--history", "Read the feed's archive too, page by page in the background.")
@flag("--as-is", "Subscribe to the address unchecked, without any request.")
@flag(
    "--sync",
    "and_sync",
    "Poll now what was not fetched on the way: with --as-is, or feeds already subscribed.",
)
def add(
    urls: tuple[str, ...],
    tags: tuple[str, ...],
    title: str | None,
    choose: str | None,
    budget: int | None,
    *,
    as_is: bool,
    and_sync: bool,
    **own: Any,  # noqa: ANN401
) -> None:
    """Subscribe to feeds. An address may be a feed, a web page, a channel or a repository.

    The feed is fetched and stored under its canonical address; a page is searched for its feeds. An
    address that is already known needs no request.

    \b
    Examples:
      feedmill add https://example.com --tag news
      feedmill add feed://example.com/rss --min-interval 3600
      feedmill add https://example.com/blog --choose best
      feedmill add https://example.com/podcast --history
      feedmill add --as-is https://example.com/feed --sync
    """
    config = config_of()
    _refuse_bad(urls, config)
    options = AddOptions(
        title=title, tags=tags, overrides=_overrides(own), choose=choose, budget=budget
    )

    async def action(services: Services) -> tuple[list[AddAnswer], dict[str, Any] | None]:
        answers = await subscribe_all(urls, options, services, as_is=as_is, asks=not is_json())
        return answers, await _poll(answers, services) if and_sync else None

    answers, polled = with_services(action, config=config)
    shapes = [answer_shape(answer, config.schedule) for answer in answers]
    if polled is not None:
        shapes = [{**shape, "sync": polled} for shape in shapes]
    if is_json():
        show_json(shapes[0] if len(shapes) == 1 else {"items": shapes, "next": None})
    else:
        print_answers(answers, is_polled=polled is not None)
        if polled is not None:
            from feedmill.interfaces.cli.commands.servers.sync import print_result  # noqa: PLC0415

            print_result(polled)
    sys.exit(0 if all(isinstance(answer, Subscribed) for answer in answers) else 1)


async def _poll(answers: list[AddAnswer], services: Services) -> dict[str, Any] | None:
    """Poll the feeds that were not fetched while they were added; None when all were."""
    done = [one for one in answers if isinstance(one, Subscribed)]
    due = [one.feed.id for one in done if not one.created or one.feed.last_fetch_at is None]
    if not due:
        return None
    from feedmill.interfaces.cli.commands.servers.sync import poll_once  # noqa: PLC0415  # what polls

    result = await poll_once(services, due, force=True, taps=True)
    result.pop("interrupted")
    for problem in result.pop("ended_by"):
        raise problem
    return result


def _refuse_bad(urls: tuple[str, ...], config: Config) -> None:
    """Exit with an error that lists every invalid address; nothing is added."""
    problems: list[AddressError] = []
    rules = load_rules(config.discovery)
    for url in urls:
        try:
            validate_address(url, config.fetch.allow_cidrs, rules)
        except AddressError as problem:
            problems.append(problem)
    if not problems:
        return
    words = [str(problem) for problem in problems]
    if len(urls) > len(problems):
        words.append("nothing was added")
    hints = dict.fromkeys(problem.hint for problem in problems)
    hint = "\n  ".join(hint for hint in hints if hint)
    message = ("; " if is_json() else "\nfeedmill: ").join(words)
    exit_with_error(problems[0].reason, message, hint, status=2)


def _overrides(own: dict[str, Any]) -> FeedOverrides:
    shortest, longest = own["min_interval"], own["max_interval"]
    if shortest and longest and shortest > longest:
        message = f"{shortest} s is above --max-interval {longest}"
        raise click.BadParameter(message, param_hint="--min-interval")
    headers = []
    for line in own["headers"]:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            message = f"{line!r} is not NAME:VALUE"
            raise click.BadParameter(message, param_hint="--header")
        headers.append((name.strip(), value.strip()))
    password = click.prompt("Password", hide_input=True) if own["username"] else None
    return FeedOverrides(
        min_interval_sec=shortest,
        max_interval_sec=longest,
        headers=tuple(headers),
        user_agent=own["user_agent"],
        username=own["username"],
        password=password,
        proxy=own["proxy"],
        verify_tls=not own["insecure"],
        archive_backfill=own["history"],
    )
