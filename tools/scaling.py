"""`make fuzz-scaling`: find input whose reading takes more than linear time, or exit 0.

Every reader of hostile input gets pieces of markup, addresses, headers and texts, repeated and combined, in three sizes: once, twice
and four times as long. Linear work takes four times the CPU for the longest; what takes more than eight times is measured once
more and printed with its shape. A reader that takes longer than the limit for one text counts too.

    python -m tools.scaling [--only NAME,NAME] [--random 50] [--seed 1]
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from random import Random  # noqa: TID251  # seeded: a run can be repeated
from typing import Final

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.page_links import anchored_feeds, declared_feeds
from feedmill.canonicalise.pasted_url import resolve_url
from feedmill.engine.subscribe.list_formats import read_list
from feedmill.errors import FeedmillError
from feedmill.fetch.guard import check_url
from feedmill.fetch.headers import link_headers
from feedmill.fetch.robots import Rules
from feedmill.model.addresses import mask_address
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.normalise.dates import parse_date
from feedmill.normalise.entry import normalise
from feedmill.observe.log import mask_secrets
from feedmill.parse.document import parse_document
from feedmill.push.hub import decode_form
from feedmill.search.query import parse_query
from feedmill.search.tokens import search_terms

Reader = Callable[[str], object]
Shape = Callable[[int], str]

_URL: Final = "https://example.org/feed"
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SMALLEST, _LARGEST = 2_000, 128_000  # characters of the shortest of three texts
_MEASURABLE_SEC: Final = 0.012
_LIMIT_SEC: Final = 20.0
_MOST_GROWTH: Final = 8.0  # for four times the input

_RSS: Final = "<rss version='2.0'><channel><item><guid>1</guid>{}</item></channel></rss>"
_ATOM: Final = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id>{}</entry></feed>"
_XHTML: Final = "<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>{}</div></content>"
_DOCUMENTS: Final = {
    "rss": "<rss version='2.0'><channel>{}</channel></rss>",
    "rss-unclosed": "<rss version='2.0'><channel>{}",
    "rss-item": _RSS,
    **{
        f"rss-{name}": _RSS.format(f"<{name}><![CDATA[{{}}]]></{name}>")
        for name in ("title", "description", "pubDate", "author", "link", "category")
    },
    "atom-xhtml": _ATOM.format(_XHTML),
    "doctype": f"<!DOCTYPE rss [{{}}]>{_RSS.format('')}",
    "json-items": '{{"version":"https://jsonfeed.org/version/1.1","items":[{}]}}',
    "json-text": '{{"version":"https://jsonfeed.org/version/1.1","items":[{{"id":"1","content_html":"{}',
}
# What a publisher, a page or a client may repeat.
_PIECES: Final = (
    *"a \n</>&%()[]{}\"'=:;,.-_@#?!*$\\\t\x00\x80é中のア\u0301\u200b\u202e",
    *("&amp;", "&#", "&#x41;", "&a", "%2", "%26", "%2525", "--", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>"),
    *("<a ", "<a>", "</a>", "<a href='x'>", "<b>", "<p>", "<div>", "</div>", "<table>", "<tr>", "<li>", "<form>"),
    *("<select>", "<svg>", "<math>", "<script>", "<style>", "<textarea>", "<title>", "<plaintext>", "<xmp>"),
    *("<iframe>", "<template>", "<font>", "<object>", "<img ", "<br/>", "<x a='1' ", "a='1' ", "style=", "url("),
    *(" onx=", "javascript:", "://", "http://", "<item>", "</item>", "<item><guid>1</guid></item>", "<entry>"),
    *("<channel>", "<link>", "<link rel=alternate type=application/rss+xml href=x>", "<outline text='a'>"),
    *("<outline xmlUrl='http://a/'/>", "<!ENTITY a 'b'>", "&a;", "xmlns:a='b' ", "<a:b>", "1:", "2020", "jan "),
    *('{"a":', "[1,", '{"id":"1"},', "\\u0041", '\\"', "Disallow: /*a*\n", "User-agent: *\n", "<http://a/>;"),
    *("rel=a ", "key", "?token=", "%3Ftoken%3D", "&a=b", "://a:", "://a@", "/../", "a.b.", "xn--", "x@y.z ", '-"'),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every reader with every shape; 1 when one of them grows faster than its input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(readers()))
    parser.add_argument("--random", type=int, default=50, help="shapes of several pieces")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGVTALRM, _too_long)
    found = 0
    for name in options.only.split(","):
        for words, shape in shapes(Random(options.seed), options.random):
            times = _measured(readers()[name], shape)
            if is_superlinear(times):
                found += 1
                print(f"{name}: {words}: {', '.join(f'{one:.3f} s' for one in times)}", flush=True)
        print(f"{name} done", flush=True)
    return 1 if found else 0


def readers() -> dict[str, Reader]:
    """The functions that read input of others, by name."""
    return {
        **{name: partial(_read_feed, text) for name, text in _DOCUMENTS.items()},
        "page": _read_page,
        "opml": lambda text: read_list(f"<opml><body>{text}</body></opml>".encode()),
        "list": lambda text: read_list(text.encode()),
        "robots": lambda text: Rules(f"User-agent: *\n{text}", "feedmill").allow(_URL),
        "link-header": lambda text: link_headers((("Link", f"<http://a/>;{text}"),), _URL),
        "date": parse_date,
        "address": resolve_url,
        "guard": lambda text: check_url(f"http://{text}"),
        "form": decode_form,
        "query": parse_query,
        "index": lambda text: search_terms(text, text, text),
        "mask-address": mask_address,
        "mask-secrets": mask_secrets,
    }


def shapes(chance: Random, count: int) -> Iterator[tuple[str, Shape]]:
    """Each piece alone, then random ones: in turn, one after the other, or between two others."""
    for piece in _PIECES:
        yield repr(piece), partial(_repeated, piece)
    for _ in range(count):
        first, middle, last = chance.choices(_PIECES, k=3)
        yield repr(first + middle + last), partial(_repeated, first + middle + last)
        yield f"{first!r}*n + {last!r}*n", partial(_in_a_row, first, last)
        yield f"{first!r} + {middle!r}*n + {last!r}", partial(_between, first, middle, last)


def is_superlinear(times: Sequence[float]) -> bool:
    """Whether the CPU for one, two and four times the input grows faster than the input."""
    return bool(times) and (len(times) < 3 or times[2] > _MOST_GROWTH * times[0])


def _measured(read: Reader, shape: Shape) -> tuple[float, ...]:
    """The seconds for three sizes; none where the largest is too quick, fewer where the limit was reached."""
    size, times = _SMALLEST, list[float]()
    signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT_SEC)
    try:
        while (taken := _seconds(read, shape(size))) < _MEASURABLE_SEC:
            if size >= _LARGEST:
                return ()
            size *= 4
        times.append(taken)
        for factor in (1, 2, 4, 4):
            taken = _seconds(read, shape(factor * size))
            place = factor // 2
            times[place:] = [min(taken, *times[place:], taken)]
    except TimeoutError:
        return tuple(times or [_LIMIT_SEC])
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return tuple(times)


def _seconds(read: Reader, text: str) -> float:
    before = time.process_time()
    with suppress(FeedmillError, ValueError):  # refused input is an answer too
        read(text)
    return time.process_time() - before


def _too_long(*_: object) -> None:
    raise TimeoutError


def _read_feed(around: str, text: str) -> None:
    parsed = parse_document(RawDocument(body=around.format(text).encode(), url=_URL))
    if isinstance(parsed, ParsedFeed):
        normalise(parsed, url=_URL, seen_at=_NOW)


def _read_page(text: str) -> None:
    page = read_page(text, _URL)
    declared_feeds(page)
    anchored_feeds(page)


def _repeated(piece: str, size: int) -> str:
    return piece * (size // len(piece))


def _in_a_row(first: str, second: str, size: int) -> str:
    return _repeated(first, size // 2) + _repeated(second, size // 2)


def _between(first: str, middle: str, last: str, size: int) -> str:
    return first + _repeated(middle, size) + last


if __name__ == "__main__":
    sys.exit(main())
