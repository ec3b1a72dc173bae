"""The screener that needs no model, by words (BM25); and the data that is bundled.

Bundled are default topics, background, reference population, evaluation sets.
"""
# Tested in tests/integration/engine/two_phase/test_screen.py

import asyncio
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from msgspec.structs import replace

from feedmill.model.screening import EvaluationSet, Method, Score, ScreenText, TopicSet
from feedmill.screen.bm25 import Lexicon, build_lexicon, lexical_scores
from feedmill.screen.topics import read_topics, with_digest


class LexicalScreener:
    """The `Screener` by words; `reference` is the population that scores are compared with."""

    name: Method = "lexical"
    failure = ""

    def __init__(self, reference: Sequence[ScreenText]) -> None:
        self._reference = tuple(reference)
        self._lexicons: dict[str, Lexicon] = {}

    async def score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:
        """What words say of each text and each topic that has examples in its script."""
        return await asyncio.to_thread(self._score, texts, topics)

    async def close(self) -> None:
        """Nothing is held."""

    def _score(self, texts: Sequence[ScreenText], topics: TopicSet) -> tuple[Score, ...]:
        lexicon = self._lexicons.get(topics.version)
        if lexicon is None:
            lexicon = self._lexicons[topics.version] = build_lexicon(topics, self._reference)
        return tuple(score for text in texts for score in lexical_scores(text, lexicon))


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
