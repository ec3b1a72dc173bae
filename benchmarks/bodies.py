"""HTML as publishers write it: the density of tags, attributes and entities of real bodies.

Per 1,000 characters, 10,000 real bodies have 15.7 tags (1.7 links, 0.9 pictures, 1.6 paragraphs, 1.6
line breaks, 0.7 spans), 7.2 attributes in double quotes, 0.4 in single ones and 0.2 in none, 2.5
entities, 0.1 frames or objects, 0.2 tracking pixels, and a comment, a script, a font or an unknown
element now and then.
"""

from collections.abc import Callable
from random import Random  # noqa: TID251  # seeded: the same documents in every run
from typing import Final

from benchmarks.prose import SENTENCES

_PUNCTUATION: Final = (
    ("&", "&amp;"),
    ("’", "&#8217;"),
    (" : ", "&nbsp;: "),
    (", and", "&nbsp;&ndash; and"),
)


def html_body(chance: Random, language: str, target_bytes: int) -> str:
    """Markup of about the wanted size, in blocks that a blog's editor would produce."""
    blocks: list[str] = []
    size = 0
    while size < target_bytes:
        block = _block(chance)(chance, language)
        blocks.append(block)
        size += len(block.encode()) + 1
    return "\n".join(blocks)


def sentence(chance: Random, language: str) -> str:
    """One plain sentence."""
    return chance.choice(SENTENCES[language])


def plain(chance: Random, language: str, sentences: int) -> str:
    """Plain text without any markup."""
    return " ".join(sentence(chance, language) for _ in range(sentences))


def headline(chance: Random, language: str) -> str:
    """A title: part of a sentence, without its full stop."""
    text = sentence(chance, language).rstrip(".。?")
    return text[: chance.randint(24, 90)].strip()


def _block(chance: Random) -> Callable[[Random, str], str]:
    return chance.choices(_BLOCKS, weights=_WEIGHTS)[0]


def _paragraph(chance: Random, language: str) -> str:
    words = [_inline(chance, language) for _ in range(chance.randint(2, 6))]
    attributes = chance.choices(
        ("", ' class="wp-block-paragraph"', " class='text'", _style(chance)), weights=(30, 6, 3, 3)
    )[0]
    return f"<p{attributes}>{' '.join(words)}</p>"


def _lines(chance: Random, language: str) -> str:
    """What editors without paragraphs write."""
    words = [_inline(chance, language) for _ in range(chance.randint(3, 7))]
    return "<div>" + "<br />\n<br />\n".join(words) + "</div>"


def _text(chance: Random, language: str) -> str:
    """Text between two blocks, as it stands in many a description."""
    return _typeset(plain(chance, language, chance.randint(1, 4)))


