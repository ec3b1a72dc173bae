"""Lexical scores: BM25 of a text against the examples of each topic (no model, any script).

It sees only words that examples and text share, so it is blind across languages: a topic without
examples in the script of a text gives no score at all rather than a bad one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import copysign, fsum, log, log1p, sqrt
from typing import Final

from msgspec.structs import replace

from feedmill.model.base import Value
from feedmill.model.screening import Score, ScreenText, Topic, TopicSet
from feedmill.screen.calibration import LEXICAL, Scale, probability, scales_of, z_score
from feedmill.screen.language import language_of, main_script
from feedmill.screen.texts import TextScript, joined_text, script_of
from feedmill.screen.tokenise import tokenise, tokenise_with_positions
from feedmill.screen.topics import MIN_EXAMPLES, known_share

Located = tuple[str, tuple[tuple[str, int, int], ...]]  # see located_terms

MODEL_ID: Final = "lexical-3"
_SATURATION: Final = 1.2  # BM25's k1
_AGAINST: Final = 0.6  # what a word of a not_example takes away
_FEWEST: Final = 8  # a text of fewer terms is weighed as one of so many
_EVIDENCE: Final = 5
_READABLE: Final = (
    0.2  # share of known words; English of unclear language has 0.3 and more, others 0.1 and less
)
_TELLING: Final = 1.0  # below this z no words are gathered: most texts are about something else
# A name and a line share at most a few words with a text: a scale of its own would make one shared word
# fourteen deviations. With this one, two telling words in a text of usual length are a keep.
_THIN: Final = Scale(mean=0.0, deviation=0.5)
_NAME_TIMES: Final = 2  # how often the name counts beside the description
_COMPOUNDING: Final = frozenset({"de", "nl", "sv", "da", "nb", "fi", "hu"})
_SHORTEST_COMPOUND: Final = 9
_SHORTEST_PART: Final = 5
_LONGEST_WORD: Final = 60


class Lexicon(Value):
    """What every term says about every topic, and how usual each sum is."""

    topics: tuple[str, ...]
    names: dict[str, str]
    scripts: dict[str, frozenset[str]]  # that a topic has sentences in
    languages: dict[str, frozenset[str]]
    vocabulary: frozenset[str]  # of everything that was read
    known: dict[str, float]  # share of the topic's own scale
    weights: dict[str, tuple[tuple[int, float], ...]]  # term: (topic's place, weight)
    telling: tuple[dict[str, float], ...]  # by topic: terms that speak for it
    scales: dict[tuple[TextScript, str], Scale]


def build_lexicon(topic_set: TopicSet, reference: Sequence[ScreenText]) -> Lexicon:
    """The lexicon of a topic set with its rivals; the reference texts are about anything else."""
    topics = replace(topic_set, topics=(*topic_set.topics, *topic_set.rivals))
    common = Counter(term for passage in _passages(topics, reference) for term in set(passage))
    size = sum(1 for _ in _passages(topics, reference))
    rarity = {term: log(1 + (size - n + 0.5) / (n + 0.5)) for term, n in common.items()}
    weights = _weights(topics, rarity)
    bare = Lexicon(
        topics=tuple(topic.id for topic in topics.topics),
        names={topic.id: topic.name for topic in topics.topics},
        scripts={topic.id: frozenset(map(main_script, _about(topic))) for topic in topics.topics},
        languages={topic.id: _languages(topic) for topic in topics.topics},
        vocabulary=frozenset(common),
        known={topic.id: known_share(topic) for topic in topics.topics},
        weights=weights,
        telling=tuple(
            {
                term: own
                for term, said in weights.items()
                for at, own in said
                if at == place and own > 0
            }
            for place in range(len(topics.topics))
        ),
        scales={},
    )
    passages = map(joined_text, reference)
    population = [(script_of(passage), _raws(set(tokenise(passage)), bare)) for passage in passages]
    return replace(bare, scales=scales_of(population))


def lexical_scores(text: ScreenText, lexicon: Lexicon) -> tuple[Score, ...]:
    """What the words of a text say about each topic that has sentences in its language.

    A text whose language is not clear is compared with the topics of its script. In Latin letters, it must share
    words with what was read, or with the topic: else it is in a language that no topic has.
    """
    passage = joined_text(text)
    language, script, letters = language_of(passage), script_of(passage), main_script(passage)
    folded, located = tokenise_with_positions(passage)
    if language in _COMPOUNDING:
        located = tuple(_with_parts(located, lexicon))
    terms = {term for term, _, _ in located}
    raws = _raws(terms, lexicon)
    is_known = bool(language or letters) or _known_words(terms, lexicon) >= _READABLE
    return tuple(
        _score(text.ref, topic, raw, lexicon.scales[script, topic], (folded, located), lexicon)
        for topic, raw in raws.items()
        if letters in lexicon.scripts[topic]
        and _can_read(language, lexicon.languages[topic])
        and (is_known or raw > 0)
    )


def _known_words(terms: set[str], lexicon: Lexicon) -> float:
    return len(terms & lexicon.vocabulary) / max(1, len(terms))


def _can_read(language: str, known: frozenset[str]) -> bool:
    return not language or not known or language in known


def _with_parts(
    located: Sequence[tuple[str, int, int]], lexicon: Lexicon
) -> Iterator[tuple[str, int, int]]:
    """Terms, and instead of a compound that no topic knows its known beginning and end."""
    for term, start, end in located:
        parts = () if term in lexicon.weights else _parts(term, lexicon)
        yield from ((part, start, end) for part in parts or (term,))


def _parts(term: str, lexicon: Lexicon) -> tuple[str, ...]:
    if not _SHORTEST_COMPOUND <= len(term) <= _LONGEST_WORD:
        return ()
    cuts = range(_SHORTEST_PART, len(term) - _SHORTEST_PART + 1)
    first = next((term[:cut] for cut in reversed(cuts) if term[:cut] in lexicon.weights), None)
    last = next((term[cut:] for cut in cuts if term[cut:] in lexicon.weights), None)
    return tuple(part for part in (first, last) if part is not None)


def _score(
    ref: int, topic: str, raw: float, scale: Scale, words: Located, lexicon: Lexicon
) -> Score:
    # Sums of words have a long tail.
    known = lexicon.known[topic]
    z = known * _log_tail(z_score(raw, scale)) + (1 - known) * _log_tail(z_score(raw, _THIN))
    score = probability({"lexical": z}, LEXICAL)
    evidence = _evidence(words, topic, lexicon) if z > _TELLING else ()
    return Score(
        ref=ref,
        topic=topic,
        method="lexical",
        score=score,
        raw=raw,
        z=z,
        reason=f"words: {', '.join(evidence)}" if evidence else "no telling words",
        evidence=evidence,
        model_id=MODEL_ID,
    )


def _raws(found: frozenset[str] | set[str], lexicon: Lexicon) -> dict[str, float]:
    told: list[list[float]] = [[] for _ in lexicon.topics]
    for term in found & lexicon.weights.keys():
        for place, weight in lexicon.weights[term]:
            told[place].append(weight)
    size = sqrt(max(len(found), _FEWEST))
    # An exact sum does not depend on the order of a set.
    return {topic: fsum(some) / size for topic, some in zip(lexicon.topics, told, strict=True)}


def _log_tail(z: float) -> float:
    return copysign(log1p(abs(z)), z)


def _evidence(words: Located, topic: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The words that spoke loudest; pairs of characters that overlap are one word again."""
    telling = lexicon.telling[lexicon.topics.index(topic)]
    text, located = words
    loud: list[tuple[float, int, int]] = []
    for term, start, end in located:
        if term not in telling:
            continue
        weight = telling[term]
        if loud and start < loud[-1][2]:
            loudest, first, _ = loud.pop()
            loud.append((max(loudest, weight), first, end))
        else:
            loud.append((weight, start, end))
    ranked = sorted(loud, key=lambda word: -word[0])
    return tuple(dict.fromkeys(text[start:end] for _, start, end in ranked))[:_EVIDENCE]


