"""Subscribes to several addresses; on a terminal it asks which feed of a page to take."""
# Tested in tests/integration/interfaces/cli/

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click
import msgspec
from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.engine.run.services import Services
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.engine.subscribe.add_feed import Subscribed, add_tags, subscribe_unchecked
from feedmill.engine.subscribe.subscriber import FeedChoices, Subscriber
from feedmill.errors import FeedmillError, NoFeedError, UsageError
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt
from feedmill.interfaces.cli.output import format_count, progress, shorten, show_table, style_text
from feedmill.model.canonical import Canonical, FoundFeed
from feedmill.model.feed import FeedOverrides
from feedmill.publish.to_json import feed_wire

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
    click.echo(f"{word} {done.feed.id}  {done.feed.url}")
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
