"""`feedmill add`: subscribe to feeds; on a terminal it asks which feed of a page to take."""
# Tested in tests/integration/interfaces/cli/

import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import click
import msgspec
from msgspec.structs import replace

from feedmill.app.settings import load_rules
from feedmill.config import Config, ScheduleConfig
from feedmill.engine.run.services import Services
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.engine.subscribe.add_feed import (
    Subscribed,
    add_tags,
    subscribe_unchecked,
    validate_address,
)
from feedmill.engine.subscribe.subscriber import FeedChoices, Subscriber
from feedmill.errors import AddressError, FeedmillError, NoFeedError, UsageError
from feedmill.fetch.proxy import read_proxy
from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt, exit_with_error, is_json
from feedmill.interfaces.cli.options import bad_value, check_options, flag, option
from feedmill.interfaces.cli.output import (
    format_count,
    progress,
    shorten,
    show_json,
    show_table,
    style_text,
)
from feedmill.interfaces.cli.run_command import config_of, with_services
from feedmill.model.addresses import mask_address
from feedmill.model.canonical import Canonical, FoundFeed
from feedmill.model.feed import FeedOverrides
from feedmill.publish.to_json import feed_wire

_CHECKED: Final = ("min_interval_sec", "max_interval_sec", "user_agent", "username")
_WHY = {
    "response_url": "the address at which the server answers",
    "redirect_verified": "other addresses of the feed redirect there",
    "content_verified": "the same bytes at a cleaner address",
    "signature_verified": "the same feed at a cleaner address",
    "upgrade_https": "the same feed over https",
    "exists_in_db": "already known by another address",
    "fallback": "kept the address as given: no cleaner spelling served the same feed",
}


class AddOptions(NamedTuple):
    """The options that apply to every address of one command."""

    title: str | None
    tags: tuple[str, ...]
    overrides: FeedOverrides
    choose: str | None = None
    budget: int | None = None


class RejectedAddress(NamedTuple):
    """An address that could not be subscribed to."""

    address: str
    problem: FeedmillError


AddAnswer = Subscribed | FeedChoices | RejectedAddress


