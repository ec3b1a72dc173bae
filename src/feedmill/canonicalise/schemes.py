"""The front of an address: feed schemes, mangled protocols, missing protocols.

Each function returns an address that begins as http(s) addresses do, or the text as it was when
it cannot tell. Nothing behind the host is touched.
"""

import re

from feedmill.canonicalise.urls import http_url

_FEED_SCHEMES = r"(?:feed|rss|podcast|pcast|itpc):"
_WRAPPED = re.compile(rf"(?:{_FEED_SCHEMES}(?://)?)+(?=https?(?::|//))", re.IGNORECASE)
_REPLACED = re.compile(rf"(?:{_FEED_SCHEMES})+(?=//)", re.IGNORECASE)

# One round of a mangled protocol: letters (with a `(s)` that somebody meant literally, or with the
# colon inside them: `ht:tps//`), and whatever stands between them and the host.
_COLON_INSIDE = re.compile(r"([a-z]{1,5}):([a-z]{1,5})([/\\]{2}[\s:;=.,/\\]*)", re.IGNORECASE)
_LETTERS = re.compile(r"([a-z]{2,7})(?:[(\[]([a-z])[)\]])?([\s:;=.,/\\]*)", re.IGNORECASE)
_LEADING_JUNK = " /\\.,:;<>\"'(["
_MISPLACED_WWW = re.compile(r"www(?:\.[/\\]+|[/\\]+(?=[^/\\?#]*\.))", re.IGNORECASE)
_DOTTED_HOST = re.compile(r"[^/\\?#:]*\.")

_HOST = re.compile(r"((?:[^\s/\\?#@:.\[]++\.?)++|\[[0-9A-Fa-f:.]++\])(?::[0-9]*+)?(?=[/\\?#]|\Z)")


def convert_feed_scheme(text: str, scheme: str = "https") -> str:
    """`feed://host` and its relatives as `https://host`; a wrapped URL without its wrapping."""
    if wrapping := _WRAPPED.match(text):
        return text[wrapping.end() :]
    if replaced := _REPLACED.match(text):
        return f"{scheme}:{text[replaced.end() :]}"
    return text


def repair_protocol(text: str) -> str:
    """The address with a protocol one slip away from http(s) put right.

    Of several protocols in a row (`http://https//host`) the innermost wins: it is the one that
    was pasted, the others were typed or prefixed before it.
    """
    scheme, position = _protocols(text)
    if scheme is None:
        return text
    rest = text[position:]
    if www := _MISPLACED_WWW.match(rest):
        rest = f"www.{rest[www.end() :]}"
    return f"{scheme}://{rest}"


def add_missing_protocol(text: str, scheme: str = "https") -> str:
    """`host/path` and `//host/path` with a protocol, where the host is credible.

    Credible is a name with a dot, `localhost` or an IP address; `path/to/feed` and `/feed` stay
    relative, `mailto:somebody` stays what it is.
    """
    bare = text.removeprefix("//")
    host = _HOST.match(bare)
    if host is None or not _is_credible(host[1]):
        return text
    completed = f"{scheme}://{bare}"
    return text if http_url(completed) is None else completed


def _is_credible(host: str) -> bool:
    return host.lower() == "localhost" or host.startswith("[") or "." in host[:-1]


def _protocols(text: str) -> tuple[str | None, int]:
    """The innermost protocol at the front of the text, and where the host begins."""
    found: str | None = None
    end = 0
    position = len(text) - len(text.lstrip(_LEADING_JUNK))
    while (spelt := _protocol_at(text, position)) is not None:
        scheme, separators, position = spelt
        if _separates(separators, text, position):
            found, end = scheme, position
    return found, end


def _protocol_at(text: str, position: int) -> tuple[str, str, int] | None:
    """Scheme, separators and the position behind them, when letters meant as http(s) stand here."""
    for pattern, spellings in ((_COLON_INSIDE, _EXACT), (_LETTERS, _SLIPS)):
        if match := pattern.match(text, position):
            letters = (match[1] + (match[2] or "")).lower()
            if letters in spellings:
                return spellings[letters], match[3], match.end()
    return None


def _separates(separators: str, text: str, position: int) -> bool:
    """Whether what follows the letters is meant as `://`.

    Two slashes, or a slash with a colon or its typos; a lone colon only before a dotted name.
    `http/feed` is a relative path and `http.cat` a host.
    """
    slashes = separators.count("/") + separators.count("\\")
    if slashes >= 2 or (slashes and any(mark in separators for mark in ":;=")):
        return True
    return separators.strip() == ":" and _DOTTED_HOST.match(text, position) is not None


def _one_slip_away(word: str) -> set[str]:
    """Every word that one letter dropped, doubled, swapped or mistyped makes of this one."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    halves = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    dropped = {a + b[1:] for a, b in halves if b}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in halves if len(b) > 1}
    mistyped = {a + letter + b[1:] for a, b in halves if b for letter in alphabet}
    added = {a + letter + b for a, b in halves for letter in alphabet}
    return dropped | swapped | mistyped | added


_EXACT = {"http": "http", "https": "https"}
# No registered scheme is one slip away from http(s) (ftp, sftp, nntp and rtsp are two). `hxxp` is
# how security people disarm a link.
_SLIPS = {
    word: "https" if "s" in word else "http"
    for word in _one_slip_away("http") | _one_slip_away("https") | {"hxxp", "hxxps"}
}
