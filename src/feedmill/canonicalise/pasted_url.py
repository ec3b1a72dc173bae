"""Repairs a pasted or declared address: entities, feed schemes, mangled and missing protocols.

Each function returns an address that begins as http(s) addresses do, or the text as it was when it
cannot tell. Nothing behind the host is touched.

Platform rules for feed URLs: rewrites, probes, and the URLs that a search starts with (seed 004).

A rewrite turns an address into the one the platform itself prefers; a probe lists addresses that
may serve the same feed. Both only propose: what they return is verified by a fetch (D4).
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from html import unescape
from html.entities import html5

from msgspec.structs import replace

from feedmill.canonicalise import urls
from feedmill.canonicalise.urls import has_scheme, http_url, join_url, percent_decoded, split_url
from feedmill.model.canonical import RequestRole

_ENTITY = re.compile(r"&(#[0-9]{1,9}|#[xX][0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
_BREAKS = str.maketrans("", "", "\t\n\r")  # the URL parser drops them wherever they stand
# What chat and word processors put into copied text. The joiners U+200C and U+200D stay: they belong
# to addresses in Persian and in the Indic scripts.
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\u2060\ufeff")) | dict.fromkeys(
    (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
)
_PAIRS = {
    '"': '"', "'": "'", "<": ">", "(": ")", "[": "]", "{": "}", "`": "`", "*": "*", "“": "”", "„": "“", "‘": "’", "«": "»",
    "»": "«", "‹": "›", "「": "」", "『": "』", "（": "）", "【": "】", "《": "》", "〈": "〉",
}  # fmt: skip
_EMPHASIS = re.compile(r"([*_~]{1,3})(.+)\1")  # of Markdown
_FEED_SCHEMES = r"(?:feeds?|rss|podcasts?|pcast|itpc|web\+(?:feed|rss)):"
# What stands before an address in a browser, a message or a list: `view-source:`, `URL:`, `RSS: host`,
# `feed:host/path`.
_LABEL = re.compile(
    rf"(?:view-source|url)\s*:\s*(?=\S)|(?:rss|atom|feed|link|blog|site|address|podcast)\s*:\s+(?=\S)"
    rf"|{_FEED_SCHEMES}(?=[\w-]+\.[\w.-]+(?::[0-9]{{1,5}})?/)",
    re.IGNORECASE,
)
_ENCODED = re.compile(r"https?%3a(?:%2f){2}", re.IGNORECASE)
# Typed with an East Asian keyboard.
_WIDE = re.compile(r"[a-zａ-ｚＡ-Ｚ]{3,7}[:：][/／]{2}", re.IGNORECASE)
_AUTHORITY = re.compile(r"[^/?#]*(?://[^/?#]*)?")
_OTHER_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*:\S", re.IGNORECASE)  # javascript:, mailto:, file:
_SEVERAL = re.compile(r"https?://\S+\s(?:.*\s)?https?://", re.IGNORECASE)
# No address that a person copies has one of these in it; quotes, markup and links of chat programs have.
_STOPS = r"\s<>\"`|{}\[\]“”„‘’«»‹›，。、；：！？（）「」『』【】《》〈〉"
_ALONE = re.compile(rf"[^{_STOPS}]+")
_IN_TEXT = re.compile(rf"(?<![A-Za-z0-9+./-])(https?://[^{_STOPS}']+)", re.IGNORECASE)
_WRAPPED = re.compile(rf"(?:{_FEED_SCHEMES}(?://)?)+(?=https?(?::|//))", re.IGNORECASE)
_REPLACED = re.compile(rf"(?:{_FEED_SCHEMES}(?://)?)*{_FEED_SCHEMES}(?=//)", re.IGNORECASE)
# One round of a mangled protocol: letters (with a `(s)` that was meant literally, or with the
# colon inside them: `ht:tps//`), and whatever stands between them and the host.
_COLON_INSIDE = re.compile(r"([a-z]{1,5}):([a-z]{1,5})([/\\]{2}[\s:;=.,/\\]*)", re.IGNORECASE)
_LETTERS = re.compile(r"([a-z]{2,7})(?:[(\[]([a-z])[)\]])?([\s:;=.,/\\]*)", re.IGNORECASE)
_WWW_BEFORE = re.compile(r"www\.(?=https?(?::[/\\]|[/\\]{2}))", re.IGNORECASE)
_LEADING_JUNK = " /\\.,:;<>\"'(["
_MISPLACED_WWW = re.compile(r"www(?:\.[/\\]+|[/\\]+(?=[^/\\?#]*\.))", re.IGNORECASE)
_DOTTED_HOST = re.compile(r"[^/\\?#:]*\.")
_HOST = re.compile(r"((?:[^\s/\\?#@:.\[]++\.?)++|\[[0-9A-Fa-f:.]++\])(?::[0-9]*+)?(?=[/\\?#]|\Z)")
# A URL that a rewrite does not know is answered with None.
Rewrite = Callable[[str], str | None]
# Other addresses that may serve the feed at this one, the likeliest first.
ProbeRule = Callable[[str], Sequence[str]]

_FEEDBURNER = frozenset(("feeds.feedburner.com", "feeds2.feedburner.com", "feedproxy.google.com"))
_BLOGGER = frozenset(("blogger.com", "www.blogger.com", "beta.blogger.com"))
# Blogger served every blog under one domain per country: blogspot.de, blogspot.co.uk, ...
_BLOGSPOT = re.compile(r"([^.]+(?:\.[^.]+)*)\.blogspot\.(?:com|[a-z]{2}|com?\.[a-z]{2})")
# Parameters that choose a part or a wrapping of a Blogger feed, not another feed.
_BLOGGER_PARAMS = frozenset(
    (
        *("redirect", "v", "max-results", "start-index", "orderby"),
        *("published-min", "published-max", "updated-min", "updated-max"),
    )
)
_WORDPRESS_FEED = re.compile(r"(comments-)?(atom|rss2|rss|rdf)", re.IGNORECASE)
_WORDPRESS_PATH = re.compile(r"/feed(?:/(?:atom|rss2|rss|rdf))?\Z", re.IGNORECASE)


def resolve_url(text: str, base: str | None = None) -> str | None:
    """The http(s) URL that a pasted or declared text stands for, or None.

    For what a person pasted or a feed declared: entities, feed schemes, mangled and missing
    protocols are put right, in this order, and a relative reference is joined with the base. User
    information is kept here (it may be needed to fetch) and dropped by every policy (D4).
    """
    address = decode_entities(text).translate(_BREAKS).strip()
    if base is None:
        address = address.translate(_INVISIBLE).strip()
        if _SEVERAL.match(address):
            return _one_address(f" {address}")
        address = _pasted(_unwrapped(address))
    else:
        address = _unwrapped(address)
    address = repair_protocol(convert_feed_scheme(address))
    if base is None or has_scheme(address):  # `host:8080/feed` reads like a scheme as well
        address = add_missing_protocol(address)
    url = http_url(address, base)
    if base is not None:
        return url
    return _only_url(text) if url is None else _without_root_dot(url)


def without_surrounding_text(text: str) -> str:
    """The address without the words and the punctuation that were copied with it."""
    alone = _ALONE.search(text)
    bare = (alone[0] if alone else "").rstrip(".,;:!'\"”»’…>]*。，、；：！」』）】》〉")
    if bare.endswith(")") and bare.count(")") > bare.count("("):
        bare = bare[:-1]
    return bare


def decode_entities(text: str) -> str:
    """The text with its well-formed HTML entities decoded once.

    Only those that end in `;`: HTML also reads `&section=2` as `§ion=2` and would destroy
    parameters called copy, reg, not, para, times … (D2).
    """
    return _ENTITY.sub(_decoded, text) if "&" in text else text


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
    relative, `mailto:name` stays what it is.
    """
    bare = text.removeprefix(":").removeprefix("//")
    host = _HOST.match(bare)
    if host is None or not _is_credible(host[1]):
        return text
    completed = f"{scheme}://{bare}"
    return text if http_url(completed) is None else completed


