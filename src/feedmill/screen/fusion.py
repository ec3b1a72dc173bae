"""Fuses the scores of several methods into one suggestion per candidate, with reasons.

Local methods become one probability; a language model's judgement weighs more than they do; a
decision from outside stands as it is. Nothing here confirms or inserts anything.

Embedding scores: how near a text's vector is to the vectors of a topic's sentences.

A topic with many examples is the mean over the nearer half of them, less two thirds of the mean over the
three nearest sentences about something else, in standard deviations over ordinary texts. Averages beat
the single nearest example; the margin over the background keeps a journal's unrelated papers out.

A thin topic is its name and description, together and apart, blended with the examples that it has. It
is set off against the nearest of general subjects and ordinary texts, in what these do not share with it, on
a fixed scale: over a small population, the spread of a narrow topic is an accident.
"""

from collections.abc import Collection, Mapping, Sequence
from math import fsum, sqrt
from typing import Final

from feedmill.config import ScreenConfig
from feedmill.errors import RegexOnlyError
from feedmill.model.screening import (
    Calibration,
    Method,
    Score,
    Screening,
    ScreenText,
    Suggestion,
    Topic,
    TopicSet,
)
from feedmill.screen.calibration import (
    EMBEDDING,
    LEXICAL,
    LOCAL,
    Scale,
    calibration_for,
    combined_probability,
    probability,
)
from feedmill.screen.injection_signs import SIGNS, signs_of
from feedmill.screen.topics import MIN_EXAMPLES, is_thin, known_share

_LLM_SHARE: Final = 0.7
_ORDER: Final[tuple[Method, ...]] = ("regex", "lexical", "embedding", "llm", "agent")
_EVIDENCE: Final = 6
_LEAST: Final = 1e-9
_RIVALRY: Final = 5.0
_CLEAR: Final = 0.9  # between what two methods say: one of them is mistaken
# Found and not found meet at 0.04 (z 2.45), fitted on ten sets in other fields; between 0.03 and 0.05 their
# mean F1 moves by less than 0.01.
THIN: Final = Scale(mean=-0.105, deviation=0.0592)
_FITTED: Final = 0.076  # spread of the cosines of the encoder that was fitted with
BACKGROUND_SHARE: Final = 0.65
BACKGROUND_NEAREST: Final = 3
# a name is often a word of many senses; description and both have the rest
_NAME_SHARE: Final = 0.2
_BLEND: Final = 4  # examples that weigh as much as name and description
_AGAINST: Final = 0.5


def fuse(
    text: ScreenText,
    scores: Sequence[Score],
    topics: TopicSet,
    config: ScreenConfig,
    *,
    learnt: Calibration | None = None,
    missing: Collection[Method] = (),
) -> Screening:
    """The suggestion for a text; `missing` are methods that were asked for and did not answer.

    RegexOnlyError when nothing but regular expressions spoke: that is never a decision (001).
    """
    asked = {topic.id for topic in topics.topics}  # what a rival alone could judge is not judged
    spoke = {one.method for one in scores if one.topic in asked}
    methods = tuple(method for method in _ORDER if method in spoke)
    if methods == ("regex",):
        raise RegexOnlyError(text.ref)
    signs = signs_of(text, topics)
    combined = topic_scores(scores, topics, learnt)
    topic = max(combined, key=lambda name: combined[name], default=None)
    score = combined.get(topic or "", 0.0)
    is_suspicious = bool(signs) or any(one.is_suspicious for one in scores)
    own = [one for one in scores if one.topic == topic]
    known = next((one for one in topics.topics if one.id == topic), None)
    doubts = [*_doubts(known, own, config), *(SIGNS[sign] for sign in signs)]
    if any(one.is_suspicious for one in own) and not signs:
        doubts.append("a judge found that it tries to steer its reader")
    suggestion = _suggestion(score, config) if methods else "unsure"
    if (suggestion == "keep" and (is_suspicious or doubts)) or _disagreement(own, config):
        suggestion = "unsure"
    return Screening(
        candidate_id=text.ref,
        suggestion=suggestion,
        topic=None if suggestion == "drop" else topic,
        score=score,
        methods=methods,
        reason=_reason(suggestion, _name(topic, topics), score, own, doubts, missing),
        evidence=_evidence(own),
        scores=_relevant_scores(scores, topic, combined, config),
        is_degraded=bool(missing),
        is_suspicious=is_suspicious,
        topic_set=topics.version,
        decided_by=_decided_by(own),
    )


