"""The text of a candidate: cleaned for its judges, and its script and language.

Detects script and language of a short text: by its letters, and by its function words.

A method that cannot read a language does not vote on it. So an answer is given only where it is clear; a
title without function words has no language, and is judged by its script. Function words say nothing about
a subject either, so lexical scoring leaves them out.

Cleans the text of a candidate for its judges: people, scorers and language models.

It is untrusted. Markup, control characters, and everything that is there and cannot be seen
(zero-width, bidirectional and tag characters) go, because that is where instructions hide.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from heapq import nlargest
from html import unescape
from operator import itemgetter
from typing import Final, Literal

from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import ScreenText

# one word in quotes each would be many pages
# fmt: off
STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": "the of and to in is that for it with as was on are by this be at from or an have not but they his her their which will has had were been its after who would about into than more can when you we our your how why what these those there if so no up out only over some also says said",
        "de": "der die das und ist nicht ein eine einen einem einer eines zu den dem des von mit sich auf für im in auch als es an werden wird wurde aus er sie wir ihr hat haben dass bei nach wie oder aber noch nur über kann sind so um am zum zur vor durch gegen unter ohne bis wenn mehr sein seine was man war soll will darf muss diese dieser dieses wer wo warum wann wieder jetzt doch keine kein ab",
        "fr": "le la les de des du un une et est en que qui dans pour pas sur au aux avec ce cette ces son sa ses il elle ils nous vous plus par ne se sont été être mais ou où leur leurs après sans sous chez entre comme tout tous très deux fait ont a à d l s n c qu y on si bien encore dont vers pourquoi comment quand",
        "es": "el la los las de del un una unos unas y es en que para por con no se su sus al lo como más pero o sobre entre ya sin también fue ha han son está hasta desde cuando muy todo todos esta este estos estas nos le les ser tras ante donde quien qué cómo porque si dos hay",
        "it": "il lo la i gli le di del della dei delle dello un uno una e è in che per con non si su da al alla ai alle nel nella nei sono come più ma o anche ha hanno dal dalla questo questa questi dopo tra fra senza suo sua loro ci se cosa perché quando chi due tutti molto essere era",
        "pt": "o a os as de do da dos das um uma e é em no na nos nas que para por com não se ao aos mais como mas ou foi são sua seu seus suas à às pelo pela já também até entre sem sobre depois há está ser tem têm quando muito onde este esta isto ele ela",
        "nl": "de het een en is van in op te dat die voor met niet zijn aan er om ook als bij maar nog uit naar door over wordt worden werd heeft hebben wat hoe tot dan kan of meer zo geen hun je we zich onder tegen na al deze dit wie waarom jaar",
        "sv": "och att det är en ett i på som för med av inte den till har de om var från men så kan ska vi du jag han hon eller när vid efter också sig ut över under bara nu mot utan mer än hur vad blir",
        "da": "og at det er en et i på som for med af ikke den til har de om var fra men så kan skal vi du jeg han hun eller når ved efter også sig ud over under kun nu mod uden mere end hvordan hvad bliver",
        "nb": "og at det er en et i på som for med av ikke den til har de om var fra men så kan skal vi du jeg han hun eller når ved etter også seg ut over under bare nå mot uten mer enn hvordan hva blir",
        "fi": "ja on ei se että joka oli ovat mutta myös kun tai hän niin kuin sen ole vain jos sekä jo nyt mukaan jotka tämä ovat olla voi mitä miten kanssa jälkeen ennen vielä",
        "pl": "i w na z do się nie jest to że o jak po za od dla przez ale czy są był była było tym tego ten ta te co już tylko oraz przy ich jego jej może nad pod bez także które który która gdy być więcej u a",
        "cs": "a v na se je že s z do o i k to po za od pro jako jsou ale nebo byl byla bylo které který která už jen také při podle mezi jeho její jak co když tak ve ze po být více u není",
        "sk": "a v na sa je že s z do o i k to po za od pre ako sú ale alebo bol bola bolo ktoré ktorý ktorá už len aj pri podľa medzi jeho jej čo keď tak vo zo byť viac u nie",
        "hu": "a az és hogy nem is egy de van ez meg csak már mint volt vagy ha el ki még azt lesz nagy után szerint által fel le be ezt ami aki több mert között",
        "ro": "și în de la cu pe un o nu că este a al ale din care pentru mai se ce sunt au fost fi sau dar prin după lor lui această acest acesta când cum dacă între fără până",
        "ru": "и в не на что с по как это к из за от для он она они но а у же то бы его её их был была было были при до или так мы вы о об во со после без ещё уже когда если только где чтобы который которая которые также",
        "uk": "і в у не на що з по як це до із за від для він вона вони але а та же то б його її їх був була було були при або так ми ви про об після без ще вже коли якщо лише де щоб який яка які також є",
        "bg": "и в не на че с по като това към от за той тя те но а се да е са беше или така ние вие след без още вече когато ако само където който която които също",
        "el": "και το η ο να της του τα για με στο στη από την τον που είναι δεν θα στην στον τις τους των ένα μια σε ως αλλά ή κατά μετά πριν πιο αυτό οι",
        "tr": "ve bir bu da de için ile çok daha en gibi kadar olan olarak ne ama mi mı her o sonra ise değil var yok ya göre ki önce veya şu nasıl neden",
        "ar": "في من على إلى أن هذا هذه التي الذي عن مع كان كانت لا ما هو هي بعد قبل بين كل قد لم لن ثم أو و أي حتى عند غير خلال منذ",
        "fa": "و در به از که این را با است برای آن یک تا بر هم های می شد شده بود اند خود نیز یا اما هر ما او پس",
        "he": "של את על לא זה הוא היא עם כי גם אל או אם יש כל מה אך בין עוד רק היה הם אחרי לפני",
        "hi": "के का की है में को से और पर ने यह हैं कि एक नहीं भी तो था थे इस वह लिए साथ हो बाद",
        "id": "yang dan di ke dari untuk dengan pada ini itu tidak adalah akan dalam juga oleh sebagai bisa karena telah sudah lebih atau ada saat para kepada setelah mereka kita",
        "vi": "và của là có không được cho trong các một những với để này khi đã từ người về như đến ra cũng sẽ nhiều vào tại nhưng trên hay theo",
    }.items()
}
# fmt: on


UNKNOWN: Final = ""
OTHER: Final = "und"  # letters of a script that is not in the list
_SCRIPTS: Final = {  # a script that one language, or one that stands for all, is written in
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
    "zh": re.compile(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
}
_SCRIPT_SHARE: Final = 0.3
_KANA_SHARE: Final = 0.05  # of a Japanese text; the rest of it may be Han
_LETTER: Final = re.compile(r"[^\W\d_]")
_LATIN_LETTER: Final = re.compile(r"[a-zA-Z\u00aa-\u02af\u1e00-\u1eff]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_SAMPLE_WORDS: Final = 200
_ALPHABETS: Final = {"ru": ("ru", "uk", "bg"), "ar": ("ar", "fa"), "el": ("el",), "he": ("he",), "hi": ("hi",)}  # fmt: skip
_LATIN: Final = tuple(
    code for code in STOP_WORDS if code not in {"ru", "uk", "bg", "ar", "fa", "el", "he", "hi"}
)
# Letters that no other language of the list has.
_LETTERS: Final = {
    "de": "ß", "es": "ñ¿¡", "pt": "ãõ", "pl": "łżźćńśąę", "cs": "řěů", "hu": "őű", "ro": "țșă", "tr": "ğış",
    "uk": "іїєґ", "bg": "", "fa": "پچژگ", "vi": "ơưạảấầẩẫậắằẳẵặẹẻẽếềểễệ", "fr": "œçêèù", "sv": "", "da": "", "nb": "",
}  # fmt: skip
_OWNERS: Final = {letter: code for code, letters in _LETTERS.items() for letter in letters}
_SPEAKERS: Final = {
    word: tuple(code for code, words in STOP_WORDS.items() if word in words)
    for words in STOP_WORDS.values()
    for word in words
}
_FEWEST_SIGNS: Final = 2
_LEAD: Final = 1.25  # over the second language
TextScript = Literal["han", "other"]

MAX_TITLE: Final = 300
MAX_SUMMARY: Final = 800
MAX_CATEGORIES: Final = 10
MAX_CATEGORY: Final = 60
MAX_FEED: Final = 120

_ROUNDS: Final = 3  # markup that was escaped twice
_RAW_PER_CHAR: Final = 20  # how much raw text is looked at for each character that is kept
_HIDDEN: Final = re.compile(r"<(script|style)\b[^>]*>.*?(?:</\1\s*>|$)", re.IGNORECASE | re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# Tag characters and changes of the writing direction: plain feeds have no use for them.
_SMUGGLED: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_HAN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

_HAN_SHARE: Final = 0.3
_WORD_LETTERS: Final = re.compile(r"(?:[^\W\d_][\W\d_]*){3}")


@lru_cache(maxsize=1_024)  # scorers, tokeniser and signs ask about the same text in turn
def language_of(text: str) -> str:
    """The ISO 639-1 code of the language; empty where too little tells it."""
    script = main_script(text)
    if script in ("ja", "ko", "th", "zh", OTHER):
        return script
    return _by_words(text, _ALPHABETS.get(script, _LATIN) if script else _LATIN, script)


def main_script(text: str) -> str:
    """The language that stands for the script of most letters; empty for Latin and for no letters."""
    if text.isascii() or not (letters := len(_LETTER.findall(text))):
        return UNKNOWN
    kana, han = (len(_SCRIPTS[code].findall(text)) / letters for code in ("ja", "zh"))
    if kana + han >= _SCRIPT_SHARE:
        return "ja" if kana >= _KANA_SHARE else "zh"
    is_latin = len(_LATIN_LETTER.findall(text)) / letters >= _SCRIPT_SHARE
    return next(
        (code for code in _SCRIPTS if _share(code, text, letters) >= _SCRIPT_SHARE),
        UNKNOWN if is_latin else OTHER,
    )


def _share(code: str, text: str, letters: int) -> float:
    return len(_SCRIPTS[code].findall(text)) / letters if _SCRIPTS[code].search(text) else 0.0


def _by_words(text: str, candidates: tuple[str, ...], script: str) -> str:
    words = _WORD.findall(text.casefold())[:_SAMPLE_WORDS]
    weights: dict[str, float] = {}
    signs: Counter[str] = Counter()  # different words and letters that speak for a language
    for word in dict.fromkeys(filter(_SPEAKERS.__contains__, words)):
        speakers = [code for code in _SPEAKERS[word] if code in candidates]
        for code in speakers:  # a word of many languages tells little about each of them
            weights[code] = weights.get(code, 0.0) + 1 / len(speakers)
            signs[code] += 1
    for letter in () if text.isascii() else _OWNERS.keys() & set(text.casefold()):
        code = _OWNERS[letter]
        if code in candidates:
            weights[code] = weights.get(code, 0.0) + 1
            signs[code] += 1
    ranked = nlargest(2, weights.items(), key=itemgetter(1))
    if not ranked or signs[ranked[0][0]] < _FEWEST_SIGNS:
        return script if script in ("he", "el", "hi") else UNKNOWN
    is_close = len(ranked) > 1 and ranked[0][1] < _LEAD * ranked[1][1]
    return UNKNOWN if is_close else ranked[0][0]


def screen_text_of(candidate: WindowCandidate) -> ScreenText:
    """Everything that a candidate is judged by: title, summary, categories and feed together."""
    return ScreenText(
        ref=candidate.candidate_id,
        title=clean_line(candidate.title or "", MAX_TITLE),
        summary=clean_line(candidate.summary or "", MAX_SUMMARY),
        categories=_categories(candidate.categories),
        feed_title=clean_line(candidate.feed_title or "", MAX_FEED),
        hidden_chars=_hidden_chars(candidate),
    )


def clean_line(text: str, max_chars: int) -> str:
    """One line of visible text without markup, NFKC, of at most `max_chars` characters."""
    text = text[: max_chars * _RAW_PER_CHAR]
    for _ in range(_ROUNDS):
        plain = unescape(_TAG.sub(" ", _COMMENT.sub(" ", _HIDDEN.sub(" ", text))))
        if plain == text:
            break
        text = plain
    seen = unicodedata.normalize("NFKC", text)
    if not seen.isprintable():
        seen = "".join(map(_visible, seen))
    return " ".join(seen.split())[:max_chars].rstrip()


def joined_text(text: ScreenText) -> str:
    """All fields as one passage, as an encoder reads it."""
    parts = (text.title, text.summary, ", ".join(text.categories), text.feed_title)
    return ". ".join(part for part in parts if part)


def has_words(text: ScreenText) -> bool:
    """Whether there is anything of its own to judge: emoji or a feed's title alone are nothing."""
    return bool(_WORD_LETTERS.search(" ".join((text.title, text.summary, *text.categories))))


@lru_cache(maxsize=1_024)  # every method asks about the same text
def script_of(text: str) -> TextScript:
    """Which population a text is compared with: scores differ between scripts, not only topics."""
    if text.isascii():
        return "other"
    letters = len(_LETTER.findall(text))
    han = len(_HAN.findall(text))
    return "han" if letters and han / letters >= _HAN_SHARE else "other"


def _categories(categories: Sequence[str]) -> tuple[str, ...]:
    cleaned = (clean_line(category, MAX_CATEGORY) for category in categories[: MAX_CATEGORIES * 4])
    return tuple(category for category in cleaned if category)[:MAX_CATEGORIES]


def _hidden_chars(candidate: WindowCandidate) -> int:
    fields = (candidate.title or "", candidate.summary or "", *candidate.categories)
    return sum(len(_SMUGGLED.findall(field[: MAX_SUMMARY * _RAW_PER_CHAR])) for field in fields)


def _visible(char: str) -> str:
    if char in "\t\n\r":
        return " "
    return "" if unicodedata.category(char) in _UNSEEN else char
