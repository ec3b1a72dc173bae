"""Parses authors: the many ways to write a name and an e-mail address in one field.

RSS asks for an address in `author` and gets everything: `jane@example.com (Jane Doe)`,
`Jane Doe <jane@example.com>`, a bare name, a bare address, a link. Atom and JSON Feed have a field
for each, and people put everything into the first one there too.
"""

import re
from hashlib import sha256
from typing import Literal

import ada_url
import msgspec

from feedmill.model.entry import Author
from feedmill.model.parsed import Person
from feedmill.normalise.text import clean_text, decode_references

MAX_PERSON_CHARS = 320  # of one field; an address has at most 254 (RFC 5321 section 4.5.3.1.3)


def clean_authors(persons: tuple[Person, ...], max_authors: int) -> tuple[Author, ...]:
    """Return the authors in order, each once, without those that say nothing."""
    authors: list[Author] = []
    for person in persons:
        author = _clean(person)
        if author == Author():
            continue
        same = next((at for at, known in enumerate(authors) if _is_same(known, author)), None)
        if same is not None:
            authors[same] = _filled(authors[same], author)
        elif len(authors) < max_authors:
            authors.append(author)
    return tuple(authors)


def redact_emails(
    authors: tuple[Author, ...], how: Literal["keep", "hash", "remove"]
) -> tuple[Author, ...]:
    """The authors with their e-mail addresses hashed or removed (002 §11).

    A hash still tells two authors apart; one who is nothing but an address remains as a hash.
    """
    if how == "keep":
        return authors
    found = (
        author
        if author.email is None
        else msgspec.structs.replace(
            author, email=None if how == "remove" else _hashed(author.email)
        )
        for author in authors
    )
    return tuple(author for author in found if author != Author())


def _hashed(email: str) -> str:
    return f"sha256:{sha256(email.strip().lower().encode()).hexdigest()[:32]}"


def parse_person(text: str) -> Author:
    """Return the name, the address and the link that one field holds, as they were written."""
    text = text[:MAX_PERSON_CHARS].strip()
    return (
        _bare(text)
        or _bracketed(text, "<", ">")
        or _bracketed(text, "(", ")")
        or _side_by_side(text)
        or Author(name=_name(text))
    )


def _clean(person: Person) -> Author:
    """Return what the three fields say, whichever of them it was put into."""
    author = Author(uri=_uri(person.uri or ""))
    for field in (person.email or "", person.name or ""):
        short = field if len(field) <= MAX_PERSON_CHARS else clean_text(field, MAX_PERSON_CHARS)
        # Decoded first: the semicolon of a reference is none that stands around a name.
        written = parse_person(decode_references(short))
        # Once more after cleaning: `<b>jane@example.com</b>` is an address too.
        plain = parse_person(clean_text(written.name or ""))
        author = _filled(_filled(author, msgspec.structs.replace(written, name=None)), plain)
        author = msgspec.structs.replace(author, name=plain.name or author.name)
    return author


def _is_same(known: Author, other: Author) -> bool:
    """Tell whether two authors share something and contradict each other in nothing."""
    pairs = ((known.name, other.name), (known.email, other.email), (known.uri, other.uri))
    shared = [one.casefold() == two.casefold() for one, two in pairs if one and two]
    return bool(shared) and all(shared)


def _filled(author: Author, other: Author) -> Author:
    """Return the author with the gaps filled from another one."""
    return Author(
        name=author.name or other.name,
        email=author.email or other.email,
        uri=author.uri or other.uri,
    )


def _bare(text: str) -> Author | None:
    """Return the author of a text that is an address or a link and nothing else."""
    email = _email(text)
    if email is not None:
        return Author(email=email)
    uri = _uri(text)
    return None if uri is None else Author(uri=uri)


def _bracketed(text: str, opening: str, closing: str) -> Author | None:
    """Return the author of `Jane Doe <jane@example.com>` or `jane@example.com (Jane Doe)`."""
    if not text.endswith(closing):
        return None
    before, _, name_inside = text[:-1].partition(opening)
    name_before, _, inside = text[:-1].rpartition(opening)
    for contact, name in ((before, name_inside), (inside, name_before)):
        author = _bare(contact)
        if author is not None:
            return msgspec.structs.replace(author, name=_name(name))
    return None


def _side_by_side(text: str) -> Author | None:
    """Return the author of `Jane Doe, jane@example.com`, or of the same the other way round."""
    words = text.split()
    for contact, rest in ((words[:1], words[1:]), (words[-1:], words[:-1])):
        email = _email("".join(contact).strip(",;:<>()[]"))
        if email is not None:
            return Author(name=_name(" ".join(rest)), email=email)
    return None


def _name(text: str) -> str | None:
    """Return the name without what stood around it; an address or a mark is no name."""
    name = text.strip(" \t\r\n\"'“”,;:|–-")
    return name if name.strip("()<>[]") and _email(name) is None else None


def _email(text: str) -> str | None:
    """Return the address without `mailto:`, if it has the shape of one: a@b.cd."""
    address = text.strip()
    if address[:7].lower() == "mailto:":
        address = address[7:].partition("?")[0]
    return address if len(address) <= 254 and _EMAIL.fullmatch(address) else None


def _uri(text: str) -> str | None:
    """Return the text if it is an absolute http, https or mailto URL, as it was written."""
    uri = text.strip()
    shaped = len(uri) <= _MAX_URI_CHARS and _URI.fullmatch(uri)
    return uri if shaped and ada_url.check_url(uri) else None


_MAX_URI_CHARS = 2_048

_URI = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x20\x7f\ud800-\udfff<>\"]+", re.IGNORECASE)

# Each class stops at the character that ends it, so there is nothing to try twice.
_PART = r"[^\s\x00-\x20\x7f\ud800-\udfff@<>()\[\]\\,;:\"/.]"
_EMAIL = re.compile(rf"(?:{_PART}|[./]){{1,64}}@(?:{_PART}+\.)+{_PART}{{2,}}")