def topic_scores(
    scores: Sequence[Score], topics: TopicSet, learnt: Calibration | None = None
) -> dict[str, float]:
    """The combined score of one text for every topic that any method spoke about.

    Topics compete: one that is well behind the best is named by words that both share, so it
    loses several times what it is behind. A text may still be about two. Silent rivals compete and
    have no score of their own.
    """
    by_topic: dict[str, list[Score]] = {}
    for one in scores:
        by_topic.setdefault(one.topic, []).append(one)
    everyone = (*topics.topics, *topics.rivals)
    combined = {
        topic.id: _combined(by_topic[topic.id], learnt, known_share(topic))
        for topic in everyone
        if topic.id in by_topic
    }
    # A thin topic and one with examples are on different scales, so they do not compete.
    groups = {topic.id: is_thin(topic) for topic in everyone if topic.id in combined}
    best = {
        group: _odds(max((combined[one] for one in groups if groups[one] == group), default=0.0))
        for group in (True, False)
    }
    return {
        topic.id: _lowered_by_rival(combined[topic.id], best[groups[topic.id]])
        for topic in topics.topics
        if topic.id in combined
    }


def _relevant_scores(
    scores: Sequence[Score], topic: str | None, combined: Mapping[str, float], config: ScreenConfig
) -> tuple[Score, ...]:
    """The scores that the suggestion rests on; most topics have nothing to do with a text."""
    return tuple(
        one
        for one in scores
        if one.topic == topic or combined.get(one.topic, 0.0) >= config.drop_below
    )


def _odds(score: float) -> float:
    return (score + _LEAST) / (1 - score + _LEAST)


def _lowered_by_rival(score: float, best: float) -> float:
    odds = _odds(score)
    lowered = odds * (odds / best) ** _RIVALRY
    return score if odds >= best else lowered / (1 + lowered)


def _combined(own: Sequence[Score], learnt: Calibration | None, known: float) -> float:
    by_method = {one.method: one for one in own}
    if "agent" in by_method:
        return by_method["agent"].score
    calibration = calibration_for(by_method.keys(), learnt)
    z = {method: one.z for method, one in by_method.items() if method in LOCAL}
    local = None if calibration is None else combined_probability(z, calibration, known)
    judged = by_method.get("llm")
    if judged is None:
        return local or 0.0
    return judged.score if local is None else _LLM_SHARE * judged.score + (1 - _LLM_SHARE) * local


def _doubts(topic: Topic | None, own: Sequence[Score], config: ScreenConfig) -> tuple[str, ...]:
    """What keeps a suggestion at unsure."""
    is_judged = any(one.method == "agent" for one in own)
    if topic is None or is_judged or not is_thin(topic):
        return _disagreement(own, config)
    few = f"the topic has too few examples to suggest more: {len(topic.examples)}"
    return (few, *_disagreement(own, config))


def _disagreement(own: Sequence[Score], config: ScreenConfig) -> tuple[str, ...]:
    """Both sides where one method contradicts another; a topic's words without its meaning are stuffing."""
    z = {one.method: one.z for one in own if one.method in LOCAL}
    words = probability({"lexical": z["lexical"]}, LEXICAL) if "lexical" in z else 0.0
    meaning = probability({"embedding": z["embedding"]}, EMBEDDING) if "embedding" in z else words
    if words - meaning >= _CLEAR:
        return (
            f"its words speak for the topic ({words:.2f}) and its meaning does not ({meaning:.2f})",
        )
    judged = next((one for one in own if one.method == "llm"), None)
    if judged is None or not z:
        return ()
    verdicts = {_suggestion(judged.score, config), _suggestion(max(words, meaning), config)}
    if verdicts != {"keep", "drop"}:
        return ()
    return (
        f"methods disagree: llm {judged.score:.2f}, words and meaning {max(words, meaning):.2f}",
    )


