"""Subscribing at the terminal: several addresses, questions where a page has several feeds."""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click
from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import Subscribed, add_tags, subscribe
from feedmill.engine.subscribe.subscriber import FeedChoices, Subscriber
from feedmill.errors import FeedmillError, NoFeedError, UsageError
from feedmill.interfaces.cli.output import progress, shorten, show_table, style_text
from feedmill.model.canonical import Canonical, FoundFeed
from feedmill.model.feed import FeedOverrides
from feedmill.publish.to_json import feed_wire

_WHY = {
    "response_url": "where its server answers",
    "redirect_verified": "where its other addresses redirect to",
    "content_verified": "the same bytes under a better address",
    "signature_verified": "the same feed under a better address",
    "upgrade_https": "the same feed by https",
    "exists_in_db": "known by another address",
    "fallback": "no cleaner address was proven",
}


class AddOptions(NamedTuple):
    """What is wanted of every feed of one command."""

    title: str | None
    tags: tuple[str, ...]
    overrides: FeedOverrides
    choose: str | None = None


class RejectedAddress(NamedTuple):
    """An address that did not become a subscription."""

    address: str
    problem: FeedmillError


AddAnswer = Subscribed | FeedChoices | RejectedAddress


async def subscribe_all(
    urls: Sequence[str], wishes: AddOptions, services: Services, *, as_is: bool, asks: bool
) -> list[AddAnswer]:
    """One answer per address; what is wrong with one is no trouble of the others."""
    desk = Subscriber(services)
    answers: list[AddAnswer] = []
    with progress(len(urls), "asking", hide=as_is or len(urls) == 1) as step:
        for url in urls:
            try:
                answers.append(await _join(url, wishes, desk, as_is=as_is))
            except (NoFeedError, UsageError) as problem:
                answers.append(RejectedAddress(url, problem))
            step()
    if asks and sys.stdin.isatty() and sys.stdout.isatty():
        answers = [await _decided(answer, wishes, desk) for answer in answers]
    return answers


def answer_shape(answer: AddAnswer, schedule: ScheduleConfig) -> dict[str, Any]:
    """An answer for programs."""
    if isinstance(answer, RejectedAddress):
        problem = answer.problem
        error = {"code": problem.reason, "message": str(problem), "hint": problem.hint}
        return {"created": False, "address": answer.address, "error": error}
    if isinstance(answer, FeedChoices):
        feeds = [_found_shape(feed) for feed in answer.feeds]
        return {"created": False, "page_url": answer.page_url, "choices": feeds}
    shape = {"created": answer.created, **feed_wire(answer.feed, schedule)}
    if answer.canonical is not None:
        shape["canonical"] = {"reason": answer.canonical.reason, "requests": answer.requests}
    return shape


def print_answers(answers: Sequence[AddAnswer]) -> None:
    """The answers for a person."""
    for answer in answers:
        match answer:
            case Subscribed():
                _say_subscribed(answer)
            case FeedChoices():
                click.echo(f"{answer.page_url} has several feeds; add --choose N, URL or best:")
                _show_choices(answer.feeds)
            case RejectedAddress(_, problem):
                click.echo(f"feedmill: {shorten(str(problem), 400)}", err=True)
                if problem.hint:
                    click.echo(f"  {problem.hint}", err=True)
    if any(isinstance(answer, Subscribed) and answer.created for answer in answers):
        click.echo("next: feedmill sync")


async def _join(
    url: str, wishes: AddOptions, desk: Subscriber, *, as_is: bool
) -> Subscribed | FeedChoices:
    done = await _met(url, wishes, desk, as_is=as_is)
    if isinstance(done, FeedChoices) or done.created:
        return done
    return replace(done, feed=await add_tags(done.feed, wishes.tags, desk.services.store))


async def _met(
    url: str, wishes: AddOptions, desk: Subscriber, *, as_is: bool
) -> Subscribed | FeedChoices:
    if as_is:
        return await subscribe(
            url, desk.services, title=wishes.title, tags=wishes.tags, overrides=wishes.overrides
        )
    return await desk.subscribe(
        url,
        title=wishes.title,
        tags=wishes.tags,
        overrides=wishes.overrides,
        choose=wishes.choose,
    )


async def _decided(answer: AddAnswer, wishes: AddOptions, desk: Subscriber) -> AddAnswer:
    """What the person at the terminal says to a page with several feeds."""
    if not isinstance(answer, FeedChoices):
        return answer
    click.echo(f"{answer.page_url} has several feeds:")
    _show_choices(answer.feeds)
    number = click.prompt("Which one", type=click.IntRange(1, len(answer.feeds)), default=1)
    chosen = wishes._replace(choose=answer.feeds[number - 1].url)
    try:
        return await _join(answer.page_url, chosen, desk, as_is=False)
    except (NoFeedError, UsageError) as problem:
        return RejectedAddress(answer.page_url, problem)


def _say_subscribed(done: Subscribed) -> None:
    word = style_text("added", fg="green") if done.created else "already here as"
    click.echo(f"{word} {done.feed.id}  {done.feed.url}")
    found = done.canonical
    if found is not None and done.requests:
        asked = "1 request" if done.requests == 1 else f"{done.requests} requests"
        click.echo(f"  {_why(found, done.page_url)} ({asked})")


def _why(found: Canonical, page_url: str | None) -> str:
    given = found.input_url
    if page_url is not None:
        return f"found on {page_url}; {_WHY[found.reason]}"
    instead = f", instead of {given}" if given and given != found.url else ""
    return f"{_WHY[found.reason]}{instead}"


def _show_choices(feeds: Sequence[FoundFeed]) -> None:
    rows = [
        (str(number), feed.title or "-", feed.type or "-", feed.url)
        for number, feed in enumerate(feeds, 1)
    ]
    show_table(("n", "title", "type", "url"), rows)


def _found_shape(feed: FoundFeed) -> dict[str, Any]:
    return {
        "url": feed.url,
        "title": feed.title,
        "type": feed.type,
        "found_by": feed.found_by,
        "is_comments": feed.is_comments,
    }