def _decoded(entity: re.Match[str]) -> str:
    if entity[1].startswith("#"):
        return unescape(entity[0])
    return html5.get(f"{entity[1]};", entity[0])


def _pasted(text: str) -> str:
    """The address without what people and programs put before it or into it so that it is no link."""
    if emphasis := _EMPHASIS.fullmatch(text):
        text = emphasis[2]
    text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
    if _ENCODED.match(text):
        text = percent_decoded(text)
    if wide := _WIDE.match(text):
        text = unicodedata.normalize("NFKC", wide[0]) + text[wide.end() :]
    authority = _AUTHORITY.match(text)
    end = 0 if authority is None else authority.end()
    return text[:end].replace("[.]", ".") + text[end:]  # how security people disarm a link


def _only_url(text: str) -> str | None:
    """The one address in a longer text, such as `Title https://…` of a share button; None for several."""
    return None if _OTHER_SCHEME.match(text) else _one_address(text)


def _one_address(text: str) -> str | None:
    found = {http_url(without_surrounding_text(one)) for one in _IN_TEXT.findall(text)}
    return found.pop() if len(found) == 1 else None


def _without_root_dot(url: str) -> str:
    """The URL without the dot at the end of its host: the end of a sentence, or of a full name."""
    parts = split_url(url)
    return join_url(replace(parts, host=parts.host[:-1])) if parts.host.endswith(".") else url