def _inline(chance: Random, language: str) -> str:
    raw = sentence(chance, language)
    half = max(1, len(raw) // 2)
    first, second = _typeset(raw[:half]), _typeset(raw[half:])
    roll = chance.random()
    if roll < 0.17:
        link = f"https://example.org/{chance.randint(2005, 2025)}/{chance.randint(1, 9999)}/"
        query = "?utm_source=feed&amp;utm_medium=rss" if roll < 0.03 else ""
        extra = ' target="_blank"' if roll < 0.05 else ""
        return f'<a href="{link}{query}"{extra}>{first}</a>{second}'
    if roll < 0.18:
        return f"<a href='/tags/{chance.randint(1, 99)}' class=more>{first}</a>{second}"
    if roll < 0.22:
        return f"{first}<strong>{second}</strong>"
    if roll < 0.26:
        return f"<em>{first}</em>{second}"
    if roll < 0.33:
        return f'<span class="s{chance.randint(1, 9)}">{first}</span>{second}'
    if roll < 0.35:
        return f"<span{_style(chance)}>{first}</span>{second}"
    if roll < 0.37:
        return f"<font color=#333333 size=2>{first}</font>{second}"
    if roll < 0.40:
        return f"{_picture(chance)}{first}{second}"
    return first + second


def _style(chance: Random) -> str:
    declarations = (
        "font-weight: 400;",
        "font-family: Georgia, serif; font-size: 14px; color: #333333;",
        "text-align: justify; margin: 0px 0px 10px; padding: 0px;",
    )
    return f' style="{chance.choice(declarations)}"'


def _picture(chance: Random) -> str:
    number = chance.randint(1000, 99999)
    source = f"https://img.example.net/s1600/IMG_{number}.jpg"
    return (
        f'<a href="{source}" imageanchor="1" style="margin-left: 1em; margin-right: 1em;">'
        f'<img border="0" height="240" src="{source}" width="320" alt="" '
        'style="float: left; clear: both; cursor: pointer;" /></a>'
    )


def _typeset(text: str) -> str:
    for character, reference in _PUNCTUATION:
        text = text.replace(character, reference)
    return text


def _frame(chance: Random, language: str) -> str:  # noqa: ARG001  # films have no language
    """A film: today's frame, or the object that came before it."""
    address = f"https://video.example.com/embed/{chance.randint(1000, 99999)}"
    if chance.random() < 0.5:
        return f'<iframe width="560" height="315" src="{address}" frameborder="0"></iframe>'
    return (
        f'<object width="425" height="344"><param name="movie" value="{address}"></param>'
        f'<embed src="{address}" type="application/x-shockwave-flash" width="425"></embed></object>'
    )


def _leftover(chance: Random, language: str) -> str:
    """What editors and word processors leave behind."""
    words = _typeset(sentence(chance, language))
    return chance.choice(
        (
            f"<!-- {words} -->",
            f"<o:p>{words}</o:p>",
            f"<script type='text/javascript'>var n = {chance.randint(1, 99)};</script>",
            f"<center>{words}</center>",
        )
    )


def _list(chance: Random, language: str) -> str:
    points = [_inline(chance, language) for _ in range(chance.randint(3, 6))]
    return "<ul>\n" + "\n".join(f"<li>{point}</li>" for point in points) + "\n</ul>"


def _figure(chance: Random, language: str) -> str:
    number = chance.randint(1000, 99999)
    source = f"https://cdn.example.net/wp-content/uploads/2025/03/picture-{number}"
    sizes = ", ".join(f"{source}-{width}.jpg {width}w" for width in (300, 768, 1024))
    raw = sentence(chance, language)
    caption = _typeset(raw)
    return (
        f'<figure class="wp-block-image size-large"><img loading="lazy" decoding="async" '
        f'width="1024" height="683" src="{source}-1024.jpg" alt="{_typeset(raw[:60])}" '
        f'class="wp-image-{number}" srcset="{sizes}" sizes="(max-width: 1024px) 100vw, 1024px" />'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _quotation(chance: Random, language: str) -> str:
    return f"<blockquote>{_paragraph(chance, language)}</blockquote>"


def _heading(chance: Random, language: str) -> str:
    return f'<h2 id="part-{chance.randint(1, 999)}">{_typeset(headline(chance, language))}</h2>'


def _code(chance: Random, language: str) -> str:
    number = chance.randint(1, 99)
    comment = _typeset(sentence(chance, language))
    return (
        f'<pre class="language-python"><code># {comment}\nfor n in range({number}):\n'
        f"    if n &lt; limit &amp;&amp; n &gt; 0:\n        print(n)\n</code></pre>"
    )


def _table(chance: Random, language: str) -> str:
    rows = [
        f"<tr><td>{chance.randint(1, 99)}</td><td><b>{_typeset(headline(chance, language)[:30])}</b></td>"
        f'<td align="right">{chance.randint(100, 9999)}</td></tr>'
        for _ in range(chance.randint(3, 7))
    ]
    return '<table border="0" cellpadding="4"><tbody>' + "".join(rows) + "</tbody></table>"


def _sharing(chance: Random, language: str) -> str:  # noqa: ARG001  # buttons have no language
    """The row of buttons that feed services put below an entry."""
    number = chance.randint(1000, 99999)
    buttons = [
        f'<a href="https://share.example.com/{name}?id={number}&amp;from=feed">'
        f'<img src="https://share.example.com/i/{name}.png" border="0" /></a>'
        for name in ("mail", "save")
    ]
    pixel = f'<img src="https://stats.example.com/{number}.gif" height="1" width="1" />'
    return '<div class="sharing">' + "&nbsp;".join(buttons) + f"</div>{pixel}"


_BLOCKS: Final = (
    _paragraph, _lines, _text, _list, _figure, _quotation, _heading, _code, _table, _sharing, _frame,
    _leftover,
)  # fmt: skip
_WEIGHTS: Final = (40, 11, 30, 5, 1, 2, 4, 1, 1, 6, 3, 2)