def _suggestion(score: float, config: ScreenConfig) -> Suggestion:
    if score >= config.keep_at:
        return "keep"
    return "drop" if score < config.drop_below else "unsure"


_WORDS: Final[Mapping[Suggestion, str]] = {
    "keep": "about {topic}",
    "unsure": "perhaps about {topic}",
    "drop": "nothing that is looked for; nearest is {topic}",
}


def _reason(
    suggestion: Suggestion,
    topic: str,
    score: float,
    own: Sequence[Score],
    doubts: Sequence[str],
    missing: Collection[Method],
) -> str:
    if not own:
        said = "no method could judge it: nothing to read, or not in a language that they read"
    else:
        said = f"{_WORDS[suggestion].format(topic=topic)} ({score:.2f}: {_scores_in_words(own)})"
    parts = [said, *(one.reason for one in own if one.method in ("llm", "agent") and one.reason)]
    parts += doubts
    parts += [f"without {method}, which did not answer" for method in missing]
    return "; ".join(parts)


def _scores_in_words(own: Sequence[Score]) -> str:
    return ", ".join(
        f"{one.method} z {one.z:+.1f}" if one.method in LOCAL else f"{one.method} {one.score:.2f}"
        for one in own
    )


def _evidence(own: Sequence[Score]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for one in own for word in one.evidence))[:_EVIDENCE]


def _decided_by(own: Sequence[Score]) -> str:
    agents = [one.model_id or "agent" for one in own if one.method == "agent"]
    return agents[0] if agents else "feedmill"


def _name(topic: str | None, topics: TopicSet) -> str:
    return next((one.name for one in topics.topics if one.id == topic), "")


def thin_scale(cosines: Sequence[float]) -> Scale:
    """The scale of thin topics for an encoder, from its cosines of ordinary texts to general subjects.

    Encoders differ in how wide their cosines lie; the constants were fitted with one of them.
    """
    if not cosines:
        return THIN
    mean = fsum(cosines) / len(cosines)
    wider = sqrt(fsum((one - mean) ** 2 for one in cosines) / len(cosines)) / _FITTED
    return Scale(mean=wider * THIN.mean, deviation=wider * THIN.deviation)


def description_sentences(topic: Topic) -> tuple[str, ...]:
    """What is known of a topic without examples: name and description, apart and together."""
    parts = tuple(part for part in (topic.name, topic.description) if part.strip())
    return (*parts, ". ".join(parts)) if len(parts) > 1 else parts or (topic.id,)


def example_sentences(topic: Topic) -> tuple[str, ...]:
    """What a topic is compared with: its examples, and where these are few its description."""
    if len(topic.examples) >= MIN_EXAMPLES:
        return topic.examples
    return (*topic.examples, topic.description or topic.name)


def thin_margin(
    described: Sequence[float], examples: Sequence[float], against: Sequence[float], ordinary: float
) -> float:
    """The raw score of a thin topic; a text that is nearer to a counter-example loses the difference."""
    near = _described(described)
    if examples:
        share = len(examples) / (len(examples) + _BLEND)
        near = (1 - share) * near + share * _nearer_half(examples)
    nearer = max(0.0, max(against, default=near) - near)
    return near - _AGAINST * nearer - BACKGROUND_SHARE * ordinary


def _described(cosines: Sequence[float]) -> float:
    """The mean over name, description and both; a name that is near where its description is not is another sense."""
    if len(cosines) < 3:
        return sum(cosines) / len(cosines)
    name, description, both = cosines
    return _NAME_SHARE * min(name, description) + (1 - _NAME_SHARE) * (description + both) / 2


def _nearer_half(cosines: Sequence[float]) -> float:
    best = sorted(cosines, reverse=True)[: (len(cosines) + 1) // 2]
    return sum(best) / len(best)