def _passages(topics: TopicSet, reference: Sequence[ScreenText]) -> Iterator[list[str]]:
    for topic in topics.topics:
        yield from map(tokenise, (*_about(topic), *topic.not_examples))
    yield from map(tokenise, topics.background)
    yield from (tokenise(joined_text(text)) for text in reference)


def _about(topic: Topic) -> tuple[str, ...]:
    """The sentences of a topic; of a thin one the name too."""
    if len(topic.examples) >= MIN_EXAMPLES:
        return (*topic.examples, topic.description) if topic.description else topic.examples
    return (
        *topic.examples,
        *(one for one in (topic.description,) if one),
        *[topic.name] * _NAME_TIMES,
    )


def _languages(topic: Topic) -> frozenset[str]:
    """The languages of a topic's sentences as far as they are clear; empty: none is."""
    return frozenset(map(language_of, _about(topic))) - {""}


def _weights(
    topics: TopicSet, rarity: Mapping[str, float]
) -> dict[str, tuple[tuple[int, float], ...]]:
    weights: dict[str, list[tuple[int, float]]] = {}
    for place, topic in enumerate(topics.topics):
        spoken = _saturated(_about(topic), rarity)
        against = _saturated(topic.not_examples, rarity)
        for term in spoken | against:
            weight = spoken.get(term, 0.0) - _AGAINST * against.get(term, 0.0)
            weights.setdefault(term, []).append((place, weight))
    return {term: tuple(places) for term, places in weights.items()}


def _saturated(sentences: Sequence[str], rarity: Mapping[str, float]) -> dict[str, float]:
    counts = Counter(term for sentence in sentences for term in tokenise(sentence))
    return {
        term: rarity[term] * n * (_SATURATION + 1) / (n + _SATURATION) for term, n in counts.items()
    }