def _unwrapped(text: str) -> str:
    """The text without the quotes or brackets that mail programs put around an address."""
    closing = _PAIRS.get(text[:1])
    return text[1:-1].strip() if closing is not None and text[1:].endswith(closing) else text


def _is_credible(host: str) -> bool:
    return host.lower() == "localhost" or host.startswith("[") or "." in host[:-1]


def _protocols(text: str) -> tuple[str | None, int]:
    """The innermost protocol at the front of the text, and where the host begins."""
    found: str | None = None
    end = 0
    is_after_colon = False
    position = len(text) - len(text.lstrip(_LEADING_JUNK))
    while (spelt := _protocol_at(text, position)) is not None:
        scheme, separators, position = spelt
        # Behind a protocol, `https/example.com` is one more, and no host called https.
        is_repeated = (found is not None or is_after_colon) and "/" in separators
        is_after_colon = separators.strip() == ":"
        if _separates(separators, text, position) or (
            is_repeated and _DOTTED_HOST.match(text, position) is not None
        ):
            found, end = scheme, position
    return found, end


def _protocol_at(text: str, position: int) -> tuple[str, str, int] | None:
    """Scheme, separators and the position behind them, when letters meant as http(s) stand here."""
    if www := _WWW_BEFORE.match(text, position):
        position = www.end()
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


def starting_urls(address: str, rewrites: Sequence[Rewrite]) -> list[tuple[str, RequestRole]]:
    """The URLs that a search requests first, in order; () for what is no address."""
    url = resolve_url(address)
    if url is None or urls.hides_ipv4(address, url):
        return []
    url = urls.strip_userinfo_and_fragment(url)
    starts: dict[str, RequestRole] = {}
    rewritten = rewritten_url(url, rewrites)
    if rewritten is not None:
        starts[rewritten] = "rewrite"
    starts[url] = "input"
    if url.startswith("https:") and not _names_protocol(address.strip()):
        starts[urls.other_scheme(url)] = "input"
    bare = resolve_url(without_surrounding_text(address))
    if bare is not None and not urls.hides_ipv4(address, bare):
        bare = urls.strip_userinfo_and_fragment(bare)
        if url.startswith(bare):  # only where the address as written is none
            starts.setdefault(bare, "input")
    return list(starts.items())


def rewritten_url(url: str, rewrites: Sequence[Rewrite]) -> str | None:
    """The URL in the spelling of the first rewrite that knows it; None when none does.

    A rewrite is the caller's: one that fails, or answers with what is no address, knows nothing.
    """
    for rewrite in rewrites:
        try:
            answer = rewrite(url)
        except Exception:  # noqa: BLE001, S112  # foreign code; the address is left as it is
            continue
        if answer is not None:
            href = urls.http_url(answer)
            return None if href is None else urls.strip_userinfo_and_fragment(href)
    return None


