"""Lexical scores: BM25 over words and pairs of characters (no model, any script).

Pairs of characters find Chinese terms as well as a segmenter does and need no dictionary. Every
script gives terms: a tokeniser that knows only Latin makes all other texts equal. Lexical scoring
compares characters, so 綠色設計 and 绿色设计 must be the same word: traditional characters become
simplified ones. One that stands for several simplified ones is left to the most frequent one.

Lexical scoring sees only words that examples and text share, so it is blind across languages: a topic without
examples in the script of a text gives no score at all rather than a bad one.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import copysign, fsum, log, log1p, sqrt
from typing import Final

from msgspec.structs import replace

from feedmill.model.base import Value
from feedmill.model.derived.search import to_simplified_chinese
from feedmill.model.screening import Score, ScreenText, Topic, TopicSet
from feedmill.screen.calibration import LEXICAL, Scale, probability, scales_of, z_score
from feedmill.screen.language import (
    STOP_WORDS,
    TextScript,
    joined_text,
    language_of,
    main_script,
    script_of,
)
from feedmill.screen.topics import MIN_EXAMPLES, known_share

# Han, kana, Hangul and Thai are written without spaces, or with few.
_CLOSE: Final = (
    r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE: Final = re.compile(rf"[{_CLOSE}]+|[^\W_{_CLOSE}]+")
_FIRST_CLOSE: Final = re.compile(rf"[{_CLOSE}]")
_SHORTEST_PLURAL: Final = 4
_MARKS: Final = re.compile(r"[\u0300-\u036f\u064b-\u0652]")  # Latin, Greek, Cyrillic; Arabic vowels

_EMPTY: Final = frozenset(
    """
    a about after all also an and any are as at be been between both but by can could do does for
    from had has have how if in into is it its may more most new no not of on one only or other our
    out over per said same say says she so some such than that the their them then there these they
    this those through to two under up use used using was we were what when where which while who
    why will with would year years you your
    的 了 和 与 在 是 为 对 从 到 等 及 或 被 将 也 都 其 该 这 那 一 不 有 中 上 下 以 于 并
    研究 分析 基于 方法 影响 如何 进行 通过 可以 我国 中国 一个 成为 以及 公司 企业 发布 提出
    """.split()  # noqa: SIM905  # one word in quotes each would be four pages
)
Located = tuple[str, tuple[tuple[str, int, int], ...]]  # see located_terms

MODEL_ID: Final = "lexical-3"
_SATURATION: Final = 1.2  # BM25's k1
_AGAINST: Final = 0.6  # what a word of a not_example takes away
_FEWEST: Final = 8  # a text of fewer terms is weighed as one of so many
_EVIDENCE: Final = 5
# Share of known words; English of unclear language has 0.3 and more, others 0.1 and less.
_READABLE: Final = 0.2
_TELLING: Final = 1.0  # below this z no words are gathered: most texts are about something else
# A name and a line share at most a few words with a text: a scale of its own would make one shared word
# fourteen deviations. With this one, two telling words in a text of usual length are a keep.
_THIN: Final = Scale(mean=0.0, deviation=0.5)
_NAME_TIMES: Final = 2  # how often the name counts beside the description
_COMPOUNDING: Final = frozenset({"de", "nl", "sv", "da", "nb", "fi", "hu"})
_SHORTEST_COMPOUND: Final = 9
_SHORTEST_PART: Final = 5
_LONGEST_WORD: Final = 60


def tokenise(text: str) -> list[str]:
    """Every term of a text in its order, repeated as often as it stands there."""
    return [term for term, _, _ in tokenise_with_positions(text)[1]]


@lru_cache(maxsize=1_024)  # scores and signs read the same text in turn
def tokenise_with_positions(text: str) -> tuple[str, tuple[tuple[str, int, int], ...]]:
    """The text with its case and characters folded, and where in it each term stands."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = to_simplified_chinese(folded)
    own = STOP_WORDS.get(language_of(text), _EMPTY)
    found: list[tuple[str, int, int]] = []
    for piece in _PIECE.finditer(folded):
        word, start = piece.group(), piece.start()
        if not word.isascii() and _FIRST_CLOSE.match(word):
            found += _pairs(word, start)
        elif word not in _EMPTY and word not in own and len(word) > 1:
            found.append((_stem(word), start, piece.end()))
    return folded, tuple(found)


def fold_diacritics(word: str) -> str:
    """A word without accents and vowel marks: Äpfel and Apfel, café and cafe are one term."""
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", word)))


def _pairs(piece: str, start: int) -> list[tuple[str, int, int]]:
    width = min(len(piece), 2)
    places = range(len(piece) - width + 1)
    pairs = ((piece[at : at + width], start + at, start + at + width) for at in places)
    return [pair for pair in pairs if pair[0] not in _EMPTY]


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """A word without accents and the endings that English adds most: enough to join emission and emissions."""
    word = fold_diacritics(word)
    if word.endswith("ies") and len(word) > _SHORTEST_PLURAL:
        return word[:-3] + "y"
    for ending, instead in (("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_PLURAL:
            return _bare(word[: -len(ending)] + instead)
    return _bare(word)


def _bare(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_PLURAL else word


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
