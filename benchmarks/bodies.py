"""HTML as publishers write it: paragraphs with links, pictures, lists, quotations, entities."""

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
    kinds = (_paragraph, _lines, _list, _figure, _quotation, _heading, _code, _table, _sharing)
    return chance.choices(kinds, weights=(52, 12, 7, 8, 5, 6, 2, 3, 5))[0]


def _paragraph(chance: Random, language: str) -> str:
    words = [_inline(chance, language) for _ in range(chance.randint(1, 5))]
    attributes = chance.choice(("", "", "", ' class="wp-block-paragraph"', _style(chance)))
    return f"<p{attributes}>{' '.join(words)}</p>"


def _lines(chance: Random, language: str) -> str:
    """What editors without paragraphs write."""
    words = [_inline(chance, language) for _ in range(chance.randint(2, 4))]
    return "<div>" + "<br /><br />".join(words) + "</div>"


def _inline(chance: Random, language: str) -> str:
    raw = sentence(chance, language)
    half = max(1, len(raw) // 2)
    first, second = _typeset(raw[:half]), _typeset(raw[half:])
    roll = chance.random()
    if roll < 0.30:
        link = f"https://example.org/{chance.randint(2005, 2025)}/{chance.randint(1, 9999)}/"
        query = "?utm_source=feed&amp;utm_medium=rss" if roll < 0.06 else ""
        return f'<a href="{link}{query}" rel="noopener" target="_blank">{first}</a>{second}'
    if roll < 0.40:
        return f"{first}<strong>{second}</strong>"
    if roll < 0.50:
        return f"<em>{first}</em>{second}<br />"
    if roll < 0.65:
        return f"<span{_style(chance)}>{first}</span>{second}"
    if roll < 0.70:
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
        f'<a href="https://share.example.com/{name}?id={number}&amp;from=feed" title="{name}">'
        f'<img src="https://share.example.com/i/{name}.png" border="0" alt="{name}" /></a>'
        for name in ("mail", "print", "save", "send")
    ]
    pixel = f'<img src="https://stats.example.com/{number}.gif" height="1" width="1" alt="" />'
    return '<div class="sharing">' + "&nbsp;".join(buttons) + f"</div>{pixel}"
