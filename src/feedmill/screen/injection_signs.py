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
from typing import Final, Literal, NamedTuple

from feedmill.model.candidate import WindowCandidate
from feedmill.model.derived.simplified_chinese import to_simplified_chinese
from feedmill.model.screening import ScreenText, TopicSet
from feedmill.screen.texts import joined_text, screen_text_of
from feedmill.screen.tokenise import tokenise

Sign = Literal["instruction", "stuffing", "borrowed", "hidden-text"]

SIGNS: Final[dict[Sign, str]] = {
    "instruction": "it gives orders to its reader",
    "stuffing": "it is stuffed with the words of topics",
    "borrowed": "a sentence of the topic stands in a text about something else",
    "hidden-text": "it has invisible characters",
}

_INSTRUCTION: Final = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules|above|previous|prior)\b
    | \b(?:system|developer)\s+(?:prompt|message|override)\b
    | <\|?(?:im_start|im_end|system|assistant|endoftext)\|?>
    | \[/?(?:INST|SYSTEM)\]
    | \byou\s+(?:are|must|should|will)\s+(?:now\s+)?(?:act|classify|mark|rate|label|score|select|insert|approve|confirm|answer|respond|an?\s+(?:ai|assistant|language\s+model))\b
    | \bas\s+an\s+(?:ai|assistant|language\s+model)\b
    | \b(?:mark|rate|score|classify|label|approve|confirm|insert|select)\b.{0,30}\b(?:this|all)\b.{0,30}\b(?:as\s+)?(?:relevant|keep|100|1\.0|highest|selected|confirmed|candidates?)\b
    | \b(?:call|use|invoke|run)\s+the\s+(?:tool|function|command)\b
    | "(?:score|topic|suspicious|ref)"\s*:
    | (?:忽略|无视|忘记|不要理会).{0,12}(?:指令|指示|提示|规则|要求|上文|以上|之前)
    | (?:系统提示|系统消息|系统指令)
    | (?:请|务必|必须)?(?:将|把).{0,10}(?:本文|此条|该条|本条|这条|所有).{0,12}(?:标记|评为|判定|打分|选中|确认|入库|归类)
    | (?:作为|你是)(?:一个|一名)?(?:人工智能|语言模型|AI|助手)
    | \b(?:ignorier\w*|vergiss|vergesst|missachte\w*)\b.{0,40}\b(?:anweisung\w*|instruktion\w*|vorgaben|regeln|prompts?)\b
    | \b(?:markiere|bewerte|klassifiziere|bestätige)\b.{0,30}\b(?:diese[nrs]?|alle)\b.{0,30}\b(?:als\s+relevant|relevant|bestätigt)\b
    | \b(?:ignore[rz]?|oublie[rz]?)\b.{0,40}\b(?:instructions?|consignes?|règles|prompts?)\b
    | \b(?:marque[rz]?|classe[rz]?|évalue[rz]?|confirme[rz]?)\b.{0,30}\b(?:cet|cette|ce|tous|toutes)\b.{0,30}\b(?:pertinent\w*|confirmé\w*)
    | \b(?:ignora[rd]?|ignore|olvida[rd]?|olvide|haz\s+caso\s+omiso)\b.{0,40}\b(?:instrucciones|indicaciones|reglas|prompts?)\b
    | \b(?:marca[rd]?|marque|califica|clasifica|confirma)\b.{0,30}\b(?:est[aeo]s?|tod[ao]s)\b.{0,30}\b(?:relevantes?|confirmad\w*)
    | \b(?:ignora(?:re|te)?|dimentica(?:re|te)?)\b.{0,40}\b(?:istruzioni|regole|prompts?)\b
    | \b(?:contrassegna|classifica|valuta|conferma)(?:re|te)?\b.{0,30}\b(?:quest[aeo]|tutt[ie])\b.{0,30}\b(?:rilevant\w*|pertinent\w*)
    | \b(?:ignore|ignorar|esqueça|desconsidere)\b.{0,40}\b(?:instruções|regras|prompts?)\b
    | \b(?:marque|classifique|avalie|confirme)\b.{0,30}\b(?:est[ae]s?|tod[ao]s)\b.{0,30}\brelevantes?\b
    | \b(?:negeer|vergeet)\b.{0,40}\b(?:instructies?|opdrachten|prompts?)\b
    | \b(?:markeer|beoordeel|bevestig)\b.{0,30}\b(?:dit|deze|alle)\b.{0,30}\brelevant\b
    | \b(?:zignoruj|ignoruj|zapomnij)\b.{0,40}\b(?:instrukcj\w*|polece\w*|prompt\w*)
    | \b(?:oznacz|oceń|potwierdź)\b.{0,30}\b(?:ten|tę|to|wszystkie)\b.{0,30}\b(?:istotn\w*|trafn\w*)
    | (?:игнорируй|забудь|не\s+обращай\w*\s+внимания).{0,40}(?:инструкци|указани|промпт)
    | (?:отметь|оцени|пометь|подтверди)\w*\s.{0,30}\b(?:эту|это|этот|все)\b.{0,30}(?:релевантн|подтвержд)
    | (?:önceki|yukarıdaki|tüm)\b.{0,20}(?:talimat|komut).{0,30}(?:yoksay|görmezden|unut|dikkate\s+alma)
    | (?:以前|これまで|上記|前)の?.{0,10}(?:指示|命令|プロンプト).{0,10}(?:無視|忘れ)
    | この(?:記事|項目|エントリ).{0,15}(?:関連|重要).{0,10}として.{0,6}(?:分類|判定|評価)
    | (?:이전|위의|모든).{0,10}(?:지시|명령|프롬프트).{0,10}(?:무시|잊)
    | (?:تجاهل|انس).{0,40}(?:التعليمات|الأوامر|القواعد)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# One of these is part of every match: most texts have none, and looking for them is quicker.
