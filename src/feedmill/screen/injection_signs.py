"""Signs of prompt injection: text made to steer its reader rather than to inform.

Stuffing a text with a topic's words beats every local scorer, and instructions are written for
language models. Neither can be recognised for certain, so a sign never drops a candidate: it
only keeps any method from suggesting more than "unsure".
"""
# Tested in tests/unit/screen/test_fusion.py

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from feedmill.model.screening import ScreenText, TopicSet
from feedmill.screen.texts import joined_text
from feedmill.screen.tokenise import to_simplified_chinese, tokenise

Sign = Literal["instruction", "stuffing", "hidden-text"]

SIGNS: Final[dict[Sign, str]] = {
    "instruction": "it gives orders to its reader",
    "stuffing": "it is stuffed with the words of topics",
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
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MANY_KEYWORDS: Final = 5
_MANY_TOPICS: Final = 4
_MOSTLY: Final = 0.4  # of the characters
_PARTLY: Final = 0.25
_REPEATED: Final = 5  # times one keyword stands in one text
_ENOUGH_TERMS: Final = 24
_VARIETY: Final = 0.45
_HIDDEN: Final = 1


def signs_of(text: ScreenText, topics: TopicSet) -> tuple[Sign, ...]:
    """What speaks against taking the text at its word; empty for nearly every text."""
    return tuple(_signs(text, topics))


def _signs(text: ScreenText, topics: TopicSet) -> Iterator[Sign]:
    passage = joined_text(text)
    if _INSTRUCTION.search(passage):
        yield "instruction"
    if _is_keyword_stuffed(passage, topics) or _is_monotonous(tokenise(passage)):
        yield "stuffing"
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


@lru_cache(maxsize=4_096)
def _folded(keyword: str) -> str:
    return to_simplified_chinese(keyword.casefold())


def _is_monotonous(found: Sequence[str]) -> bool:
    return len(found) >= _ENOUGH_TERMS and len(set(found)) < _VARIETY * len(found)
