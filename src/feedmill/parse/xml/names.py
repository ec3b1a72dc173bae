"""Names of elements as we call them, and the prolog before the root element.

Element names as we call them: "dc:creator", "atom:link", "rss:item".

Names are compared by namespace URI, with the spellings that occur in the wild. A well-known
prefix bound to an unknown URI (or to none) is believed as a last resort. For atom only one that is
never declared is, and never for a hub or a self link: these need the namespace.

The prolog before the root element, and removal of its DOCTYPE; the namespace of the root.

A DOCTYPE can name files to open and entities to expand. It is overwritten with blanks of the
same length before any XML parser sees it, so every offset still holds (D16). So is a default
namespace that is not the format's own: its publisher meant another prefix, or mistyped it.
"""

import re
from typing import Final, TypeVar

from lxml import etree

from feedmill.model.base import Value

T = TypeVar("T")

_URIS: Final = {
    "rss": (
        "http://purl.org/rss/1.0/",
        "http://my.netscape.com/rdf/simple/0.9/",
        "http://channel.netscape.com/rdf/simple/0.9/",
        "http://purl.org/net/rss1.1#",
        "http://backend.userland.com/rss",
        "http://backend.userland.com/rss2",
        "http://backend.userland.com/rss2.1",
        "http://backend.userland.com/rss091",
        "http://blogs.law.harvard.edu/tech/rss",
        "http://cyber.law.harvard.edu/rss/rss.html",
        "http://www.rssboard.org/rss-specification",
        "http://rssnamespace.org/feed",
    ),
    "atom": (
        "http://www.w3.org/2005/atom",
        "http://purl.org/atom/ns#",
        "http://purl.org/echo/",
        "http://purl.org/pie/",
        "http://example.com/newformat#",
        "http://example.com/necho",
        "uri/of/echo/namespace#",
    ),
    "dc": ("http://purl.org/dc/elements/1.1/", "http://purl.org/dc/elements/1.0/"),
    "dcterms": ("http://purl.org/dc/terms/",),
    "content": ("http://purl.org/rss/1.0/modules/content/",),
    "itunes": (
        "http://www.itunes.com/dtds/podcast-1.0.dtd",
        "http://example.com/dtds/podcast-1.0.dtd",
        "http://www.apple.com/itunes/store/podcasts/techspecs.html",
    ),
    "podcast": (
        "https://podcastindex.org/namespace/1.0",
        "https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md",
    ),
    "googleplay": ("http://www.google.com/schemas/play-podcasts/1.0",),
    "media": ("http://search.yahoo.com/mrss", "http://api.maven.com/mrss"),
    "sy": ("http://purl.org/rss/1.0/modules/syndication/",),
    "slash": ("http://purl.org/rss/1.0/modules/slash/",),
    "wfw": ("http://wellformedweb.org/commentapi/",),
    "thr": ("http://purl.org/syndication/thread/1.0",),
    "georss": ("http://www.georss.org/georss",),
    "geo": ("http://www.w3.org/2003/01/geo/wgs84_pos#",),
    "gml": ("http://www.opengis.net/gml",),
    "fh": ("http://purl.org/syndication/history/1.0",),
    "at": ("http://purl.org/atompub/tombstones/1.0",),
    "yandex": ("http://news.yandex.ru", "http://turbo.yandex.ru", "http://news.mail.ru"),
    "feedburner": ("http://rssnamespace.org/feedburner/ext/1.0",),
    "admin": ("http://webns.net/mvcb/",),
    "xhtml": ("http://www.w3.org/1999/xhtml",),
    "rdf": ("http://www.w3.org/1999/02/22-rdf-syntax-ns#",),
    "cc": (
        "http://web.resource.org/cc/",
        "http://backend.userland.com/creativecommonsrssmodule",
        "http://cyber.law.harvard.edu/rss/creativecommonsrssmodule.html",
        "http://creativecommons.org/ns#",
    ),
}
_OUTSIDE: Final = re.compile(rb"""(<!--|<\?|["'\[\]>])""")
# In the internal subset, what a declaration says does not matter, nor where it ends.
_INSIDE: Final = re.compile(
    rb"""(?:[^"'\[\]<]++|"[^"]*+"|'[^']*+'|<(?!!--|\?))*+(<!--|<\?|["'\[\]])"""
)
# Enough for any real internal subset; a longer one does not describe a feed.
_MAX_TOKENS: Final = 50_000
_MAX_DOCTYPES: Final = 4  # XML allows one
_BLANKS: Final = bytes(byte if byte == ord("\n") else ord(" ") for byte in range(256))
_ROOT: Final = re.compile(
    rb"""<(rss|feed)(?=\s)(?:[^<>"'x]++|"[^"]*+"|'[^']*+'|(?<!\s)x|x(?!mlns\s*+=))*+"""
    rb"""(xmlns\s*+=\s*+(?:"([^"<]*+)"|'([^'<]*+)'))""",
    re.IGNORECASE,
)
_ENTRY: Final = re.compile(rb"<entry[\s>]", re.IGNORECASE)
_ENDS: Final = {b"<!--": b"-->", b"<?": b"?>", b'"': b'"', b"'": b"'"}


