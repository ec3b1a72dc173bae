"""Bundled screening data: default topics, background, reference population, evaluation sets."""
# Tested in tests/integration/adapters/screeners/test_embedding.py

from functools import cache
from importlib.resources import files

from msgspec.structs import replace

from feedmill.model.screening import EvaluationSet, ScreenText, TopicSet
from feedmill.screen.topics import read_topics, with_digest


@cache
def default_topics() -> TopicSet:
    """The six topics of seed 001, with sentences about anything else as their background."""
    topics = read_topics(_data("topics/sustainability.toml"))
    return with_digest(replace(topics, background=bundled_background()))


@cache
def bundled_background() -> tuple[str, ...]:
    """Sentences about anything else, for topics of any kind."""
    return tuple(_data("background.txt").split("\n")[:-1])


@cache
def general_subjects() -> tuple[str, ...]:
    """Sentences about the subjects of all fields of life, which thin topics are set off against."""
    return tuple(_data("subjects.txt").split("\n")[:-1])


@cache
def reference_texts() -> tuple[ScreenText, ...]:
    """The population that scores are compared with: ordinary entries of ordinary feeds."""
    return tuple(map(_text, _data("reference.txt").split("\n")[:-1]))


def evaluation_set(name: EvaluationSet = "sustainability") -> str:
    """An evaluation set of our own making, as JSON lines.

    `independent` was written by an author who had not seen the topics' sentences.
    """
    return _data(f"evaluation/{name}.jsonl")


def _text(line: str) -> ScreenText:
    words, categories, feed_title = (part.strip() for part in line.split("|"))
    return ScreenText(
        ref=0, title=words, categories=tuple(categories.split("; ")), feed_title=feed_title
    )


def _data(name: str) -> str:
    return files("feedmill.screen").joinpath("data", *name.split("/")).read_text("utf-8")
