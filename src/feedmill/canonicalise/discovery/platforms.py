"""Platform rules: the feeds of a page by its address or its content (YouTube, GitHub, Reddit …).

Rules are TOML, the shipped ones (platforms.toml) and those of a user alike. A rule only proposes: what
it returns is proven by a fetch. Most say what the platform itself documents; those that hold for any host
are guesses of ours, and marked.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import Final

import msgspec

from feedmill.canonicalise.discovery.html_page import HtmlPage, plain_url
from feedmill.canonicalise.discovery.page_links import distinct_feeds
from feedmill.canonicalise.urls import HttpUrl, param_name, split_url
from feedmill.model.base import Value
from feedmill.model.canonical import FoundFeed

_MAX_PATTERN_CHARS: Final = 1_000
_MAX_SEARCHED_CHARS: Final = 262_144  # of a page, by `find`
_ATOM: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_REPEAT: Final = re.compile(r"(?:[*+]|\{\d*,(?:\d{2,})?\})(\+?)")  # without an end, or a far one
_KEPT_PARAMS: Final = ("q", "sort", "t", "restrict_sr")
_COMMENTS: Final = re.compile(r"/comments/")
_FEED_FILE: Final = re.compile(r"\.(?:atom|rss)\Z", re.IGNORECASE)
_FEED_QUERY: Final = re.compile(r"(?:^|&)(?:feed=|(?:format|alt)=(?:atom|rss)(?:&|\Z))")
_PLACES: Final = re.compile(r"\{(\w*)\}")
_GIVEN: Final = frozenset({"origin", "query"})  # places that every address fills


class PlatformRule(Value, forbid_unknown_fields=True):
    """Which pages it knows, and where their feeds are: `{…}` is a named group of a pattern."""

    name: str
    feeds: tuple[str, ...]
    host: str = ".+"
    not_host: str = ""
    path: str = ".*"
    query: str = ""  # one `name=value` that has to be there
    generator: str = ""  # the beginning of what the page says it was made with
    find: tuple[str, ...] = ()  # searched in the page, the first that is there
    also: tuple[str, ...] = ()  # further feeds: listed, never a reason to ask which one
    published: bool = True  # False: not the platform's word, but a guess; robots.txt applies

    @property
    def patterns(self) -> tuple[str, ...]:
        return (self.host, self.not_host, self.path, self.query, self.generator, *self.find)

    @property
    def reads_page(self) -> bool:
        """Whether the page has to be seen first."""
        return bool(self.generator or self.find)


class HandleRule(Value, forbid_unknown_fields=True):
    """A name that is no address, and the page that it stands for."""

    name: str
    pattern: str
    page: str


class _RuleFile(Value, forbid_unknown_fields=True):
    handle: tuple[HandleRule, ...] = ()
    rule: tuple[PlatformRule, ...] = ()


class PlatformRules:
    """Rules in the order in which they are asked."""

    def __init__(self, rules: Sequence[PlatformRule], handles: Sequence[HandleRule] = ()) -> None:
        self.rules, self.handles = tuple(rules), tuple(handles)

    def after(self, own: "PlatformRules") -> "PlatformRules":
        """These rules behind a user's own."""
        return PlatformRules((*own.rules, *self.rules), (*own.handles, *self.handles))

    def feeds_of_address(self, url: str) -> tuple[FoundFeed, ...]:
        """The feeds that the first rule knowing this address proposes; comment feeds last."""
        page = plain_url(url)
        if page is None:
            return ()
        parts = split_url(page)
        if _FEED_FILE.search(parts.path) or _FEED_QUERY.search(parts.query or ""):
            return ()  # it is one already
        for rule in self._compiled:
            groups = None if rule.rule.reads_page else rule.match(parts, page)
            if groups is not None:
                return tuple(_proposed(rule.rule, groups, page))
        return ()

    def feeds_of_page(self, page: HtmlPage) -> tuple[FoundFeed, ...]:
        """The feeds that the page's platform is known to have, by what the page says of itself."""
        if page.url != plain_url(page.url):
            return ()
        parts, found = split_url(page.url), list[FoundFeed]()
        for rule in self._compiled:
            groups = rule.match(parts, page.url) if rule.rule.reads_page else None
            marks = None if groups is None else rule.marks_of(page)
            if groups is not None and marks is not None:
                found += _proposed(rule.rule, {**groups, **marks}, page.url)
        return distinct_feeds((*found, *_wordpress(page)))

    def page_of_handle(self, text: str) -> str | None:
        """The page that a bare handle stands for, or None."""
        for rule in self.handles:
            if (match := re.fullmatch(rule.pattern, text.strip())) is not None:
                return plain_url(_filled(rule.page, match.groupdict("")))
        return None

    @cached_property
    def _compiled(self) -> "tuple[_Compiled, ...]":
        return tuple(_Compiled(rule) for rule in self.rules)


