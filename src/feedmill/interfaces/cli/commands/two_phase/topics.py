"""`feedmill topics`: write, test and improve topics for screening."""
# Tested in tests/integration/interfaces/cli/commands/two_phase/test_topics.py

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from msgspec.structs import replace

from feedmill.app.screeners import open_screeners, read_topic_file, with_background
from feedmill.config import Config
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.two_phase.candidates import read_candidates
from feedmill.engine.two_phase.screen import (
    Labelled,
    entries_to_label,
    improve_topic,
    screen_texts,
)
from feedmill.engine.two_phase.sidecar_files import parse_ids
from feedmill.errors import TopicError
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt
from feedmill.interfaces.cli.options import FILE_TO_READ, FILE_TO_WRITE, option, usage_error
from feedmill.interfaces.cli.output import shorten, show_table
from feedmill.model.base import fields_of
from feedmill.model.screening import ScreenText, Topic, TopicSet
from feedmill.screen.language import screen_text_of
from feedmill.screen.topics import (
    choose_topics,
    read_topics,
    topic_named,
    weaknesses,
    with_digest,
    write_topics,
)

_BEST: Final = 5
_FEWEST_LABELS: Final = 4


@click.group()
def topics() -> None:
    """Write, test and improve topics for screening."""


@command("new", of=topics)
@click.argument("topic_id", metavar="ID")
@option("--name", "What the topic is called.", required=True)
@option("--description", "One line that says what it is about.", required=True)
@option("--example", "examples", "A sentence about it; repeatable.", multiple=True)
@option("--not-example", "not_examples", "One that only sounds like it; repeatable.", multiple=True)
@option(
    "--file",
    "path",
    "The topic file; it is made or extended.",
    default="topics.toml",
    type=FILE_TO_WRITE,
)
async def new_topic(
    topic_id: str,
    name: str,
    description: str,
    examples: tuple[str, ...],
    not_examples: tuple[str, ...],
    path: Path,
) -> Answer:
    """Add a topic to a topic file. A name and one line are enough to begin.

    \b
    Examples:
      feedmill topics new compost --name Compost --description "Humus of waste."
    """
    known = _read_or_begin(path)
    if topic_named(known, topic_id) is not None:
        raise TopicError([f"{path} has a topic {topic_id!r} already"])
    topic = Topic(
        id=topic_id,
        name=name,
        description=description,
        examples=examples,
        not_examples=not_examples,
    )
    text = write_topics(replace(known, topics=(*known.topics, topic)))
    read_topics(text)  # every mistake before the file is written
    write_file(path, text.encode())
    weak = weaknesses(TopicSet(name="", topics=(topic,)))
    lines = [f"added {topic_id} to {path}", *weak, f"next: feedmill topics improve {path} WINDOW"]
    shape = {"id": topic_id, "path": str(path), "warnings": list(weak)}
    return Answer(shape, "\n".join(lines))


@command("test", of=topics)
@click.argument("path", type=FILE_TO_READ, metavar="FILE")
@click.argument("window", type=FILE_TO_READ, metavar="WINDOW")
async def test_topics(config: Config, path: Path, window: Path) -> Answer:
    """Show the best entries of a window for each topic. Nothing is written."""
    known, texts = with_background(read_topic_file(path)), _texts(window)
    titles = {text.ref: text.title for text in texts}
    rows: list[dict[str, Any]] = []
    async with open_screeners(config) as opened:
        for topic in known.topics:  # each alone: among several an entry is about the best one only
            said = await screen_texts(
                texts,
                choose_topics(known, [topic.id]),
                opened.screeners,
                config.screen,
                asked=opened.asked,
            )
            rows += [
                fields_of(
                    one,
                    "topic candidate_id suggestion score",
                    topic=topic.id,
                    score=round(one.score, 3),
                    title=titles[one.candidate_id],
                )
                for one in sorted(said, key=lambda one: -one.score)[:_BEST]
            ]
    warnings = weaknesses(known)

    def show() -> None:
        head = ("topic", "id", "suggestion", "score", "title")
        show_table(head, [[str(cell) for cell in row.values()] for row in rows])
        for words in warnings:
            click.echo(f"note: {words}", err=True)

    return Answer({"items": rows, "next": None, "warnings": list(warnings)}, show)