def _comparable(uri: str) -> str:
    """A namespace as it is compared: the scheme, case and last character are often miswritten."""
    return uri.strip().lower().replace("https://", "http://", 1).rstrip("/#")


_KEY_OF_URI: Final = {_comparable(uri): key for key, uris in _URIS.items() for uri in uris}
_GUESSABLE: Final = frozenset(
    [
        "dc",
        "dcterms",
        "content",
        "itunes",
        "podcast",
        "googleplay",
        "media",
        "sy",
        "slash",
        "wfw",
        "thr",
        "georss",
        "geo",
        "gml",
        "cc",
    ]
)
_CACHE_LIMIT: Final = 4096
_CACHED_CHARS: Final = 200
_cache: dict[str, str] = {}
_guesses: dict[tuple[str, str | None], str] = {}


def name_of(element: etree._Element) -> str:
    """Our name of an element; "?" and its Clark name when the namespace means nothing to us."""
    tag: str = element.tag
    try:
        return _cache[tag]
    except KeyError:
        return _name_by_prefix(tag, element.prefix)


def is_settled(tag: str) -> bool:
    """True when the tag alone decides the name, and the name is remembered."""
    return tag in _cache


def is_rss_namespace(uri: str | None) -> bool:
    """True for the namespaces of RSS 0.90, 1.0, 1.1 and those that RSS 2.0 was given."""
    return uri is not None and _KEY_OF_URI.get(_comparable(uri)) == "rss"


def is_atom_namespace(uri: str) -> bool:
    """True for the namespaces of Atom 1.0, 0.3 and its drafts."""
    return _KEY_OF_URI.get(_comparable(uri)) == "atom"


def is_guess(element: etree._Element) -> bool:
    """True when the element is known to us by its prefix only."""
    uri, _, _ = _split(element.tag)
    return _KEY_OF_URI.get(uri) is None and not name_of(element).startswith(("?", "rss:"))


def _name_by_prefix(tag: str, prefix: str | None) -> str:
    """The name of a tag that is not settled: new, or of a namespace that means nothing to us."""
    guess = _guesses.get((tag, prefix))
    if guess is not None:
        return guess
    name = _name(tag, prefix)
    if len(tag) < _CACHED_CHARS:
        # A guess hangs on the prefix, which the tag does not show.
        if tag[0] != "{" or _split(tag)[0] in _KEY_OF_URI:
            _remember(_cache, tag, name)
        else:
            _remember(_guesses, (tag, prefix), name)
    return name


def _remember(cache: dict[T, str], key: T, name: str) -> None:
    """Cache a name for the next element; invented names do not crowd out the rest."""
    if len(cache) >= _CACHE_LIMIT:
        cache.clear()
    cache[key] = name