def probed_urls(probe: ProbeRule, url: str) -> tuple[str, ...]:
    """The addresses that a probe proposes, without what is no URL; () when it fails."""
    try:
        hrefs = [urls.http_url(one) for one in probe(url)]
    except Exception:  # noqa: BLE001  # foreign code; nothing is probed
        return ()
    return tuple(urls.strip_userinfo_and_fragment(href) for href in hrefs if href is not None)


def feedburner(url: str) -> str | None:
    """A FeedBurner address under its one host, without query; None for other hosts."""
    parts = _parts(url)
    if parts is None or parts.host not in _FEEDBURNER:
        return None
    return urls.join_url(replace(_plain(parts), host="feeds.feedburner.com", query=None))


def blogger(url: str) -> str | None:
    """A Blogger feed on its .com host, by https and without paging; None for other hosts."""
    parts = _parts(url)
    if parts is None:
        return None
    host = _blogger_host(parts.host)
    if host is None:
        return None
    path, query = _blogger_feed(_plain(parts), is_blog=host != "www.blogger.com")
    return urls.join_url(
        replace(_plain(parts), scheme="https", host=host, path=path, query=query or None)
    )


def wordpress_candidates(url: str) -> tuple[str, ...]:
    """Pretty addresses for a WordPress `?feed=` address, without and with a trailing slash."""
    parts = _parts(url)
    if parts is None or parts.query is None:
        return ()
    suffix = _wordpress_suffix(parts.query)
    if suffix is None:
        return ()
    path = parts.path.rstrip("/")
    if not _WORDPRESS_PATH.search(path):
        path += suffix
    query = urls.drop_params(parts.query, lambda name: name == "feed") or None
    bare = replace(parts, userinfo="", query=query, fragment=None)
    return urls.join_url(replace(bare, path=path)), urls.join_url(replace(bare, path=f"{path}/"))


def _names_protocol(text: str) -> bool:
    """Whether the text itself says http or https; `feed://host` and `host/feed` do not."""
    is_feed_scheme = convert_feed_scheme(text) != convert_feed_scheme(text, "http")
    return "://" in text and not is_feed_scheme


def _parts(url: str) -> urls.HttpUrl | None:
    href = urls.http_url(url)
    return None if href is None else urls.split_url(href)


def _plain(parts: urls.HttpUrl) -> urls.HttpUrl:
    """The parts that matter to a platform that serves from one host and the default port."""
    path = urls.tidy_path(parts.path).rstrip("/") or "/"
    return replace(parts, userinfo="", port="", path=path, fragment=None)


def _blogger_host(host: str) -> str | None:
    if host in _BLOGGER:
        return "www.blogger.com"
    blog = _BLOGSPOT.fullmatch(host)
    return None if blog is None else f"{blog[1]}.blogspot.com"


def _blogger_feed(parts: urls.HttpUrl, *, is_blog: bool) -> tuple[str, str]:
    """Path and query, with the addresses of before 2006 replaced."""
    kept = [piece for piece in (parts.query or "").split("&") if not _is_default(piece)]
    if is_blog and parts.path == "/rss.xml":
        kept = [*(piece for piece in kept if urls.param_name(piece) != "alt"), "alt=rss"]
    path = parts.path
    if is_blog and path in ("/atom.xml", "/rss.xml"):
        path = "/feeds/posts/default"
    return path, urls.sort_params("&".join(kept))


def _is_default(piece: str) -> bool:
    """Whether the piece says nothing: paging, or `alt` for the format that is served anyway."""
    name = urls.param_name(piece)
    if name == "alt":
        return urls.param_value(piece).lower() in ("", "atom", "json")
    return name in _BLOGGER_PARAMS


def _wordpress_suffix(query: str) -> str | None:
    """The pretty path for the first `feed=` that WordPress knows."""
    for piece in query.split("&"):
        feed = (
            _WORDPRESS_FEED.fullmatch(urls.param_value(piece))
            if urls.param_name(piece) == "feed"
            else None
        )
        if feed is not None:
            comments = "/comments" if feed[1] else ""
            return f"{comments}/feed/atom" if feed[2].lower() == "atom" else f"{comments}/feed"
    return None
