"""Lexical scores: BM25 of a text against the examples of each topic (no model, any script).

It sees only words that examples and text share, so it is blind across languages: a topic without
examples in the script of a text gives no score at all rather than a bad one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import copysign, log, log1p, sqrt
from typing import Final

from feedmill.model.base import Value
from feedmill.model.screening import Score, ScreenText, Topic, TopicSet
from feedmill.screen.calibration import LEXICAL, PLACES, Scale, probability, scales_of, z_score
from feedmill.screen.texts import TextScript, joined_text, script_of
from feedmill.screen.tokenise import tokenise, tokenise_with_positions

Located = tuple[str, list[tuple[str, int, int]]]  # see located_terms

MODEL_ID: Final = "lexical-2"
_SATURATION: Final = 1.2  # BM25's k1
_AGAINST: Final = 0.6  # what a word of a not_example takes away
_FEWEST: Final = 8  # a text of fewer terms is weighed as one of so many
_EVIDENCE: Final = 5
_TELLING: Final = 1.0  # below this z no words are gathered: most texts are about something else


class Lexicon(Value):
    """What every term says about every topic, and how usual each sum is."""

    topics: tuple[str, ...]
    names: dict[str, str]
    scripts: dict[str, frozenset[TextScript]]  # that a topic has examples in
    weights: dict[str, tuple[tuple[int, float], ...]]  # term: (topic's place, weight)
    scales: dict[tuple[TextScript, str], Scale]


def build_lexicon(topics: TopicSet, reference: Sequence[ScreenText]) -> Lexicon:
    """The lexicon of a topic set; the reference texts are about anything else."""
    common = Counter(term for passage in _passages(topics, reference) for term in set(passage))
    size = sum(1 for _ in _passages(topics, reference))
    rarity = {term: log(1 + (size - n + 0.5) / (n + 0.5)) for term, n in common.items()}
    bare = Lexicon(
        topics=tuple(topic.id for topic in topics.topics),
        names={topic.id: topic.name for topic in topics.topics},
        scripts={topic.id: _scripts(topic) for topic in topics.topics},
        weights=_weights(topics, rarity),
        scales={},
    )
    passages = map(joined_text, reference)
    population = [(script_of(passage), _raws(set(tokenise(passage)), bare)) for passage in passages]
    return Lexicon(
        topics=bare.topics,
        names=bare.names,
        scripts=bare.scripts,
        weights=bare.weights,
        scales=scales_of(population),
    )


def lexical_scores(text: ScreenText, lexicon: Lexicon) -> tuple[Score, ...]:
    """What the words of a text say about each topic that has examples in its script."""
    passage = joined_text(text)
    folded, located = tokenise_with_positions(passage)
    script, raws = script_of(passage), _raws({term for term, _, _ in located}, lexicon)
    return tuple(
        _score(text.ref, topic, raw, lexicon.scales[script, topic], (folded, located), lexicon)
        for topic, raw in raws.items()
        if script in lexicon.scripts[topic]
    )


def _score(
    ref: int, topic: str, raw: float, scale: Scale, words: Located, lexicon: Lexicon
) -> Score:
    unusual = z_score(raw, scale)
    # Sums of words have a long tail; and rounded, they do not depend on the order of a set.
    z = round(copysign(log1p(abs(unusual)), unusual), PLACES)
    score = probability({"lexical": z}, LEXICAL)
    evidence = _evidence(words, topic, lexicon) if z > _TELLING else ()
    return Score(
        ref=ref,
        topic=topic,
        method="lexical",
        score=round(score, PLACES),
        raw=round(raw, PLACES),
        z=z,
        reason=f"words: {', '.join(evidence)}" if evidence else "no telling words",
        evidence=evidence,
        model_id=MODEL_ID,
    )


def _raws(found: frozenset[str] | set[str], lexicon: Lexicon) -> dict[str, float]:
    sums = [0.0] * len(lexicon.topics)
    for term in found:
        for place, weight in lexicon.weights.get(term, ()):
            sums[place] += weight
    size = sqrt(max(len(found), _FEWEST))
    return {topic: total / size for topic, total in zip(lexicon.topics, sums, strict=True)}


def _evidence(words: Located, topic: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The words that spoke loudest; pairs of characters that overlap are one word again."""
    place = lexicon.topics.index(topic)
    text, located = words
    loud: list[tuple[float, int, int]] = []
    for term, start, end in located:
        weight = dict(lexicon.weights.get(term, ())).get(place, 0.0)
        if weight <= 0:
            continue
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
    return (*topic.examples, topic.description)


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


def _scripts(topic: Topic) -> frozenset[TextScript]:
    return frozenset(script_of(sentence) for sentence in _about(topic) if sentence)
