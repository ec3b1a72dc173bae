"""Signs of prompt injection: text made to steer its reader rather than to inform.

Stuffing a text with a topic's words beats every local scorer, and instructions are written for
language models. Neither can be recognised for certain, so a sign never drops a candidate: it
only keeps any method from suggesting more than "unsure".
"""
# Tested in tests/unit/screen/test_fusion.py

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import ScreenText, TopicSet
from feedmill.screen.bm25 import fold_diacritics, tokenise, tokenise_with_positions
from feedmill.screen.language import joined_text, screen_text_of

Sign = Literal["instruction", "stuffing", "borrowed", "hidden-text"]

SIGNS: Final[dict[Sign, str]] = {
    "instruction": "it gives orders to its reader",
    "stuffing": "it is stuffed with the words of topics",
    "borrowed": "a sentence of the topic stands in a text about something else",
    "hidden-text": "it has invisible characters",
}

# What a text must contain, and the pattern: looking for the words first is quicker, and most texts have none.
_ORDERS: Final = (
    (("ignore", "disregard", "forget", "overrid"), r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules|above|previous|prior)\b|ignore\w*(?:previous|prior|above)\w*(?:instructions?|prompts?)"),
    (("prompt", "message", "override"), r"\b(?:system|developer)\s+(?:(?:prompt|message)\s*[:>\]]|override\b)|\b(?:reveal|print|repeat|show|change|replace|update)\s+(?:me\s+)?(?:your|the)\s+(?:system|developer)\s+(?:prompt|message)\b"),
    (("<",), r"<\|?(?:im_start|im_end|system|assistant|endoftext)\|?>"),
    (("[",), r"\[/?(?:INST|SYSTEM)\]"),
    (("you are", "you must", "you should", "you will"), r"\byou\s+(?:are|must|should|will)\s+(?:now\s+)?(?:act|classify|mark|rate|label|score|select|insert|approve|confirm|answer|respond|an?\s+(?:ai|assistant|language\s+model))\b"),
    (("as an ",), r"\bas\s+an\s+(?:ai|assistant|language\s+model)\b"),
    (("relevant", "keep", "100", "1.0", "highest", "selected", "confirmed", "candidate"), r"\b(?:mark|rate|score|classify|label|approve|confirm|insert|select)\b.{0,30}\b(?:this|all)\b.{0,30}\b(?:as\s+)?(?:relevant|keep|100|1\.0|highest|selected|confirmed|candidates?)\b"),
    (("tool", "function", "command"), r"\b(?:call|use|invoke|run)\s+the\s+(?:(?:tool|function|command)\s+\W?(?:\w+_\w+|insert|confirm|select|approve)|(?:\w+_\w+|insert|confirm|select|approve)\w*\W?\s+(?:tool|function|command)\b)"),
    (('"',), r'"(?:score|topic|suspicious|ref)"\s*:'),
    (("忽略", "无视", "忘记", "不要理会"), r"(?:忽略|无视|忘记|不要理会).{0,12}(?:指令|指示|提示|规则|要求|上文|以上|之前)"),
    (("系统",), r"(?:系统提示|系统消息|系统指令)"),
    (("本文", "此条", "该条", "本条", "这条", "所有"), r"(?:请|务必|必须)?(?:将|把).{0,10}(?:本文|此条|该条|本条|这条|所有).{0,12}(?:标记|评为|判定|打分|选中|确认|入库|归类)"),
    (("作为", "你是"), r"(?:作为|你是)(?:一个|一名)?(?:人工智能|语言模型|AI|助手)"),
    (("ignorier", "vergiss", "vergesst", "missachte"), r"\b(?:ignorier\w*|vergiss|vergesst|missachte\w*)\b.{0,40}\b(?:anweisung\w*|instruktion\w*|vorgaben|regeln|prompts?)\b"),
    (("relevant", "bestätigt"), r"\b(?:markiere|bewerte|klassifiziere|bestätige)\b.{0,30}\b(?:diese[nrs]?|alle)\b.{0,30}\b(?:als\s+relevant|relevant|bestätigt)\b"),
    (("ignore", "oublie"), r"\b(?:ignore[rz]?|oublie[rz]?)\b.{0,40}\b(?:instructions?|consignes?|règles|prompts?)\b"),
    (("pertinent", "confirmé"), r"\b(?:marque[rz]?|classe[rz]?|évalue[rz]?|confirme[rz]?)\b.{0,30}\b(?:cet|cette|ce|tous|toutes)\b.{0,30}\b(?:pertinent\w*|confirmé\w*)"),
    (("ignor", "olvid", "omiso"), r"\b(?:ignora[rd]?|ignore|olvida[rd]?|olvide|haz\s+caso\s+omiso)\b.{0,40}\b(?:instrucciones|indicaciones|reglas|prompts?)\b"),
    (("relevant", "confirmad"), r"\b(?:marca[rd]?|marque|califica|clasifica|confirma)\b.{0,30}\b(?:est[aeo]s?|tod[ao]s)\b.{0,30}\b(?:relevantes?|confirmad\w*)"),
    (("ignora", "dimentica"), r"\b(?:ignora(?:re|te)?|dimentica(?:re|te)?)\b.{0,40}\b(?:istruzioni|regole|prompts?)\b"),
    (("rilevant", "pertinent"), r"\b(?:contrassegna|classifica|valuta|conferma)(?:re|te)?\b.{0,30}\b(?:quest[aeo]|tutt[ie])\b.{0,30}\b(?:rilevant\w*|pertinent\w*)"),
    (("ignor", "esqueça", "desconsidere"), r"\b(?:ignore|ignorar|esqueça|desconsidere)\b.{0,40}\b(?:instruções|regras|prompts?)\b"),
    (("relevante",), r"\b(?:marque|classifique|avalie|confirme)\b.{0,30}\b(?:est[ae]s?|tod[ao]s)\b.{0,30}\brelevantes?\b"),
    (("negeer", "vergeet"), r"\b(?:negeer|vergeet)\b.{0,40}\b(?:instructies?|opdrachten|prompts?)\b"),
    (("relevant",), r"\b(?:markeer|beoordeel|bevestig)\b.{0,30}\b(?:dit|deze|alle)\b.{0,30}\brelevant\b"),
    (("ignoruj", "zapomnij"), r"\b(?:zignoruj|ignoruj|zapomnij)\b.{0,40}\b(?:instrukcj\w*|polece\w*|prompt\w*)"),
    (("istotn", "trafn"), r"\b(?:oznacz|oceń|potwierdź)\b.{0,30}\b(?:ten|tę|to|wszystkie)\b.{0,30}\b(?:istotn\w*|trafn\w*)"),
    (("игнорируй", "забудь", "обращай"), r"(?:игнорируй|забудь|не\s+обращай\w*\s+внимания).{0,40}(?:инструкци|указани|промпт)"),
    (("релевантн", "подтвержд"), r"(?:отметь|оцени|пометь|подтверди)\w*\s.{0,30}\b(?:эту|это|этот|все)\b.{0,30}(?:релевантн|подтвержд)"),
    (("yoksay", "görmezden", "unut", "dikkate"), r"(?:önceki|yukarıdaki|tüm)\b.{0,20}(?:talimat|komut).{0,30}(?:yoksay|görmezden|unut|dikkate\s+alma)"),
    (("無視", "忘れ"), r"(?:以前|これまで|上記|前)の?.{0,10}(?:指示|命令|プロンプト).{0,10}(?:無視|忘れ)"),
    (("として",), r"この(?:記事|項目|エントリ).{0,15}(?:関連|重要).{0,10}として.{0,6}(?:分類|判定|評価)"),
    (("무시", "잊"), r"(?:이전|위의|모든).{0,10}(?:지시|명령|프롬프트).{0,10}(?:무시|잊)"),
    (("تجاهل", "انس"), r"(?:تجاهل|انس).{0,40}(?:التعليمات|الأوامر|القواعد)"),
)  # fmt: skip
_TRIGGERS: Final = tuple(tuple(map(fold_diacritics, words)) for words, _ in _ORDERS)
_ANY_TRIGGER: Final = frozenset(word for words in _TRIGGERS for word in words)
_PATTERNS: Final = tuple(re.compile(fold_diacritics(one), re.IGNORECASE) for _, one in _ORDERS)
_WORD: Final = re.compile(r"\w+")
_LATIN: Final = re.compile(r"[a-z]")
_LOOKALIKE: Final = re.compile(r"[\u0370-\u052f\u0131]")
_LOOKALIKES: Final = str.maketrans("асеіјорѕухԁһӏνοαεικρτυηı", "aceijopsyxdhlvoaeikptuni")
_DIGIT_IN_WORD: Final = re.compile(r"\b(?:[a-z]+[01345]\w*|[01345]\w*[a-z]\w*)")
_DIGITS: Final = str.maketrans("01345", "oieas")
_SPELT: Final = re.compile(r"\b(?:[a-z][ .*_-]){3,}[a-z]\b")
_NO_TOPICS: Final = TopicSet(name="", topics=())
_MANY_KEYWORDS: Final = 5
_MANY_TOPICS: Final = 4
_MOSTLY: Final = 0.4  # of the characters
_PARTLY: Final = 0.25
_REPEATED: Final = 5  # times one keyword stands in one text
_ENOUGH_TERMS: Final = 24
_VARIETY: Final = 0.45
_HIDDEN: Final = 1
_COPIED: Final = 0.9  # of an example's terms
_HALF: Final = 0.5  # of the text's terms, at most
_SHORTEST_SENTENCE: Final = 6


