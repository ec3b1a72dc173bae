"""JSON Feed 1.0 and 1.1, and JSON as publishers write it (standards.md J01 to J11)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import (
    Category,
    Content,
    Enclosure,
    Image,
    Link,
    ParsedEntry,
    ParsedFeed,
    Person,
    Text,
    Unreadable,
)
from feedmill.parse.document import parse_document

URL = "https://example.com/feed.json"
VERSION = "https://jsonfeed.org/version/1.1"


def parsed(body: bytes | str, limits: ParseLimits | None = None) -> ParsedFeed | Unreadable:
    raw = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    return parse_document(RawDocument(body=raw, url=URL), limits or ParseLimits())


def read(body: bytes | str, limits: ParseLimits | None = None) -> ParsedFeed:
    feed = parsed(body, limits)
    assert isinstance(feed, ParsedFeed)
    return feed


def with_items(items: str, **fields: object) -> str:
    head = json.dumps({"version": VERSION, **fields})[:-1]
    return f'{head}, "items": [{items}]}}'


def item(**fields: object) -> ParsedEntry:
    return read(json.dumps({"version": VERSION, "items": [fields]})).entries[0]


def ids(feed: ParsedFeed) -> list[str | None]:
    return [entry.id for entry in feed.entries]


def codes(feed: ParsedFeed) -> list[str]:
    return [repair.code for repair in feed.repairs]


def test_a_feed_keeps_what_its_publisher_wrote() -> None:
    body = {
        "version": VERSION,
        "title": " A feed ",
        "description": "About",
        "home_page_url": "/",
        "feed_url": "feed.json",
        "next_url": "?page=2",
        "icon": "i.png",
        "favicon": "f.ico",
        "language": "de",
        "expired": True,
        "authors": [{"name": "Ann", "url": "/ann"}, {"avatar": "x"}, 7],
        "hubs": [
            {"type": "WebSub", "url": "https://hub.example/"},
            {"type": "rssCloud", "url": "https://cloud.example/"},
            {"type": "websub"},
            "hub",
        ],
        "items": [],
    }

    feed = read(json.dumps(body))

    assert feed.format == "json11"
    assert feed.title == Text(value="A feed")
    assert feed.subtitle == Text(value="About")
    assert feed.link == "https://example.com/"
    assert feed.id == feed.self_url == "https://example.com/feed.json"
    assert feed.links == (Link(href="https://example.com/"), Link(href=URL, rel="self"))
    assert feed.next_url == "https://example.com/feed.json?page=2"
    assert feed.image == Image(url="https://example.com/i.png")
    assert feed.icon == "https://example.com/f.ico"
    assert feed.language == "de"
    assert feed.expired
    assert feed.authors == (Person(name="Ann", uri="https://example.com/ann"), Person(name="7"))
    assert feed.hubs == ("https://hub.example/",)
    assert (feed.entries, feed.repairs, feed.truncated) == ((), (), False)


def test_an_item_keeps_what_its_publisher_wrote() -> None:
    entry = item(
        id="1",
        url="/1",
        external_url="https://other.example/",
        title="T",
        summary="S",
        content_html="<p>x</p>",
        content_text="x",
        image="i.png",
        banner_image="b.png",
        date_published="2024-01-02T03:04:05Z",
        date_modified="2024-01-03T03:04:05Z",
        tags=["a", " ", 7, None, "b"],
        language="fr",
        author={"name": "Ann"},
        attachments=[
            {
                "url": "a.mp3",
                "mime_type": "audio/mpeg",
                "size_in_bytes": 12.0,
                "duration_in_seconds": "90",
                "title": "Sound",
            },
            {"mime_type": "audio/mpeg"},
            "a.mp3",
        ],
    )

    assert entry.link == "https://example.com/1"
    assert entry.links == (Link(href="https://example.com/1"),)
    assert entry.external_url == "https://other.example/"
    assert entry.title == Text(value="T", lang="fr")
    assert entry.summary == Text(value="S", lang="fr")
    assert entry.contents == (
        Content(value="<p>x</p>", type="text/html", base=URL, lang="fr"),
        Content(value="x", type="text/plain", base=URL, lang="fr"),
    )
    assert entry.image == "https://example.com/i.png"
    assert entry.published == "2024-01-02T03:04:05Z"
    assert entry.updated == "2024-01-03T03:04:05Z"
    assert entry.categories == (Category(term="a"), Category(term="7"), Category(term="b"))
    assert entry.authors == (Person(name="Ann"),)
    assert entry.enclosures == (
        Enclosure(
            url="https://example.com/a.mp3",
            type="audio/mpeg",
            length=12,
            title="Sound",
            duration=90,
        ),
    )


@pytest.mark.parametrize(
    ("version", "form"),
    [
        ("https://jsonfeed.org/version/1", "json10"),
        ("https://jsonfeed.org/version/1.0", "json10"),
        ("http://www.jsonfeed.org/version/1.1", "json11"),
        (" HTTPS://jsonfeed.org/version/1.1/", "json11"),
        ("https://jsonfeed.org/version/2", "json11"),
    ],
)
def test_the_version_is_recognised_by_its_address(version: str, form: str) -> None:
    assert read(json.dumps({"version": version})).format == form


@pytest.mark.parametrize(
    ("written", "identity"),
    [
        pytest.param('"a"', "a", id="text"),
        pytest.param("7", "7", id="a number"),
        pytest.param("1.50", "1.50", id="a number as it was written"),
        pytest.param("1e400", "1e400", id="a number nobody can hold"),
        pytest.param("9" * 5_000, "9" * 5_000, id="a number nobody wants to hold"),
        pytest.param("true", None, id="a truth is no name"),
        pytest.param("null", None, id="nothing"),
        pytest.param("{}", None, id="an object"),
        pytest.param('""', None, id="an empty one"),
    ],
)
def test_an_id_is_text_or_a_number_as_it_was_written(written: str, identity: str | None) -> None:
    feed = read(with_items(f'{{"id": {written}}}'))

    assert ids(feed) == [identity]


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        pytest.param({"authors": [{"name": "A"}], "author": {"name": "B"}}, ["A"], id="both"),
        pytest.param({"author": {"name": "B"}}, ["B"], id="1.0"),
        pytest.param({"authors": [], "author": {"name": "B"}}, ["B"], id="an empty list"),
        pytest.param({"authors": {"name": "A"}}, ["A"], id="not a list"),
        pytest.param({"author": [{"name": "A"}, "B"]}, ["A", "B"], id="a list"),
        pytest.param({"author": " A "}, ["A"], id="a name alone"),
        pytest.param({"author": True}, [], id="nonsense"),
    ],
)
def test_authors_are_those_of_1_1_or_the_one_of_1_0(
    fields: dict[str, Any], names: list[str]
) -> None:
    assert [person.name for person in item(**fields).authors] == names


@pytest.mark.parametrize("wrong", [7, 1.5, True, None, "text", [], {}, [[]], [None], {"a": 1}])
def test_fields_of_the_wrong_type_never_raise(wrong: object) -> None:
    fields = ["title", "home_page_url", "feed_url", "description", "next_url", "icon", "favicon", "author", "authors", "language", "expired", "hubs"]  # fmt: skip
    parts = ["id", "url", "external_url", "title", "content_html", "content_text", "summary", "image", "banner_image", "date_published", "date_modified", "author", "authors", "tags", "language", "attachments"]  # fmt: skip
    body = {
        "version": VERSION,
        **dict.fromkeys(fields, wrong),
        "items": [dict.fromkeys(parts, wrong), wrong],
    }

    feed = read(json.dumps(body))

    assert 1 <= len(feed.entries) <= 2


@pytest.mark.parametrize("items", ["7", '"x"', "{}", "null", "true"])
def test_items_that_are_no_list_are_no_items(items: str) -> None:
    feed = read(f'{{"version": "{VERSION}", "title": "T", "items": {items}}}')

    assert feed.entries == ()
    assert feed.title == Text(value="T")


GOOD = '{"id": "1"}, {"id": "2"}'


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(with_items('{"id": "1", "x": NaN}, {"id": "2"}'), id="NaN"),
        pytest.param(with_items('{"id": "1", "x": -Infinity}, {"id": "2"}'), id="infinity"),
        pytest.param(with_items('{"id": "1",}, {"id": "2"},'), id="commas too many"),
        pytest.param(with_items('{"id": "1", "t": ["a", ], }, {"id": "2"}'), id="deep inside"),
        pytest.param(with_items('{"id": "1", "t": "a\nb\x01"}, {"id": "2"}'), id="control"),
        pytest.param(with_items(GOOD) + ";\n<!-- cached -->", id="trailing junk"),
        pytest.param(with_items(GOOD, title=7).replace("7", "7" * 5_000), id="a huge number"),
        pytest.param(
            f'{{"items": [{GOOD.replace("}", ",}")}], "version": "{VERSION}", "title": "T"}}',
            id="items first",
        ),
        pytest.param(
            with_items(GOOD, _meta={"items": [{"id": "no"}]}).replace('"1"}', '"1",}'),
            id="other items before",
        ),
        pytest.param(with_items(f'{GOOD}, 7, "x", [1,]'), id="items that are no objects"),
        pytest.param(
            with_items(f'{{"id": "1", "x": {"[" * 99_000}{"]" * 99_000}}}, {{"id": "2"}}').replace(
                '{"id": "1"', '{"id": "0"}, {"id": "1"', 1
            ),
            id="one nested too deeply",
        ),
        pytest.param(with_items(GOOD).replace('"items"', '"\\u0069tems"'), id="an escaped key"),
    ],
)
def test_what_is_not_quite_json_is_read_item_by_item(body: str) -> None:
    feed = read(body)

    assert ids(feed)[-1] == "2"
    assert "json-repaired" in codes(feed)
    assert not feed.truncated
    raw = body.encode()
    for entry in feed.entries:
        assert entry.slice is not None
        piece = raw[entry.slice.offset : entry.slice.offset + entry.slice.length]
        assert piece[:1] + piece[-1:] == b"{}"


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        pytest.param('"items": [{"id": "1"}, {"id": "2", "t": "a', ["1"], id="in a string"),
        pytest.param('"items": [{"id": "1"}, {"id": "2"', ["1"], id="in an item"),
        pytest.param('"items": [{"id": "1"}, {"id": "2"}', ["1", "2"], id="after an item"),
        pytest.param('"items": [{"id": "1"}]', ["1"], id="before the last brace"),
        pytest.param('"items": [', [], id="before the items"),
        pytest.param('"title": "ab', [], id="in the title"),
        pytest.param('"title"', [], id="in a field"),
    ],
)
def test_a_cut_document_keeps_what_is_whole(kept: str, expected: list[str]) -> None:
    feed = read(f'{{"version": "{VERSION}", {kept}')

    assert ids(feed) == expected
    assert feed.truncated
    assert codes(feed) == ["json-repaired", "truncated"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param('{"error": "gone"}', "error-document", id="an error"),
        pytest.param('{"errors": [{"a": 1}], "items": []}', "error-document", id="several"),
        pytest.param('{"code": "x", "message": "No route"}', "error-document", id="WordPress"),
        pytest.param('{"title": "Not Found", "status": 404}', "error-document", id="RFC 9457"),
        pytest.param('{"status": "error"}', "error-document", id="in words"),
        pytest.param('{"detail": "Not found."}', "error-document", id="Django"),
        pytest.param('{"status": "ok", "posts": []}', "not-a-feed", id="another service"),
        pytest.param('{"error": null, "items": []}', "not-a-feed", id="no error"),
        pytest.param('{"version": "1.0", "items": []}', "not-a-feed", id="another version"),
        pytest.param("[1, 2]", "not-a-feed", id="a list"),
        pytest.param("{}", "not-a-feed", id="nothing in it"),
        pytest.param("{nonsense}", "malformed", id="no JSON"),
        pytest.param('{"version": "x', "malformed", id="cut too early"),
        pytest.param("[" * 100_000, "malformed", id="nothing but brackets"),
        pytest.param('{"a":' * 100_000, "malformed", id="nothing but keys"),
    ],
)
def test_other_json_is_named(body: str, reason: str) -> None:
    named = parsed(body)

    assert isinstance(named, Unreadable)
    assert named.reason == reason


def test_nothing_that_cannot_be_stored_comes_out() -> None:
    fields = r'"title": "\u0000a\ud800b\udc00", "summary": "\ud83d\ude42", "tags": ["\u0000"]'
    body = with_items(rf'{{"id": "\ud800", "url": "/\u0000x", {fields}}}', title="@").replace(
        "@", r"\udfff\u0000T"
    )

    feed = read(body)

    assert feed.title == Text(value="\ufffdT")
    (entry,) = feed.entries
    assert entry.id == "\ufffd"
    assert entry.title == Text(value="a\ufffdb\ufffd")
    assert entry.summary == Text(value="🙂")
    assert entry.link == "https://example.com/x"
    assert entry.categories == ()


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_slices_are_the_items_in_every_encoding(codec: str) -> None:
    items = ['{"id": "é日本🙂"}', '{ "id":"2", "items": [{"id":"3"}] }']
    body = with_items(" , ".join(items), title="é🙂", authors=[{"id": "2"}]).encode(codec)

    feed = read(body)

    decode = {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}.get(codec, codec)
    found = [entry.slice for entry in feed.entries]
    assert [
        body[one.offset : one.offset + one.length].decode(decode) for one in found if one
    ] == items


def test_an_item_that_looks_like_an_earlier_value_is_found_in_the_list() -> None:
    body = with_items('{"name": "x"}', authors=[{"name": "x"}])

    (entry,) = read(body).entries

    assert entry.slice is not None
    assert entry.slice.offset == body.rindex('{"name"')


def test_of_two_lists_of_items_the_last_one_counts() -> None:
    body = f'{{"version": "{VERSION}", "items": [{{"id": "1"}}], "items": [{{"id": "2"}}]}}'

    feed = read(body)

    assert ids(feed) == ["2"]
    assert feed.entries[0].slice is not None
    assert feed.entries[0].slice.offset == body.rindex('{"id"')


def test_lists_and_items_are_read_up_to_the_limit() -> None:
    limits = ParseLimits(max_items=1, max_values=2)

    feed = read(with_items('{"tags": ["a", "b", "c"]}, {"id": "2"}'), limits)

    assert [category.term for category in feed.entries[0].categories] == ["a", "b"]
    assert len(feed.entries) == 1
    assert codes(feed) == ["values-capped", "items-capped"]
    assert feed.truncated


def test_known_items_are_touched_and_not_read() -> None:
    body = with_items('{"id": "1"}, {"id": "2"}, {"id": "1"}').encode()
    first = read(body).entries[0].slice
    assert first is not None

    feed = parse_document(RawDocument(body=body, url=URL), known=frozenset({first.digest}))

    assert isinstance(feed, ParsedFeed)
    assert ids(feed) == ["2"]
    assert [one.offset for one in feed.touched] == [first.offset, body.rindex(b'{"id"')]


def test_a_broken_document_with_more_tokens_than_it_is_worth_is_cut() -> None:
    body = with_items('{"id": "1"}, {"id": "2", "x": [' + '"" ' * 250_001 + "]}")

    feed = read(body.replace('"1"', '"1",', 1))

    assert ids(feed) == ["1"]
    assert feed.truncated


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(
    value=JSON,
    key=st.sampled_from(["items", "title", "authors", "hubs", "attachments", "tags", "id", "url"]),
    at=st.integers(0, 80),
)
def test_no_json_raises_whole_or_cut(value: object, key: str, at: int) -> None:
    inner = json.dumps({key: value, "id": "1"})
    body = with_items(inner, **({key: value} if key != "items" else {}))

    whole, cut = parsed(body), parsed(body[:-at] if at else body)

    assert isinstance(whole, ParsedFeed)
    assert isinstance(cut, ParsedFeed | Unreadable)
    repr(whole).encode()
