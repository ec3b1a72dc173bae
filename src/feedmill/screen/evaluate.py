"""Evaluates a method on labelled texts: precision, recall, F1 and AUC.

Besides the threshold that is in force there is a cross-validated one: chosen on one half of the
set, measured on the other. It says what a method could reach, not what it does.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from feedmill.errors import TopicError
from feedmill.model.base import Value
from feedmill.model.screening import EvaluationEntry, Screening, ScreenText, Suggestion, TopicSet
from feedmill.screen.language import MAX_CATEGORY, MAX_FEED, MAX_SUMMARY, MAX_TITLE, clean_line
from feedmill.screen.topics import topic_named

ANY: Final = "any"
_ROUNDS: Final = 10

Pair = tuple[float, bool]  # score, and whether it is relevant


class Quality(Value):
    """What one method reaches for one topic, or for whether a text is about any of them."""

    method: str
    topic: str
    texts: int
    relevant: int
    precision: float
    recall: float
    f1: float
    auc: float
    f1_cross: float  # with a threshold from the other half
    unsure: float = 0.0  # share of the texts whose suggestion is unsure
    keep: float = 0.0  # share whose suggestion is keep; a thin topic gives none


class Confusion(Value):
    """A text that was suggested wrongly."""

    id: str
    title: str
    kind: str
    gold: tuple[str, ...]
    suggestion: str
    topic: str | None
    score: float


def read_gold(text: str, topics: TopicSet) -> tuple[EvaluationEntry, ...]:
    """The entries of an evaluation set, JSON lines or one JSON list; topics by id or name."""
    try:
        stripped = text.strip()
        items: list[Any] = (
            msgspec.json.decode(stripped)
            if stripped.startswith("[")
            else [msgspec.json.decode(line) for line in stripped.splitlines() if line.strip()]
        )
        return tuple(_gold(number, item, topics) for number, item in enumerate(items, 1))
    except (msgspec.DecodeError, AttributeError, TypeError) as problem:
        message = f"the evaluation set is not JSON lines of entries ({problem})"
        raise TopicError([message]) from problem


def about_only(gold: Iterable[EvaluationEntry], topics: TopicSet) -> tuple[EvaluationEntry, ...]:
    """The same entries where only these topics are looked for: others are about nothing."""
    ids = {topic.id for topic in topics.topics}
    return tuple(
        replace(one, topics=tuple(topic for topic in one.topics if topic in ids)) for one in gold
    )


def qualities(
    gold: Sequence[EvaluationEntry],
    scores: Mapping[int, Mapping[str, float]],
    topics: TopicSet,
    *,
    method: str,
    threshold: float,
    screenings: Sequence[Screening] = (),
) -> tuple[Quality, ...]:
    """First for any topic, then for each; `scores` are by the reference of the text.

    Found is what scores at least the threshold, also where the suggestion stays at unsure because a
    topic has no examples yet; `screenings` say which suggestions were given.
    """
    halves = _halves(gold)
    found = [
        replace(
            _quality(method, ANY, _any_pairs(gold, scores), halves, threshold),
            unsure=_share(screenings, "unsure"),
            keep=_share(screenings, "keep"),
        )
    ]
    for topic in topics.topics:
        pairs = [
            (scores.get(one.text.ref, {}).get(topic.id, 0.0), topic.id in one.topics)
            for one in gold
        ]
        own = [one if one.topic == topic.id else None for one in screenings]
        found.append(
            replace(
                _quality(method, topic.id, pairs, halves, threshold),
                unsure=_share(own, "unsure"),
                keep=_share(own, "keep"),
            )
        )
    return tuple(found)


def _share(screenings: Sequence[Screening | None], suggestion: Suggestion) -> float:
    hits = sum(one is not None and one.suggestion == suggestion for one in screenings)
    return hits / len(screenings) if screenings else 0.0


def confusions(
    gold: Sequence[EvaluationEntry], screenings: Iterable[Screening], threshold: float
) -> tuple[Confusion, ...]:
    """Relevant texts below the threshold and others above it, the most certain mistakes first."""
    by_ref = {one.text.ref: one for one in gold}
    wrong = [
        Confusion(
            id=known.id,
            title=known.text.title,
            kind=known.kind,
            gold=known.topics,
            suggestion=one.suggestion,
            topic=one.topic,
            score=one.score,
        )
        for one in screenings
        if (one.score >= threshold) != bool((known := by_ref[one.candidate_id]).topics)
    ]
    return tuple(sorted(wrong, key=lambda one: -abs(one.score - threshold)))


def auc(pairs: Sequence[Pair]) -> float:
    """How often a relevant text scores above another one; ties count half, no pairs as 0.5."""
    ranked = sorted(pairs)
    relevant = sum(yes for _, yes in pairs)
    others = len(pairs) - relevant
    if not relevant or not others:
        return 0.5
    below = total = 0.0
    for _, tied in groupby(ranked, key=itemgetter(0)):
        same = [yes for _, yes in tied]
        hits = sum(same)
        total += hits * (below + (len(same) - hits) / 2)
        below += len(same) - hits
    return total / (relevant * others)


def f1_at(pairs: Sequence[Pair], threshold: float) -> float:
    """F1 of what scores at least the threshold."""
    return _at(pairs, threshold)[2]


def _quality(
    method: str,
    topic: str,
    pairs: Sequence[Pair],
    halves: Sequence[Sequence[int]],
    threshold: float,
) -> Quality:
    precision, recall, f1 = _at(pairs, threshold)
    return Quality(
        method=method,
        topic=topic,
        texts=len(pairs),
        relevant=sum(yes for _, yes in pairs),
        precision=precision,
        recall=recall,
        f1=f1,
        auc=auc(pairs),
        f1_cross=_crossed(pairs, halves),
    )


def _any_pairs(
    gold: Sequence[EvaluationEntry], scores: Mapping[int, Mapping[str, float]]
) -> list[Pair]:
    return [
        (max(scores.get(one.text.ref, {}).values(), default=0.0), bool(one.topics)) for one in gold
    ]


def _at(pairs: Sequence[Pair], threshold: float) -> tuple[float, float, float]:
    taken = [yes for score, yes in pairs if score >= threshold]
    hits, relevant = sum(taken), sum(yes for _, yes in pairs)
    precision = hits / len(taken) if taken else 0.0
    recall = hits / relevant if relevant else 0.0
    total = len(taken) + relevant
    return precision, recall, 2 * hits / total if total else 0.0


def _halves(gold: Sequence[EvaluationEntry]) -> list[list[int]]:
    """For each round of cross-validation, in which half each text is: drawn from its id."""
    return [
        [hashlib.sha256(f"{turn}:{one.id}".encode()).digest()[0] % 2 for one in gold]
        for turn in range(_ROUNDS)
    ]


def _crossed(pairs: Sequence[Pair], halves: Sequence[Sequence[int]]) -> float:
    results = []
    for half in halves:
        sides: tuple[list[Pair], list[Pair]] = ([], [])
        for pair, side in zip(pairs, half, strict=True):
            sides[side].append(pair)
        results += [_at(sides[1], _best(sides[0]))[2], _at(sides[0], _best(sides[1]))[2]]
    return sum(results) / len(results)


def _best(pairs: Sequence[Pair]) -> float:
    """The threshold with the highest F1, in one pass from the highest score down."""
    relevant = sum(yes for _, yes in pairs)
    best, threshold, hits = 0.0, 1.0, 0
    for taken, (score, yes) in enumerate(sorted(pairs, reverse=True), 1):
        hits += yes
        f1 = 2 * hits / (taken + relevant)
        if f1 > best:
            best, threshold = f1, score
    return threshold


def _gold(number: int, item: Mapping[str, Any], topics: TopicSet) -> EvaluationEntry:
    named = item.get("topics", item.get("topic", item.get("labels"))) or ()
    names = (named,) if isinstance(named, str) else tuple(named)
    return EvaluationEntry(
        id=str(item.get("id", number)),
        text=ScreenText(
            ref=number,
            title=clean_line(item.get("title") or "", MAX_TITLE),
            summary=clean_line(item.get("summary") or "", MAX_SUMMARY),
            categories=tuple(clean_line(one, MAX_CATEGORY) for one in item.get("categories") or ()),
            feed_title=clean_line(item.get("feed_title") or item.get("feed") or "", MAX_FEED),
        ),
        topics=tuple(_topic_id(str(name), topics) for name in names),
        lang=str(item.get("lang", "")),
        kind=str(item.get("kind", "")),
        split=str(item.get("split", "")),
    )


def _topic_id(name: str, topics: TopicSet) -> str:
    found = topic_named(topics, name)
    if found is None:
        known = ", ".join(topic.id for topic in topics.topics)
        raise TopicError([f"the evaluation set speaks of {name!r}; the topics are: {known}"])
    return found.id