def signs_of(text: ScreenText, topics: TopicSet) -> tuple[Sign, ...]:
    """What speaks against taking the text at its word; empty for nearly every text."""
    return tuple(_signs(text, topics))


def signs_of_candidate(candidate: WindowCandidate) -> tuple[Sign, ...]:
    """Signs that need no topics: what a person or an agent who sees the entry has to know."""
    return signs_of(screen_text_of(candidate), _NO_TOPICS)


def _signs(text: ScreenText, topics: TopicSet) -> Iterator[Sign]:
    if text.summary.startswith(text.title):  # as in many feeds: it repeats nothing on purpose
        text = replace(text, title="")
    passage = joined_text(text)
    folded, located = tokenise_with_positions(passage)
    terms = [term for term, _, _ in located]
    if _is_instruction(_plain(passage.casefold())):
        yield "instruction"
    if _is_keyword_stuffed(folded, topics) or _is_monotonous(terms):
        yield "stuffing"
    if _has_borrowed_sentence(frozenset(terms), topics):
        yield "borrowed"
    if text.hidden_chars >= _HIDDEN:
        yield "hidden-text"


def _is_instruction(plain: str) -> bool:
    contains = plain.__contains__
    return any(map(contains, _ANY_TRIGGER)) and any(
        any(map(contains, words)) and pattern.search(plain)
        for words, pattern in zip(_TRIGGERS, _PATTERNS, strict=True)
    )


