"""Topic sets: read, checked, extended and overridden, named by a digest of their words.

A topic is recognised by its examples, not by its name: with the name alone, scores are little
better than chance. One with fewer than three examples works, and is called weak.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from feedmill.errors import TopicError
from feedmill.model.base import Value
from feedmill.model.screening import Topic, TopicSet

MIN_EXAMPLES: Final = 3
_BRACKETS: Final = re.compile(r"[()（）]")
_MAX_TOPICS: Final = 100
_MAX_SENTENCES: Final = 200


class _File(Value):
    """A topic file; `topics` in JSON and `[[topic]]` in TOML are the same list."""

    name: str = "custom"
    topic: tuple[Topic, ...] = ()
    topics: tuple[Topic, ...] = ()
    background: tuple[str, ...] = ()


def read_topics(text: str) -> TopicSet:
    """The topic set of a TOML or JSON document; TopicError lists every mistake."""
    file = _read(text)
    topics = (*file.topic, *file.topics)
    if mistakes := list(_mistakes(topics)):
        raise TopicError(mistakes)
    return with_digest(TopicSet(name=file.name, topics=topics, background=file.background))


def merge_topics(base: TopicSet, own: TopicSet) -> TopicSet:
    """The base with own topics: one with a known id takes its place, others come after."""
    mine = {topic.id: topic for topic in own.topics}
    kept = tuple(mine.pop(topic.id, topic) for topic in base.topics)
    return with_digest(
        TopicSet(
            name=f"{base.name}+{own.name}",
            topics=(*kept, *mine.values()),
            background=(*base.background, *own.background),
        )
    )


def choose_topics(topic_set: TopicSet, names: Sequence[str]) -> TopicSet:
    """Only the topics of these ids or names; TopicError for one that is not there."""
    if not names:
        return topic_set
    found = {name: topic_named(topic_set, name) for name in names}
    if unknown := [name for name, topic in found.items() if topic is None]:
        known = ", ".join(topic.id for topic in topic_set.topics)
        raise TopicError([f"no topic is called {name!r}; there are: {known}" for name in unknown])
    chosen = {topic.id: topic for topic in found.values() if topic is not None}
    return with_digest(msgspec.structs.replace(topic_set, topics=tuple(chosen.values())))


def topic_named(topic_set: TopicSet, name: str) -> Topic | None:
    """The topic with this id or name, the name's part before or in brackets, or a keyword."""
    wanted = _folded(name)
    for topic in topic_set.topics:
        spellings = (topic.id, topic.name, *_BRACKETS.split(topic.name), *topic.keywords)
        if wanted in map(_folded, spellings):
            return topic
    return None


def weaknesses(topic_set: TopicSet) -> tuple[str, ...]:
    """What will make topics hard to recognise, in words for their author."""
    return tuple(
        f"topic {topic.id!r} will be weak: {' and '.join(missing)}"
        for topic in topic_set.topics
        if (missing := list(_missing(topic)))
    )


def with_digest(topic_set: TopicSet) -> TopicSet:
    """The set with the version that names its exact words."""
    bare = msgspec.structs.replace(topic_set, version="")
    digest = hashlib.sha256(msgspec.json.encode(bare)).hexdigest()
    return msgspec.structs.replace(bare, version=digest[:16])


def _read(text: str) -> _File:
    try:
        data: Any = msgspec.json.decode(text) if _looks_json(text) else tomllib.loads(text)
        return msgspec.convert({"topics": data} if isinstance(data, list) else data, _File)
    except (msgspec.DecodeError, tomllib.TOMLDecodeError) as problem:
        mistake = f"the topics are neither TOML nor JSON of the expected shape ({problem})"
        raise TopicError([mistake]) from problem


def _looks_json(text: str) -> bool:
    start = text.lstrip()
    return start.startswith("{") or (start.startswith("[") and not start.startswith("[["))


def _mistakes(topics: Sequence[Topic]) -> Iterator[str]:
    if not topics:
        yield "there is no topic in it"
    if len(topics) > _MAX_TOPICS:
        yield f"{len(topics)} topics are more than {_MAX_TOPICS}"
    seen: set[str] = set()
    for topic in topics:
        if not topic.id.strip():
            yield f"the topic {topic.name!r} has no id"
        if topic.id in seen:
            yield f"two topics have the id {topic.id!r}"
        if not topic.description.strip() and not topic.examples:
            yield f"topic {topic.id!r} needs a description and {MIN_EXAMPLES} examples"
        if len(topic.examples) + len(topic.not_examples) > _MAX_SENTENCES:
            yield f"topic {topic.id!r} has more than {_MAX_SENTENCES} sentences"
        seen.add(topic.id)


def _missing(topic: Topic) -> Iterator[str]:
    if not topic.description.strip():
        yield "it has no description"
    if len(topic.examples) < MIN_EXAMPLES:
        yield f"it has {len(topic.examples)} example sentences, and {MIN_EXAMPLES} is the least"


def _folded(name: str) -> str:
    return " ".join(re.sub("[-_]", " ", name.casefold()).split())
