"""The HTML of an article, as an editor would produce it, and as an attacker would."""

from html import escape
from typing import Final

from feedmill_demo.prose import Language, sentences
from feedmill_demo.seeded_random import seeded_random

_HOSTILE: Final = (
    "<script>steal(document.cookie)</script>",
    '<img src="x" onerror="steal(1)">',
    '<a href="javascript:steal(2)">read on</a>',
    '<iframe src="javascript:steal(3)"></iframe>',
    '<svg><animate onbegin="steal(4)" attributeName="x"></animate></svg>',
    '<p style="background:url(javascript:steal(5))" onclick="steal(6)">click me</p>',
    '<math><mtext><table><mglyph><style><img src="x" onerror="steal(7)"></style></mglyph></table></mtext></math>',
    '<a href="data:text/html;base64,PHNjcmlwdD5zdGVhbCg4KTwvc2NyaXB0Pg==">data</a>',
)


def article_html(language: Language, home: str, seed: str, number: int, revision: int) -> str:
    """Two to five blocks: paragraphs, and now and then a picture, a list or a quotation."""
    count = 2 + int(seeded_random(seed, number, "blocks") * 4)
    return "\n".join(
        _block(language, home, seed, number, f"{revision}/{place}") for place in range(count)
    )


def hostile_html(number: int) -> str:
    """One of the payloads that must never run in a reader."""
    return _HOSTILE[number % len(_HOSTILE)]


def _block(language: Language, home: str, seed: str, number: int, place: str) -> str:
    text = escape(sentences(language, 3, seed, number, place), quote=False)
    roll = seeded_random(seed, number, place, "kind")
    if roll < 0.15:
        picture = f"{home}pictures/{number}.png"
        return f'<figure><img src="{picture}" alt="" width="640" height="360"/><figcaption>{text}</figcaption></figure>'
    if roll < 0.3:
        return f"<blockquote><p>{text}</p></blockquote>"
    if roll < 0.45:
        items = (escape(sentences(language, 1, seed, number, place, n), quote=False) for n in "abc")
        return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
    if roll < 0.7:
        return f'<p>{text} <a href="{home}{max(number - 1, 0)}">#{number}</a></p>'
    return f"<p><em>{text[:1]}</em>{text[1:]}</p>" if text[:1] != "&" else f"<p>{text}</p>"