@command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@option("--tag TAG", "tags", "Tag the feed; repeatable.", multiple=True)
@option("--title TEXT", "Title to use until the feed has been fetched.")
@option("--min-interval SEC", "min_interval_sec", "Minimum polling interval.", least=1)
@option("--max-interval SEC", "max_interval_sec", "Maximum polling interval.", least=1)
@option("--header NAME:VALUE", "headers", "Send this request header; repeatable.", multiple=True)
@option("--user-agent TEXT", "User-Agent for this feed.")
@option("--username NAME", "User name for Basic authentication; prompts for the password.")
@option("--proxy URL", "Fetch through this proxy.")
@flag("--insecure", "Do not verify the TLS certificate; shown in every listing.")
@option(
    "--choose N|URL|best",
    "Which feed to take when a page has several; on a terminal you are asked.",
    type=str,
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
    headers = _headers(own["headers"])
    check_options(
        title=title,
        tags=tags,
        headers=headers,
        **{name: own[name] for name in _CHECKED},
    )
    _refuse_bad(urls, config)
    options = AddOptions(
        title=title, tags=tags, overrides=_overrides(own, headers), choose=choose, budget=budget
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


def _headers(lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            bad_value(f"{line!r} is not NAME:VALUE", "--header")
        headers.append((name.strip(), value.strip()))
    return tuple(headers)


def _overrides(own: dict[str, Any], headers: tuple[tuple[str, str], ...]) -> FeedOverrides:
    shortest, longest = own["min_interval_sec"], own["max_interval_sec"]
    if shortest and longest and shortest > longest:
        bad_value(f"{shortest} s is above --max-interval {longest}", "--min-interval")
    if own["proxy"] is not None:
        try:
            read_proxy(own["proxy"])
        except UsageError as problem:
            bad_value(str(problem), "--proxy")
    password = click.prompt("Password", hide_input=True) if own["username"] else None
    return FeedOverrides(
        min_interval_sec=shortest,
        max_interval_sec=longest,
        headers=headers,
        user_agent=own["user_agent"],
        username=own["username"],
        password=password,
        proxy=own["proxy"],
        verify_tls=not own["insecure"],
        archive_backfill=own["history"],
    )


async def subscribe_all(
    urls: Sequence[str], options: AddOptions, services: Services, *, as_is: bool, asks: bool
) -> list[AddAnswer]:
    """One answer per address; an error of one does not affect the others."""
    subscriber = open_subscriber(services)
    answers: list[AddAnswer] = []
    with progress(len(urls), "asking", hide=as_is or len(urls) == 1) as step:
        for url in urls:
            try:
                answers.append(await _subscribe_and_tag(url, options, subscriber, as_is=as_is))
            except (NoFeedError, UsageError) as problem:
                answers.append(RejectedAddress(url, problem))
            step()
    if asks and sys.stdin.isatty() and sys.stdout.isatty():
        answers = [await _decided(answer, options, subscriber) for answer in answers]
    return answers


def answer_shape(answer: AddAnswer, schedule: ScheduleConfig) -> dict[str, Any]:
    """An answer as JSON."""
    if isinstance(answer, RejectedAddress):
        problem = answer.problem
        error = {"code": problem.reason, "message": str(problem), "hint": problem.hint}
        return {"created": False, "address": answer.address, "error": error}
    if isinstance(answer, FeedChoices):
        feeds = [msgspec.to_builtins(feed) for feed in answer.feeds]
        return {"created": False, "page_url": answer.page_url, "choices": feeds}
    shape = {"created": answer.created, **feed_wire(answer.feed, schedule)}
    if answer.canonical is not None:
        shape["canonical"] = {
            "reason": answer.canonical.reason,
            "requests": answer.requests,
            "guessed": answer.is_guess,
        }
    if answer.chosen_for:
        shape["chosen_for"] = answer.chosen_for
    return shape


def print_answers(answers: Sequence[AddAnswer], *, is_polled: bool = False) -> None:
    """Print the answers."""
    for answer in answers:
        match answer:
            case Subscribed():
                _say_subscribed(answer)
            case FeedChoices():
                click.echo(f"{answer.words}; pass --choose N, URL or best:")
                show_choices(answer.feeds)
            case RejectedAddress(_, problem):
                click.echo(f"feedmill: {shorten(str(problem), 400)}", err=True)
                if problem.hint:
                    click.echo(f"  {problem.hint}", err=True)
    new = [one.feed for one in answers if isinstance(one, Subscribed) and one.created]
    if is_polled:
        return
    if any(feed.last_fetch_at is None for feed in new):
        click.echo("next: feedmill sync")
    elif new:
        found = format_count(sum(feed.new_entries_last_fetch for feed in new), "entry", "entries")
        click.echo(f"{found} stored; next: feedmill entries, feedmill run")


async def _subscribe_and_tag(
    url: str, options: AddOptions, subscriber: Subscriber, *, as_is: bool
) -> Subscribed | FeedChoices:
    done = await _subscribe(url, options, subscriber, as_is=as_is)
    if isinstance(done, FeedChoices) or done.created:
        return done
    return replace(done, feed=await add_tags(done.feed, options.tags, subscriber.services.store))


async def _subscribe(
    url: str, options: AddOptions, subscriber: Subscriber, *, as_is: bool
) -> Subscribed | FeedChoices:
    title, tags, overrides, choose, budget = options
    if as_is:
        return await subscribe_unchecked(
            url, subscriber.services, title=title, tags=tags, overrides=overrides
        )
    return await subscriber.subscribe(
        url, title=title, tags=tags, overrides=overrides, choose=choose, budget=budget
    )


async def _decided(answer: AddAnswer, options: AddOptions, subscriber: Subscriber) -> AddAnswer:
    """Ask which feed of a page with several to subscribe to."""
    if not isinstance(answer, FeedChoices):
        return answer
    click.echo(f"{answer.words}:")
    show_choices(answer.feeds)
    with ctrl_c_ends_prompt():
        number = click.prompt("Which one", type=click.IntRange(1, len(answer.feeds)), default=1)
    chosen = options._replace(choose=answer.feeds[number - 1].url)
    try:
        return await _subscribe_and_tag(answer.page_url, chosen, subscriber, as_is=False)
    except (NoFeedError, UsageError) as problem:
        return RejectedAddress(answer.page_url, problem)


def _say_subscribed(done: Subscribed) -> None:
    word = style_text("added", fg="green") if done.created else "already subscribed as"
    click.echo(f"{word} {done.feed.id}  {mask_address(done.feed.url)}")
    found = done.canonical
    if found is not None and done.requests:
        asked = "1 request" if done.requests == 1 else f"{done.requests} requests"
        click.echo(f"  {_why(found, done)} ({asked})")
        if done.chosen_for:
            click.echo(f"  {done.chosen_for}; the others are known as its addresses")


def _why(found: Canonical, done: Subscribed) -> str:
    given, page_url = found.input_url, done.page_url
    if done.is_guess:
        return f"guessed: {page_url} names no feed, and this usual address has one; {_WHY[found.reason]}"
    if page_url is not None:
        return f"found on {page_url}; {_WHY[found.reason]}"
    instead = f", instead of {given}" if given and given != found.url else ""
    return f"{_WHY[found.reason]}{instead}"


def show_choices(feeds: Sequence[FoundFeed]) -> None:
    """The feeds to choose among, best first."""
    rows = [
        (
            str(number),
            shorten(feed.title or "-", 50),
            feed.format or feed.type or "-",
            "-" if feed.entries is None else str(feed.entries),
            f"{feed.last_post:%Y-%m-%d}" if feed.last_post else "-",
            feed.url,
        )
        for number, feed in enumerate(feeds, 1)
    ]
    show_table(("n", "title", "format", "entries", "last post", "url"), rows)