def _name(tag: str, prefix: str | None) -> str:
    uri, spelled_prefix, local = _split(tag)
    if not uri and spelled_prefix is None:
        return f"rss:{local}"
    key = _KEY_OF_URI.get(uri)
    if key is None:
        guess = (spelled_prefix or prefix or "").lower()
        known = guess in _GUESSABLE or (guess == "atom" and spelled_prefix is not None)
        key = guess if known else "?"
    return f"{key}:{local}" if key != "?" else f"?{tag}"


def _split(tag: str) -> tuple[str, str | None, str]:
    """Namespace (as it is compared), undeclared prefix, lower-case local name."""
    if tag[0] == "{":
        uri, _, local = tag[1:].partition("}")
        return _comparable(uri), None, local.lower()
    prefix, colon, local = tag.partition(":")
    return ("", prefix, local.lower()) if colon else ("", None, tag.lower())


class Prolog(Value):
    """Where the root element begins (-1 when there is none) and where a DOCTYPE stands."""

    root: int
    doctypes: tuple[tuple[int, int], ...] = ()


def read_prolog(utf8: bytes, start: int) -> Prolog:
    """Step over declarations, comments, instructions and DOCTYPEs up to the first element."""
    doctypes: list[tuple[int, int]] = []
    position = start
    while (at := utf8.find(b"<", position)) >= 0:
        if utf8.startswith(b"<?", at):
            position = _end_of(utf8, b"?>", at + 2)
        elif utf8.startswith(b"<!--", at):
            position = _end_of(utf8, b"-->", at + 4)
        elif utf8.startswith(b"<!", at):
            if len(doctypes) < _MAX_DOCTYPES:
                position = _end_of_doctype(utf8, at)
                doctypes.append((at, position))
            else:  # one long blank, with whatever stands between them
                position = _end_of(utf8, b">", at)
                doctypes[-1] = (doctypes[-1][0], position)
        else:
            return Prolog(root=at, doctypes=tuple(doctypes))
    return Prolog(root=-1, doctypes=tuple(doctypes))


def without_doctype(utf8: bytes, prolog: Prolog) -> bytes:
    """The same bytes with every DOCTYPE turned into blanks; its line ends stay, for line numbers."""
    for start, end in prolog.doctypes:
        utf8 = utf8[:start] + utf8[start:end].translate(_BLANKS) + utf8[end:]
    return utf8


def without_wrong_namespace(utf8: bytes, root: int) -> bytes:
    """The same bytes without the default namespace of an <rss> or <feed> that is none of theirs.

    Another program's <feed> has no entries; RSS is known by the name of its root alone.
    """
    found = _ROOT.match(utf8, root)
    if found is None:
        return utf8
    uri = (found[3] or found[4] or b"").decode("utf-8", "replace")
    is_atom = found[1].lower() == b"feed"
    if not uri.strip() or is_rss_namespace(uri) or (is_atom and is_atom_namespace(uri)):
        return utf8
    if is_atom and _ENTRY.search(utf8, found.end()) is None:
        return utf8
    return utf8[: found.start(2)] + found[2].translate(_BLANKS) + utf8[found.end(2) :]


def _end_of(utf8: bytes, mark: bytes, position: int) -> int:
    found = utf8.find(mark, position)
    return len(utf8) if found < 0 else found + len(mark)


def _end_of_doctype(utf8: bytes, start: int) -> int:
    """Past the closing > of a declaration, minding its quotes, comments and internal subset."""
    depth = 0
    position = start + 2
    for _ in range(_MAX_TOKENS):
        found = _INSIDE.match(utf8, position) if depth > 0 else _OUTSIDE.search(utf8, position)
        if found is None:
            break
        token = found[1]
        position = found.end()
        if token in _ENDS:
            end = utf8.find(_ENDS[token], position)
            if end < 0:
                break
            position = end + len(_ENDS[token])
        elif token == b">":
            return position
        else:
            depth += 1 if token == b"[" else -1
    return _end_of(utf8, b">", start)  # its quotes or brackets do not balance