_TRIGGERS: Final = (
    "instru", "prompt", "rules", "above", "previous", "prior", "system", "developer", "[/inst", "[inst", "<|", "endoftext",
    "assistant", "marque", "marca", "pertinent", "relevan", "rilevan", "релевант", "you are", "you must", "you should", "you will", "as an", "mark", "rate", "score", "classif", "label", "approve",
    "confirm", "insert", "select", "the tool", "the function", "the command", "topic", "suspicious", '"ref', "anweisung", "vorgaben",
    "regeln", "bewerte", "klassifiziere", "bestätige", "consigne", "règles", "évalue", "classe", "indicaciones", "reglas", "califica", "istruzioni", "regole",
    "contrassegna", "valuta", "regras", "avalie", "opdrachten", "bevestig", "beoordeel", "polece", "oznacz", "oceń", "potwierdź",
    "инструкци", "указани", "промпт", "отметь", "оцени", "пометь", "подтверди", "talimat", "komut", "指", "命令", "提示", "规则", "要求", "上文",
    "以上", "之前", "系统", "标记", "评为", "判定", "打分", "选中", "确认", "入库", "归类", "人工智能", "语言模型", "助手", "ai", "プロンプト", "この",
    "지시", "명령", "프롬프트", "التعليمات", "الأوامر", "القواعد", "im_start", "im_end", "language model",
)  # fmt: skip
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
    passage = joined_text(text)
    terms = tokenise(passage)
    lowered = passage.casefold()
    if any(word in lowered for word in _TRIGGERS) and _INSTRUCTION.search(passage):
        yield "instruction"
    if _is_keyword_stuffed(passage, topics) or _is_monotonous(terms):
        yield "stuffing"
    if _has_borrowed_sentence(frozenset(terms), topics):
        yield "borrowed"
    if text.hidden_chars >= _HIDDEN:
        yield "hidden-text"


def _is_keyword_stuffed(passage: str, topics: TopicSet) -> bool:
    folded = to_simplified_chinese(passage.casefold())
    counts = {
        (topic.id, keyword): folded.count(_folded(keyword))
        for topic in topics.topics
        for keyword in topic.keywords
        if keyword
    }
    found = {key: count for key, count in counts.items() if count}
    covered = sum(len(keyword) * count for (_, keyword), count in found.items()) / (
        len(folded) or 1
    )
    is_list = len(found) >= _MANY_KEYWORDS and covered >= _MOSTLY
    is_everything = len({topic for topic, _ in found}) >= _MANY_TOPICS
    is_repeated = max(found.values(), default=0) >= _REPEATED
    # An abstract repeats its own term, and a policy names many: they also say something else.
    return is_list or ((is_everything or is_repeated) and covered >= _PARTLY)


def _has_borrowed_sentence(terms: frozenset[str], topics: TopicSet) -> bool:
    """Whether nearly all words of one example stand in a text that mostly says something else."""
    index = _index(_Examples(topics))
    shared = Counter(number for term in terms for number in index.places.get(term, ()))
    return any(
        count >= _COPIED * index.sizes[number] and index.sizes[number] <= _HALF * len(terms)
        for number, count in shared.items()
        if index.sizes[number] >= _SHORTEST_SENTENCE
    )


class _Index(NamedTuple):
    """Where each term stands among the examples, and how many terms each of them has."""

    places: dict[str, tuple[int, ...]]
    sizes: tuple[int, ...]


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
    return _Index({term: tuple(some) for term, some in places.items()}, tuple(map(len, terms)))


@lru_cache(maxsize=4_096)
def _folded(keyword: str) -> str:
    return to_simplified_chinese(keyword.casefold())


def _is_monotonous(found: Sequence[str]) -> bool:
    return len(found) >= _ENOUGH_TERMS and len(set(found)) < _VARIETY * len(found)