@command("improve", of=topics)
@click.argument("path", type=FILE_TO_READ, metavar="FILE")
@click.argument("window", type=FILE_TO_READ, metavar="WINDOW")
@option("--topic", "name", "The topic to improve [the only one of the file].")
@option("--count", "Entries to label.", least=4, most=100, default=10)
@option("--about", "Instead of asking: ids of entries about the topic, such as 3,7.")
@option("--not-about", "Instead of asking: ids of entries about something else.")
async def improve(
    config: Config,
    path: Path,
    window: Path,
    name: str | None,
    count: int,
    about: str | None,
    not_about: str | None,
) -> Answer:
    """Label entries of a window and refit a topic. It shows how well the topic does before and after.

    On a terminal it shows ten entries and asks whether each is about the topic. What you say becomes examples
    and counter-examples, unless the topic would do worse with them.
    """
    known = with_background(read_topic_file(path))
    topic = _chosen(known, name)
    if about is not None or not_about is not None:
        labelled = _given(window, about, not_about)
    else:
        alone = with_digest(replace(known, topics=(topic,)))
        async with open_screeners(config) as opened:
            picked = await entries_to_label(
                _texts(window), alone, opened.screeners, config.screen, count
            )
        labelled = _asked(picked, topic)
    if len(labelled) < _FEWEST_LABELS or len({one.is_relevant for one in labelled}) < 2:
        usage_error(
            f"at least {_FEWEST_LABELS} entries of both kinds are needed; nothing was written"
        )
    async with open_screeners(config) as opened:
        done = await improve_topic(known, topic.id, labelled, opened.screeners, config.screen)
    if done.is_changed:
        own = read_topic_file(path)
        kept = tuple(done.topic if one.id == topic.id else one for one in own.topics)
        write_file(path, write_topics(replace(own, topics=kept)).encode())
    change = "written" if done.is_changed else "not changed: it would do worse with these examples"
    shape = {
        "topic": topic.id,
        "labels": len(labelled),
        "f1": [done.f1_before, done.f1_after],
        "auc": [done.auc_before, done.auc_after],
        "is_changed": done.is_changed,
    }
    words = (
        f"{topic.id}: F1 {done.f1_before:.2f} before, {done.f1_after:.2f} after\n"
        f"AUC {done.auc_before:.2f} before, {done.auc_after:.2f} after\n"
        f"{len(labelled)} entries, each measured without itself; {change}"
    )
    return Answer(shape, words)


def _read_or_begin(path: Path) -> TopicSet:
    return read_topic_file(path) if path.exists() else TopicSet(name=path.stem, topics=())


def _chosen(known: TopicSet, name: str | None) -> Topic:
    if name is None and len(known.topics) == 1:
        return known.topics[0]
    found = None if name is None else topic_named(known, name)
    if found is None:
        ids = ", ".join(one.id for one in known.topics)
        usage_error(f"name a topic of the file with --topic: {ids}")
    return found


def _texts(window: Path) -> list[ScreenText]:
    return [screen_text_of(one) for one in read_candidates(window).candidates]


def _given(window: Path, about: str | None, not_about: str | None) -> list[Labelled]:
    texts = {text.ref: text for text in _texts(window)}
    labels = [(ids, label) for ids, label in ((about, True), (not_about, False)) if ids]
    found = [(number, label) for ids, label in labels for number in parse_ids(ids)]
    unknown = [number for number, _ in found if number not in texts]
    if unknown:
        usage_error(f"the window has no candidate {unknown[0]}")
    if len(found) > len(dict(found)):
        usage_error("no entry can be about the topic and about something else")
    return [Labelled(texts[number], label) for number, label in found]


def _asked(texts: Sequence[ScreenText], topic: Topic) -> list[Labelled]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        usage_error("not a terminal: give --about and --not-about")
    found: list[Labelled] = []
    for number, text in enumerate(texts, 1):
        click.echo(
            f"{number}/{len(texts)}  {shorten(text.title, 200)}  ({shorten(text.feed_title, 60)})"
        )
        click.echo(f"      {shorten(text.summary, 300)}")
        with ctrl_c_ends_prompt():
            said = click.prompt(
                f"Is it about {shorten(topic.name, 60)}? y, n, s to skip",
                type=click.Choice(("y", "n", "s")),
                show_choices=False,
            )
        if said != "s":
            found.append(Labelled(text, said == "y"))
    return found
