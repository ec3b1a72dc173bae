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
from msgspec import UnsetType

from feedmill.errors import TopicError
from feedmill.model.base import Value
from feedmill.model.candidate import CandidateFile
from feedmill.model.screening import Topic, TopicSet

MIN_EXAMPLES: Final = 3
_FEW_EXAMPLES: Final = 4
_MANY_EXAMPLES: Final = 12
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


def write_topics(topic_set: TopicSet) -> str:
    """A topic set as a TOML document that `read_topics` reads back."""
    lines = [f"name = {_toml(topic_set.name)}"]
    if topic_set.background:
        lines += _toml_list("background", topic_set.background)
    for topic in topic_set.topics:
        lines += ["", "[[topic]]"]
        lines += [
            f"{field} = {_toml(getattr(topic, field))}" for field in ("id", "name", "description")
        ]
        for field in ("examples", "not_examples", "keywords"):
            if values := getattr(topic, field):
                lines += _toml_list(field, values)
    return "\n".join(lines) + "\n"


def merge_topics(base: TopicSet, own: TopicSet) -> TopicSet:
    """The base with own topics: one with a known id takes its place, others come after."""
    mine = {topic.id: topic for topic in own.topics}
    kept = tuple(mine.pop(topic.id, topic) for topic in base.topics)
    return with_digest(
        TopicSet(
            name=f"{base.name}+{own.name}",
            topics=(*kept, *mine.values()),
            background=(*base.background, *own.background),
            rivals=base.rivals,
        )
    )


def with_topics_of_window(known: TopicSet, file: CandidateFile) -> TopicSet:
    """Known topics and those that travelled with a window, which come before known ones of the same id."""
    if isinstance(file.topic_set, UnsetType):
        return known
    return merge_topics(known, TopicSet(name="window", topics=file.topic_set))


def topics_of_window(known: TopicSet, file: CandidateFile) -> tuple[TopicSet, tuple[str, ...]]:
    """The topics that a window was collected for, and the names among them that are not known.

    What the person looks for goes with them, for a language model.
    """
    found = [name for name in file.topics if topic_named(known, name) is not None]
    chosen = choose_topics(known, found) if file.topics else known
    unknown = tuple(name for name in file.topics if name not in found)
    return with_digest(msgspec.structs.replace(chosen, prompt=file.prompt)), unknown


def choose_topics(topic_set: TopicSet, names: Sequence[str]) -> TopicSet:
    """Only the topics of these ids or names; the others stay as silent rivals.

    TopicError for one that is not there.
    """
    if not names:
        return topic_set
    found = {name: topic_named(topic_set, name) for name in names}
    if unknown := [name for name, topic in found.items() if topic is None]:
        known = ", ".join(topic.id for topic in topic_set.topics)
        raise TopicError([f"no topic is called {name!r}; there are: {known}" for name in unknown])
    chosen = {topic.id: topic for topic in found.values() if topic is not None}
    others = (one for one in topic_set.topics if one.id not in chosen)
    return with_digest(
        msgspec.structs.replace(
            topic_set, topics=tuple(chosen.values()), rivals=(*others, *topic_set.rivals)
        )
    )


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


def is_thin(topic: Topic) -> bool:
    """Whether too little is known of a topic to suggest more than unsure."""
    return len(topic.examples) < MIN_EXAMPLES


def known_share(topic: Topic) -> float:
    """From 0 (a name and a line) to 1 (a dozen examples): how far a topic's own scale can be trusted."""
    return min(
        1.0, max(0.0, (len(topic.examples) - _FEW_EXAMPLES) / (_MANY_EXAMPLES - _FEW_EXAMPLES))
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


def _toml(text: str) -> str:
    # A JSON string is a TOML basic string, but for one character that TOML wants escaped.
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007F")


def _toml_list(name: str, values: Sequence[str]) -> list[str]:
    return [f"{name} = [", *(f"  {_toml(value)}," for value in values), "]"]


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
        if not (topic.name + topic.description).strip() and not topic.examples:
            yield f"topic {topic.id!r} needs a name and a description"
        elif not any(map(str.isalnum, "".join((topic.name, topic.description, *topic.examples)))):
            yield f"topic {topic.id!r} has no words to recognise it by"
        if len(topic.examples) + len(topic.not_examples) > _MAX_SENTENCES:
            yield f"topic {topic.id!r} has more than {_MAX_SENTENCES} sentences"
        seen.add(topic.id)


def _missing(topic: Topic) -> Iterator[str]:
    if not topic.description.strip():
        yield "it has no description"
    if len(topic.examples) < MIN_EXAMPLES:
        yield f"it has {len(topic.examples)} example sentences, and {MIN_EXAMPLES} is the least"
    both = {*map(_folded, topic.examples)} & {*map(_folded, topic.not_examples)}
    if both:
        sentences = "1 sentence is" if len(both) == 1 else f"{len(both)} sentences are"
        yield f"{sentences} an example and a counter-example"


def _folded(name: str) -> str:
    return " ".join(re.sub("[-_]", " ", name.casefold()).split())