def _plain(lowered: str) -> str:
    """The text as its reader sees it: without accents, letters that look like Latin ones, digits for letters."""
    plain = fold_diacritics(lowered)
    if not plain.isascii():
        plain = _WORD.sub(_in_latin, plain)
    plain = _DIGIT_IN_WORD.sub(lambda word: word.group().translate(_DIGITS), plain)
    return _SPELT.sub(lambda word: re.sub(r"[ .*_-]", "", word.group()), plain)


def _in_latin(word: re.Match[str]) -> str:
    """A word of Latin letters and others that look like them, in Latin letters; any other as it is."""
    text = word.group()
    is_mixed = _LATIN.search(text) is not None and _LOOKALIKE.search(text) is not None
    return text.translate(_LOOKALIKES) if is_mixed else text


def _is_keyword_stuffed(folded: str, topics: TopicSet) -> bool:
    counts = [
        (topic, len(keyword), folded.count(keyword))
        for topic, keyword in _index(_Examples(topics)).keywords
        if keyword in folded
    ]
    if not counts:
        return False
    covered = sum(length * count for _, length, count in counts) / len(folded)
    is_list = len(counts) >= _MANY_KEYWORDS and covered >= _MOSTLY
    is_everything = len({topic for topic, _, _ in counts}) >= _MANY_TOPICS
    is_repeated = max(count for _, _, count in counts) >= _REPEATED
    # An abstract repeats its own term, and a policy names many: they also say something else.
    return is_list or ((is_everything or is_repeated) and covered >= _PARTLY)


def _has_borrowed_sentence(terms: frozenset[str], topics: TopicSet) -> bool:
    """Whether nearly all words of one example stand in a text that mostly says something else."""
    index = _index(_Examples(topics))
    known = terms & index.places.keys()
    shared = Counter(chain.from_iterable(map(index.places.__getitem__, known)))
    return any(
        count >= _COPIED * index.sizes[number] and index.sizes[number] <= _HALF * len(terms)
        for number, count in shared.items()
        if index.sizes[number] >= _SHORTEST_SENTENCE
    )


class _Index(NamedTuple):
    """Where each term stands among the examples, how many terms each of them has, and the keywords."""

    places: dict[str, tuple[int, ...]]
    sizes: tuple[int, ...]
    keywords: tuple[tuple[str, str], ...]  # topic and folded keyword


class _Examples:
    """The examples of a topic set, compared by its version: hashing all of their text would cost more."""

    def __init__(self, topics: TopicSet) -> None:
        self.topics = topics
        self._key = topics.version or topics

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Examples) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=64)
def _index(examples: _Examples) -> _Index:
    sentences = (one for topic in examples.topics.topics for one in topic.examples)
    terms = [frozenset(tokenise(example)) for example in sentences]
    places: dict[str, list[int]] = {}
    for number, own in enumerate(terms):
        for term in own:
            places.setdefault(term, []).append(number)
    return _Index(
        places={term: tuple(some) for term, some in places.items()},
        sizes=tuple(map(len, terms)),
        keywords=tuple(
            (topic.id, tokenise_with_positions(keyword)[0])
            for topic in examples.topics.topics
            for keyword in topic.keywords
            if keyword
        ),
    )


def _is_monotonous(found: Sequence[str]) -> bool:
    return len(found) >= _ENOUGH_TERMS and len(set(found)) < _VARIETY * len(found)
