"""Ways to spoil a document: what disks, proxies, editors and attackers do to bytes."""

from pathlib import Path
from random import Random  # noqa: TID251  # seeded by the caller: a failure can be repeated
from typing import Final

CORPUS: Final = Path(__file__).parents[1] / "fuzz" / "corpus"

# What changes the state of a scanner, a decoder or a tree builder.
TOKENS: Final = (
    b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<?xml version='1.0' encoding='utf-16'?>", b"<?x", b"?>",
    b"<!DOCTYPE rss [", b"<!ENTITY a 'b'>", b"]>", b"&", b"&amp;", b"&nbsp;", b"&#0;", b"&#xD83D;",
    b"&#150;", b"&#", b"&lt;item&gt;", b"<item>", b"</item>", b"<item/>", b"<item ", b"<entry>",
    b"</entry>", b"<x:item>", b"<title>", b"</title>", b"<title/>", b"</channel>", b"<channel>",
    b"</rss>", b"<rss version='2.0'>", b"</feed>", b"<feed xmlns='http://www.w3.org/2005/Atom'>",
    b"<div>", b"</p>", b"<", b">", b"/>", b"'", b'"', b"=", b" xml:base='//['", b" xml:lang='x'",
    b" xmlns='u:x'", b" xmlns:dc='u:y'", b"<dc:creator>", b"<media:group>", b"<itunes:category>",
    b"<content type='xhtml'>", b"<content type='image/png'>", b"\x00", b"\xff", b"\xfe\xff", b"\xc3",
    b"\xed\xa0\x80", b"\xef\xbf\xbf", b"\xef\xbb\xbf", b"\x1b$B", b"\x0c", b"\xe2\x80\xae", b"{", b"}",
    b"[", b"]", b'"items":[', b"NaN", b"-1e999", b"9" * 400, b"\\ud800", b"\\", b",", b":", b"null",
)  # fmt: skip
ENCODINGS: Final = ("utf-16", "utf-16-be", "utf-32", "latin-1", "gbk", "shift_jis", "cp1251")


def corpus() -> dict[str, bytes]:
    """The seed documents by name, always in the same order."""
    return {path.name: path.read_bytes() for path in sorted(CORPUS.iterdir())}


def flip(body: bytes, at: int, value: int) -> bytes:
    """One byte replaced."""
    at %= max(1, len(body))
    return body[:at] + bytes([value]) + body[at + 1 :]


def truncate(body: bytes, at: int) -> bytes:
    """The document's beginning only."""
    return body[: at % (len(body) + 1)]


def delete(body: bytes, first: int, last: int) -> bytes:
    """A range taken out."""
    first, last = _range(body, first, last)
    return body[:first] + body[last:]


def duplicate(body: bytes, first: int, last: int, times: int) -> bytes:
    """A range repeated."""
    first, last = _range(body, first, last)
    return body[:last] + body[first:last] * times + body[last:]


def splice(body: bytes, other: bytes, at: int, there: int) -> bytes:
    """The beginning of one document and the end of another."""
    return body[: at % (len(body) + 1)] + other[there % (len(other) + 1) :]


def inject(body: bytes, token: bytes, at: int) -> bytes:
    """A token set somewhere into the document."""
    at %= len(body) + 1
    return body[:at] + token + body[at:]


def recode(body: bytes, encoding: str) -> bytes:
    """The same text in an encoding that its declaration does not name."""
    return body.decode("utf-8", "replace").encode(encoding, "xmlcharrefreplace")


def mutate(body: bytes, others: list[bytes], chance: Random) -> bytes:
    """One of the ways at random."""
    one, two, size = chance.randrange(1 << 20), chance.randrange(1 << 20), chance.randrange(1, 40)
    way = chance.randrange(7)
    if way == 0:
        return flip(body, one, chance.randrange(256))
    if way == 1:
        return truncate(body, one)
    if way == 2:
        return delete(body, one, one + size)
    if way == 3:
        return duplicate(body, one, two, chance.randrange(1, 4))
    if way == 4:
        return splice(body, chance.choice(others), one, two)
    if way == 5 and chance.random() < 0.1:
        return recode(body, chance.choice(ENCODINGS))
    return inject(body, chance.choice(TOKENS), one)


def _range(body: bytes, first: int, last: int) -> tuple[int, int]:
    size = len(body) + 1
    return min(first % size, last % size), max(first % size, last % size)
