"""Documents made to hurt: each family aims at one loop, table or recursion of a feed reader.

Sizes stay just under the default body limit (10 MiB) where size is the weapon: what is larger is
refused before anybody looks at it.
"""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Final

_ATOM: Final = b'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>'
_FULL: Final = 10_000_000
Attack = Callable[[], bytes]


def vector_attacks(folder: Path) -> dict[str, Attack]:
    """The generators of the attack vectors, by name."""
    found: dict[str, Attack] = {}
    for path in sorted(folder.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if "generator" in case:
            found["vector: " + case["name"]] = _generator(case["generator"]["code"])
    return found


def _generator(code: str) -> Attack:
    def generate() -> bytes:
        names: dict[str, Callable[[str, str], bytes]] = {}
        exec(code, names)  # the vectors are our own files
        return names["gen"]("/nonexistent/canary", "http://127.0.0.1:9/canary")

    return generate


def _rss(item: bytes = b"", head: bytes = b"", root: bytes = b"", before: bytes = b"") -> bytes:
    start = b'<?xml version="1.0"?>' + before + b'<rss version="2.0"' + root + b"><channel>"
    return start + b"<title>t</title>" + head + b"<item><title>x</title>" + item + _END


_END: Final = b"</item></channel></rss>"
_OPEN: Final = b'<rss version="2.0"><channel><title>t</title>'


def _filled(piece: bytes, size: int = _FULL) -> bytes:
    return piece * (size // len(piece))


def _billion_laughs() -> bytes:
    names = [b"lol%d" % n for n in range(12)]
    entities = [b'<!ENTITY lol0 "lol">']
    for below, name in pairwise(names):
        entities.append(b'<!ENTITY %s "%s">' % (name, b"&%s;" % below * 10))
    doctype = b"<!DOCTYPE rss [" + b"".join(entities) + b"]>"
    return _rss(b"<description>&lol11;</description>", before=doctype)


def _numbered(template: bytes, count: int) -> bytes:
    return b"".join([template % number for number in range(count)])


def _namespaces(count: int) -> bytes:
    return b"".join([b' xmlns:n%d="u:%d"' % (number, number) for number in range(count)])


def _json_feed(item: bytes) -> bytes:
    return (
        b'{"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": [' + item + b"]}"
    )


ATTACKS: Final[dict[str, Attack]] = {
    # entities and declarations
    "billion laughs": _billion_laughs,
    "2 M references to one entity": lambda: _rss(
        b"<description>" + b"&a;" * 2_000_000, before=b'<!DOCTYPE rss [<!ENTITY a "aaaa">]>'
    ),
    "huge DOCTYPE": lambda: _rss(before=b"<!DOCTYPE rss [" + _filled(b'<!ENTITY a "b">') + b"]>"),
    "DOCTYPE that never ends": lambda: b"<!DOCTYPE rss [" + _filled(b'"x" [ ') + _rss(),
    "DOCTYPE of quotes": lambda: b"<!DOCTYPE rss " + _filled(b"'\"", 4_000_000) + _rss(),
    "many DOCTYPEs": lambda: _filled(b"<!DOCTYPE a>", 4_000_000) + _rss(),
    "many DOCTYPEs in a wide body": lambda: (
        b"<!DOCTYPE a>" * 5_000 + _rss(_filled(b"x", 9_000_000))
    ),
    "many comments before the root": lambda: _filled(b"<!---->") + _rss(),
    "many instructions before the root": lambda: _filled(b"<?a?>") + _rss(),
    "surrogate references": lambda: _rss(b"<description>" + _filled(b"&#xD83D;", 4_000_000)),
    "references without end": lambda: _rss(b"<description>" + b"&#" + b"9" * 5_000_000),
    "named references": lambda: _rss(b"<description>" + _filled(b"&eacute;", 9_000_000)),
    "windows-1252 references": lambda: _rss(b"<description>" + _filled(b"&#150;", 9_000_000)),
    "references of zeros": lambda: _rss(b"<description>" + b"&#" + b"0" * 9_000_000 + b"150;"),
    "many references of zeros": lambda: _rss(b"<description>" + (b"&#" + b"0" * 2_000) * 4_000),
    # stray characters
    "5 M bare &": lambda: _rss(b"<description>" + b"&" * 5_000_000 + b"</description>"),
    "9 M bare &": lambda: _rss(b"<description>" + b"&" * 9_000_000 + b"</description>"),
    "2 M <": lambda: _rss(b"<description>" + b"<" * 2_000_000 + b"</description>"),
    "9 M <": lambda: _rss(b"<description>" + b"<" * 9_000_000 + b"</description>"),
    "9 M >": lambda: _rss(b"<description>" + b">" * 9_000_000 + b"</description>"),
    "control characters": lambda: _rss(b"<description>" + b"\x01" * 9_000_000),
    "invalid UTF-8": lambda: _rss(b"<description>" + _filled(b"\xff\xfea", 9_000_000)),
    "one stray byte in 9 MB": lambda: _rss(b"<description>" + "é".encode() * 4_500_000 + b"\xff"),
    "declared UTF-16 that is ASCII": lambda: _filled(b"<\x00?\x00"),
    "wide characters declared as ASCII": lambda: _rss(_filled("語".encode(), 9_000_000)),
    "UTF-16 with 4 M characters": lambda: _rss(b"a" * 4_500_000).decode().encode("utf-16"),
    "GBK with 20,000 entries": lambda: (
        b'<?xml version="1.0" encoding="gbk"?>'
        + _OPEN
        + "<item><title>标题</title></item>".encode("gbk") * 20_000
    ),
    # structure
    "depth 100,000": lambda: _rss(b"<a>" * 100_000 + b"</a>" * 100_000),
    "depth 3 M, unclosed": lambda: _rss(b"<a>" * 3_000_000),
    "depth 200 times 10,000": lambda: _rss((b"<a>" * 200 + b"</a>" * 200) * 7_000),
    "200,000 attributes": lambda: _rss(head=b"<image " + _numbered(b'a%d="" ', 200_000) + b"/>"),
    "200,000 attributes on an item": lambda: (
        _OPEN + b"<item " + _numbered(b'a%d="" ', 200_000) + b">" + _END
    ),
    "200,000 attributes on the root": lambda: _rss(root=b" " + _numbered(b'a%d="" ', 200_000)),
    "same attribute 500,000 times": lambda: _rss(head=b"<image " + b'a="" ' * 500_000 + b"/>"),
    "50,000 xmlns": lambda: _rss(root=_namespaces(50_000)),
    "200,000 xmlns on elements": lambda: _rss(_numbered(b'<n:a xmlns:n="u:%d"/>', 200_000)),
    "undeclared prefixes": lambda: _rss(_numbered(b"<n%d:a/>", 200_000)),
    "unknown names": lambda: _rss(_numbered(b"<n%d/>", 600_000)),
    "200,000 items": lambda: (
        _OPEN + b"<item><title>x</title></item>" * 200_000 + b"</channel></rss>"
    ),
    "1.4 M empty items": lambda: _OPEN + b"<item/>" * 1_400_000 + b"</channel></rss>",
    "200,000 unclosed items": lambda: _OPEN + b"<item><title>x</title>" * 200_000,
    "400,000 items, one broken": lambda: _OPEN + b"<item>&</item>" + b"<item>x</item>" * 400_000,
    "items all broken": lambda: _OPEN + b"<item><a>&x</b></item>" * 400_000 + b"</channel></rss>",
    "items of bare &": lambda: _OPEN + b"<item>" + (b"<item>&&&&</item>") * 500_000,
    "items in items": lambda: _OPEN + b"<item>" * 1_500_000,
    "closing tags only": lambda: _OPEN + b"</item>" * 1_400_000,
    "mismatched tags": lambda: _rss(b"<a></b>" * 1_000_000),
    "mismatched tags in many items": lambda: _OPEN + b"<item><a></b></c></item>" * 300_000,
    "entries in Atom": lambda: _ATOM + b"<entry><id>x</id></entry>" * 350_000 + b"</feed>",
    "channels by the million": lambda: b'<rss version="2.0">' + b"<channel/>" * 900_000 + b"</rss>",
    "items with prefixes by the 100,000": lambda: _OPEN + _numbered(b"<n%d:item/>", 500_000),
    "salvage with a 4 MB root tag": lambda: (
        b'<rss version="2.0" a="'
        + b"x" * 4_000_000
        + b'"><channel>'
        + b"<item>&</b></item>" * 200_000
    ),
    "salvage with a 60 KB root tag": lambda: (
        b'<rss version="2.0" a="' + b"x" * 60_000 + b'"><channel>' + b"<item>&</b></item>" * 800
    ),
    "salvage with a 1 KB root tag": lambda: (
        b'<rss version="2.0" a="' + b"x" * 1_000 + b'"><channel>' + b"<item>&</b></item>" * 49_000
    ),
    "salvage with a root of 2,000 xmlns": lambda: (
        b'<rss version="2.0"' + _namespaces(2_000) + b"><channel>" + b"<item>&</b></item>" * 1_400
    ),
    # things that never close
    "unclosed CDATA, many": lambda: _rss(_filled(b"<![CDATA[", 9_000_000)),
    "closed CDATA, many": lambda: _rss(b"<description>" + _filled(b"<![CDATA[]]>", 9_000_000)),
    "closed CDATA, many, broken": lambda: _rss(b"<a>&</b>" + _filled(b"<![CDATA[]]>", 9_000_000)),
    "unclosed comments, many": lambda: _rss(_filled(b"<!--", 9_000_000)),
    "unclosed comments, many items": lambda: _OPEN + _filled(b"<item><!--", 9_000_000),
    "closed comments, many": lambda: _rss(_filled(b"<!---->", 9_000_000)),
    "closed comments, many, broken": lambda: _rss(b"<a>&</b>" + _filled(b"<!---->", 9_000_000)),
    "unclosed tags, many": lambda: _rss(_filled(b"<item ", 9_000_000)),
    "unclosed quotes": lambda: _rss(_filled(b'<a b="', 9_000_000)),
    "feed starts in junk": lambda: _filled(b"<rss", 90_000) + _filled(b"<?xm", 9_000_000),
    "leading spaces": lambda: b" " * 9_900_000 + _rss(),
    "password inputs": lambda: b"<html><title>" + _filled(b"<input ", 200_000) + b"x" * 9_000_000,
    "titles in a page": lambda: b"<html>" + _filled(b"<title", 9_000_000),
    # repeated values
    "200,000 categories": lambda: _rss(_numbered(b"<category>c%d</category>", 200_000)),
    "400,000 links": lambda: _rss(b"<link>https://a.b/</link>" * 390_000),
    "400,000 relative links": lambda: (
        _ATOM + b"<entry>" + b'<link href="/a"/>' * 500_000 + b"</entry></feed>"
    ),
    "channel links": lambda: _rss(head=b"<link>/a</link>" * 600_000),
    "authors": lambda: _rss(_numbered(b"<author>a%d@b.c (n)</author>", 300_000)),
    "author regex": lambda: _rss(b"<author>" + b"a." * 100_000 + b"@</author>"),
    "author of 9 MB": lambda: _rss(b"<author>" + b"a@" * 4_500_000 + b"</author>"),
    "titles": lambda: _rss(b"<title>x</title>" * 600_000),
    "unknown elements with text": lambda: _rss(
        b"".join([b"<y%d>abc</y%d>" % (n, n) for n in range(400_000)])
    ),
    "itunes categories": lambda: _rss(
        b'<i:category xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd">'
        + b'<i:category text="a"/>' * 400_000
        + b"</i:category>"
    ),
    "itunes keywords": lambda: _rss(
        b'<i:keywords xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd">'
        + b"a," * 4_900_000
        + b"</i:keywords>"
    ),
    "itunes fields": lambda: _rss(
        b"<i:episode>1</i:episode>" * 390_000,
        root=b' xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"',
    ),
    "media groups": lambda: _rss(
        b"<m:group><m:content url='/a'/></m:group>" * 240_000,
        root=b' xmlns:m="http://search.yahoo.com/mrss/"',
    ),
    "media group of 300,000": lambda: _rss(
        b"<m:group>" + b"<m:content url='/a'/>" * 400_000 + b"</m:group>",
        root=b' xmlns:m="http://search.yahoo.com/mrss/"',
    ),
    "skipHours": lambda: _rss(head=b"<skipHours>" + b"<hour>1</hour>" * 600_000 + b"</skipHours>"),
    "ttl": lambda: _rss(head=b"<ttl>1</ttl>" * 800_000),
    "georss line": lambda: _rss(
        b'<g:line xmlns:g="http://www.georss.org/georss">' + b"1.0 2.0 " * 1_200_000 + b"</g:line>"
    ),
    "tombstones": lambda: (
        _ATOM.replace(b"><title>", b' xmlns:at="http://purl.org/atompub/tombstones/1.0"><title>', 1)
        + b'<at:deleted-entry ref="a"/>' * 350_000
        + b"</feed>"
    ),
    "xml:base chain": lambda: (
        _ATOM + b"<entry>" + b'<link xml:base="/a/" href="b"/>' * 300_000 + b"</entry></feed>"
    ),
    "atom persons": lambda: (
        _ATOM + b"<entry><author>" + b"<name>a</name>" * 650_000 + b"</author></entry></feed>"
    ),
    # large single values
    "9.9 MB title": lambda: _rss(b"<title>" + b"x " * 4_950_000 + b"</title>"),
    "9.9 MB description": lambda: _rss(b"<description>" + b"x" * 9_900_000 + b"</description>"),
    "9.9 MB description of tags": lambda: _rss(
        b"<description><![CDATA[" + b"<b>x</b>" * 1_230_000 + b"]]></description>"
    ),
    "9.9 MB guid": lambda: _rss(b"<guid>" + b"x" * 9_900_000 + b"</guid>"),
    "9.9 MB link": lambda: _rss(b"<link>/" + b"x" * 9_900_000 + b"</link>"),
    "9.9 MB of ../ in a link": lambda: _rss(b"<link>" + b"../" * 3_300_000 + b"</link>"),
    "9.9 MB query": lambda: _rss(b"<link>https://a.b/?" + b"a&amp;" * 1_600_000 + b"</link>"),
    "9.9 MB host": lambda: _rss(b"<link>https://" + b"a." * 4_900_000 + b"</link>"),
    "9.9 MB date": lambda: _rss(b"<pubDate>" + b"1 " * 4_950_000 + b"</pubDate>"),
    "9.9 MB date of letters": lambda: _rss(b"<pubDate>" + b"Mon, " * 1_950_000 + b"</pubDate>"),
    "9.9 MB duration": lambda: _rss(
        b'<i:duration xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd">'
        + b"1" * 9_900_000
        + b"</i:duration>"
    ),
    "9.9 MB category": lambda: _rss(b"<category>" + b"x " * 4_950_000 + b"</category>"),
    "9.9 MB element name": lambda: _rss(b"<" + b"x" * 9_900_000 + b"/>"),
    "30 MB text": lambda: _rss(b"<description>" + b"x" * 30_000_000 + b"</description>"),
    "xhtml of 300,000 elements": lambda: (
        _ATOM
        + b'<entry><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">'
        + b"<p>a</p>" * 800_000
        + b"</div></content></entry></feed>"
    ),
    "xhtml of namespaces": lambda: (
        _ATOM
        + b'<entry><content type="xhtml">'
        + _numbered(b'<p xmlns="u:%d">a</p>', 300_000)
        + b"</content></entry></feed>"
    ),
    "base64 content": lambda: (
        _ATOM
        + b'<entry><content type="image/png">'
        + b"QUJD" * 2_400_000
        + b"</content></entry></feed>"
    ),
    # HTML inside
    "nested divs": lambda: _rss(b"<description>" + b"&lt;div&gt;" * 800_000 + b"</description>"),
    "nested divs, 500 KB": lambda: _rss(
        b"<description>" + b"&lt;div&gt;" * 45_000 + b"</description>"
    ),
    "nested tables": lambda: _rss(
        b"<description><![CDATA[" + b"<table><tr><td>" * 600_000 + b"]]></description>"
    ),
    "formatting elements": lambda: _rss(
        b"<description><![CDATA[" + b"<b><i><p>" * 1_000_000 + b"]]></description>"
    ),
    "anchors in anchors": lambda: _rss(
        b"<description><![CDATA[" + b"<a><a href=x>" * 700_000 + b"]]></description>"
    ),
    "HTML attributes": lambda: _rss(
        b"<description><![CDATA[<p " + _numbered(b"a%d=1 ", 700_000) + b">]]></description>"
    ),
    "HTML comments": lambda: _rss(
        b"<description><![CDATA[" + b"<!--" * 2_400_000 + b"]]></description>"
    ),
    "HTML scripts": lambda: _rss(
        b"<description><![CDATA[" + b"<script>" * 1_200_000 + b"]]></description>"
    ),
    "HTML references": lambda: _rss(
        b"<description><![CDATA[" + b"&lt;" * 2_400_000 + b"]]></description>"
    ),
    "HTML references, escaped again and again": lambda: _rss(
        b"<description><![CDATA[" + b"&amp;amp;amp;lt;" * 600_000 + b"]]></description>"
    ),
    "many small bodies": lambda: (
        _OPEN
        + b"<item><description><![CDATA[<p><b>x</b></p>]]></description></item>" * 50_000
        + b"</channel></rss>"
    ),
    "titles of tags": lambda: _rss(b"").replace(
        b"<item><title>x", b"<item><title><![CDATA[" + b"<a " * 3_000_000 + b"]]>", 1
    ),
    # JSON
    "deep JSON": lambda: _json_feed(b"[" * 4_900_000),
    "deep JSON objects": lambda: _json_feed(b'{"a":' * 1_900_000),
    "deep JSON in an item": lambda: _json_feed(
        b'{"id": "1", "x": ' + b"[" * 900 + b"]" * 900 + b"}"
    ),
    "JSON number of a million digits": lambda: _json_feed(b'{"id": ' + b"9" * 1_000_000 + b"}"),
    "JSON number of 9 M digits": lambda: _json_feed(b'{"id": ' + b"9" * 9_000_000 + b"}"),
    "JSON numbers by the million": lambda: _json_feed(b"1," * 4_900_000 + b"1"),
    "JSON items by the million": lambda: _json_feed(b"{}," * 3_000_000 + b"{}"),
    "JSON items, not quite JSON": lambda: _json_feed(b'{"id":1},' * 1_000_000 + b"NaN"),
    "JSON items, cut": lambda: _json_feed(b'{"id":1},' * 1_000_000)[:-2],
    "JSON without end": lambda: b'{"items": [' + b'{"a": "' * 1_000_000,
    "JSON keys": lambda: b"{" + _numbered(b'"k%d":1,', 800_000) + b'"version": 1}',
    "JSON string of escapes": lambda: _json_feed(b'{"id": "' + b"\\u0041" * 1_600_000 + b'"}'),
    "JSON lone surrogates": lambda: _json_feed(b'{"id": "' + b"\\ud800" * 1_600_000 + b'"}'),
    "JSON tags": lambda: _json_feed(b'{"id": "1", "tags": [' + b'"a",' * 2_400_000 + b'"b"]}'),
    "JSON array at the top": lambda: b"[" * 9_900_000,
}