def read_rules(text: str) -> PlatformRules:
    """The rules of a TOML text; ValueError with every mistake, one per line."""
    try:
        found = msgspec.convert(tomllib.loads(text), _RuleFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise ValueError(str(problem)) from problem
    mistakes = [words for rule in found.rule for words in _mistakes(rule)]
    for handle in found.handle:
        groups, words = _groups((handle.pattern,))
        unknown = {*_PLACES.findall(handle.page)} - groups
        mistakes += [f"handle {handle.name!r}: {one}" for one in words]
        mistakes += [f"handle {handle.name!r}: no group is called {one!r}" for one in unknown]
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return PlatformRules(found.rule, found.handle)


@cache
def shipped_rules() -> PlatformRules:
    """The rules that come with feedmill."""
    text = (files("feedmill.canonicalise.discovery") / "platforms.toml").read_text("utf-8")
    return read_rules(text)


class _Compiled:
    """A rule with its patterns compiled."""

    def __init__(self, rule: PlatformRule) -> None:
        self.rule = rule
        self._host, self._path = re.compile(rule.host), re.compile(rule.path)
        self._not_host = re.compile(rule.not_host) if rule.not_host else None
        self._generator = re.compile(rule.generator, re.IGNORECASE)
        self._find = tuple(re.compile(pattern) for pattern in rule.find)

    def match(self, parts: HttpUrl, page: str) -> dict[str, str] | None:
        """The groups of an address that the rule knows; None for every other."""
        where, what = self._host.fullmatch(parts.host), self._path.fullmatch(parts.path)
        if where is None or what is None:
            return None
        if self._not_host is not None and self._not_host.fullmatch(parts.host):
            return None
        asked = _asked_for(self.rule, parts.query or "")
        if asked is None:
            return None
        origin = page[: page.index("/", len(parts.scheme) + 3)]
        return {**where.groupdict(""), **what.groupdict(""), "query": "", **asked, "origin": origin}

    def marks_of(self, page: HtmlPage) -> dict[str, str] | None:
        """The groups of what the page says of itself; None when the rule does not know it."""
        if self.rule.generator and not self._generator.match(_generator(page)):
            return None
        if not self._find:
            return {}
        for pattern in self._find:
            if (found := pattern.search(page.text, 0, _MAX_SEARCHED_CHARS)) is not None:
                return {name: _unescaped(text) for name, text in found.groupdict("").items()}
        return None


def _mistakes(rule: PlatformRule) -> Iterator[str]:
    where = f"rule {rule.name!r}"
    groups, words = _groups(rule.patterns)
    yield from (f"{where}: {one}" for one in words)
    if not rule.feeds:
        yield f"{where}: feeds is empty"
    places = {place for feed in (*rule.feeds, *rule.also) for place in _PLACES.findall(feed)}
    for unknown in sorted(places - groups - _GIVEN):
        yield f"{where}: no pattern has a group called {unknown!r}"


def _groups(patterns: Sequence[str]) -> tuple[set[str], list[str]]:
    """The named groups of the patterns, and what is wrong with them."""
    groups, words = set[str](), list[str]()
    for pattern in patterns:
        if len(pattern) > _MAX_PATTERN_CHARS:
            words.append(f"a pattern has more than {_MAX_PATTERN_CHARS} characters")
            continue
        try:
            groups |= re.compile(pattern).groupindex.keys()
        except re.error as problem:
            words.append(f"{pattern!r} is no regular expression ({problem})")
            continue
        if _may_never_end(pattern):
            words.append(
                f"{pattern!r} repeats a group that itself repeats or has alternatives, which may take for ever;"
                " make one of them possessive (++ or *+)"
            )
    return groups, words


def _may_never_end(pattern: str) -> bool:
    """Whether a repeated group has a repeat or alternatives inside: its time may double with each character."""
    inside, is_ambiguous, at = (
        [False],
        False,
        0,
    )  # of each open group; of the group that was just closed
    while at < len(pattern):
        if repeat := _REPEAT.match(pattern, at):
            if is_ambiguous and not repeat[1]:
                return True
            inside[-1] |= not repeat[1]
            is_ambiguous, at = False, repeat.end()
            continue
        atom = _ATOM.match(pattern, at)
        part = atom[0] if atom else pattern[at]
        is_ambiguous, at = False, at + len(part)
        if part == "(":
            inside.append(False)
        elif part == ")":
            is_ambiguous = inside.pop()
            inside[-1] |= is_ambiguous
        elif part == "|":
            inside[-1] = True
    return False


def _asked_for(rule: PlatformRule, query: str) -> dict[str, str] | None:
    """What the query contributes; None when the rule needs something that is not there."""
    if not rule.query:
        return {}
    for piece in query.split("&"):
        if (match := re.fullmatch(rule.query, piece)) is not None:
            kept = (one for one in query.split("&") if param_name(one) in _KEPT_PARAMS)
            return {**match.groupdict(), "query": "&".join(kept)}
    return None


def _proposed(rule: PlatformRule, groups: dict[str, str], page: str) -> Iterator[FoundFeed]:
    for number, template in enumerate((*rule.feeds, *rule.also)):
        url = plain_url(_filled(template, groups))
        if url is not None and url != page:
            yield FoundFeed(
                url=url,
                found_by="platform",
                is_comments=_COMMENTS.search(url) is not None,
                rule=rule.name,
                is_published=rule.published,
                is_extra=number >= len(rule.feeds),
            )


def _filled(template: str, groups: Mapping[str, str]) -> str:
    return _PLACES.sub(lambda place: groups[place[1]], template)


_WORDPRESS_FILE: Final = re.compile(r"(.*?/)wp-(?:content|includes|json)/", re.DOTALL)
_WORDPRESS_PART: Final = re.compile(r"/(?:category|tag|author)/[^/]+/?\Z")


def _wordpress(page: HtmlPage) -> Iterator[FoundFeed]:
    """WordPress on any domain and in any folder: no pattern can tell where it begins."""
    root = _wordpress_root(page)
    if root is None:
        return
    feeds = [f"{root}feed/", f"{root}?feed=rss2"]
    if page.url.startswith(root) and _WORDPRESS_PART.search(split_url(page.url).path):
        feeds.insert(0, f"{page.url.partition('?')[0].rstrip('/')}/feed/")
    for url in feeds:
        yield FoundFeed(url=url, found_by="platform", rule="wordpress-site")


def _wordpress_root(page: HtmlPage) -> str | None:
    """Where the blog begins, by its generator or its files; only those on the page's own host tell."""
    origin = page.url[: page.url.index("/", page.url.index("://") + 3) + 1]
    for link in page.links:
        file = _WORDPRESS_FILE.match(plain_url(link.get("href"), page.base) or "")
        if file is not None and file[1].startswith(origin):
            return file[1]
    return origin if _generator(page).startswith("wordpress") else None


def _generator(page: HtmlPage) -> str:
    """What the page says it was made with, lower case."""
    named = (meta for meta in page.metas if meta.get("name").lower() == "generator")
    return next((meta.get("content").lower() for meta in named), "")


def _unescaped(text: str) -> str:
    """A string of a script as it is meant."""
    return text.replace("\\u002F", "/").replace("\\u0026", "&").replace("\\/", "/")
