"""Reading only what is new: known entries are touched, everything else is as ever (D31)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed, Person, Slice
from feedmill.parse.document import parse_document

URL = "https://example.com/feed"
ATOM = "http://www.w3.org/2005/Atom"
NOTHING: dict[str, int] = {}


def item(number: int | str) -> str:
    return f"<item><guid>g{number}</guid><title>t{number}</title></item>"


def rss(*items: str, root: str = "", head: str = "<title>T</title><ttl>60</ttl>") -> bytes:
    return f"<rss{root}><channel>{head}{''.join(items)}</channel></rss>".encode()


def atom(*entries: str, root: str = "", head: str = "<title>T</title>") -> bytes:
    return f'<feed xmlns="{ATOM}"{root}>{head}{"".join(entries)}</feed>'.encode()


def read(body: bytes, known: dict[str, int] = NOTHING) -> ParsedFeed:
    """The document, which reads the same whatever is known of the lengths of its entries."""
    document = RawDocument(body=body, url=URL)
    feed = parse_document(document, known=known)
    assert isinstance(feed, ParsedFeed)
    assert parse_document(document, known=frozenset(known)) == feed
    assert parse_document(document, known=dict(reversed(known.items()))) == feed
    assert parse_document(document, known=dict.fromkeys(known, 0)) == feed
    return feed


def marks(feed: ParsedFeed) -> dict[str, int]:
    found = [entry.slice for entry in feed.entries if entry.slice is not None]
    return {one.digest: one.length for one in found}


def ids(feed: ParsedFeed) -> list[str | None]:
    return [entry.id for entry in feed.entries]


def places(slices: tuple[Slice, ...], body: bytes) -> list[str]:
    return [body[one.offset : one.offset + one.length].decode() for one in slices]


def head(feed: ParsedFeed) -> ParsedFeed:
    return replace(feed, entries=(), touched=(), repairs=())


def test_only_new_entries_are_read_and_the_rest_is_touched() -> None:
    known = marks(read(rss(item(1), item(2))))
    body = rss(item(3), item(1), item(2), item(4))

    feed = read(body, known)

    assert ids(feed) == ["g3", "g4"]
    assert places(tuple(e.slice for e in feed.entries if e.slice), body) == [item(3), item(4)]
    assert places(feed.touched, body) == [item(1), item(2)]
    assert head(feed) == head(read(body))


def test_when_everything_is_known_the_feeds_own_fields_are_still_read() -> None:
    body = rss(item(1), item(2))

    feed = read(body, marks(read(body)))

    assert feed.entries == ()
    assert places(feed.touched, body) == [item(1), item(2)]
    assert head(feed) == head(read(body))


@pytest.mark.parametrize(
    ("declared", "new", "title"),
    [
        pytest.param(b"utf-8", "né".encode(), "né", id="UTF-8"),
        pytest.param(b"utf-8", b"plain", "plain", id="only known entries are not ASCII"),
        pytest.param(b"utf-8", b"n\xe9 ", "né", id="a stray byte"),
        pytest.param(b"utf-8", "n\xc3\xa9".encode(), "né", id="encoded twice"),
        pytest.param(b"iso-8859-1", "né".encode(), "né", id="UTF-8 under another label"),
    ],
)
def test_the_encoding_is_judged_as_if_nothing_were_known(
    declared: bytes, new: bytes, title: str
) -> None:
    start = b'<?xml version="1.0" encoding="%s"?>' % declared
    known = marks(read(start + rss(item("déjà"), item("vu"))))
    body = start + rss(item("new"), item("déjà"), item("vu")).replace(b"tnew", new)

    feed = read(body, known)

    whole = read(body)
    text = feed.entries[0].title
    assert text is not None
    assert text.value == title
    assert (feed.encoding, feed.encoding_source, feed.entries[0], feed.repairs) == (
        whole.encoding,
        whole.encoding_source,
        whole.entries[0],
        whole.repairs,
    )


def test_a_document_without_an_element_is_no_feed_whatever_is_known() -> None:
    known = marks(read(rss(item(1))))
    body = '<?xml version="1.0" encoding="utf-8"?><!-- é '.encode()

    read_again = parse_document(RawDocument(body=body, url=URL), known=known)

    assert read_again == parse_document(RawDocument(body=body, url=URL))


def test_a_changed_entry_is_new() -> None:
    known = marks(read(rss(item(1), item(2))))

    feed = read(rss(item(1).replace("t1", "changed"), item(2)), known)

    assert ids(feed) == ["g1"]


def test_the_same_entry_twice_in_one_document_is_touched_twice() -> None:
    body = rss(item(1), item(2), item(1))

    feed = read(body, marks(read(rss(item(1)))))

    assert ids(feed) == ["g2"]
    assert [one.offset for one in feed.touched] == [body.index(b"<item>"), body.rindex(b"<item>")]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(rss(item(1), root=' xml:base="/x/"'), id="another base"),
        pytest.param(rss(item(1), root=' xmlns:dc="urn:x"'), id="another namespace"),
        pytest.param(rss(item(1), root=' a="x>y" xml:lang="de"'), id="behind a sign in a value"),
        pytest.param(
            rss(item(1)).replace(b"<channel>", b'<channel xml:lang="de">'), id="another channel"
        ),
    ],
)
def test_a_start_tag_around_an_entry_is_part_of_it(changed: bytes) -> None:
    known = marks(read(rss(item(1))))

    assert ids(read(changed, known)) == ["g1"]


def test_what_else_changes_in_the_head_does_not_make_entries_new() -> None:
    known = marks(read(rss(item(1))))

    feed = read(rss(item(1), head="<title>Other</title><lastBuildDate>now</lastBuildDate>"), known)

    assert feed.entries == ()
    assert feed.title is not None
    assert feed.title.value == "Other"


ENTRY = "<entry><id>{}</id></entry>"
ANN = "<author><name>Ann</name></author>"
BEN = "<author><name>Ben</name></author>"


def test_entries_inherit_the_feeds_author_however_few_are_read() -> None:
    known = marks(read(atom(ENTRY.format(1), head=ANN)))

    feed = read(atom(ENTRY.format(1), ENTRY.format(2), head=ANN), known)

    assert ids(feed) == ["2"]
    assert feed.entries[0].authors == (Person(name="Ann"),)


def test_another_author_of_the_feed_makes_its_entries_new() -> None:
    known = marks(read(atom(ENTRY.format(1), head=ANN)))

    feed = read(atom(ENTRY.format(1), head=BEN), known)

    assert feed.entries[0].authors == (Person(name="Ben"),)


@pytest.mark.parametrize(
    ("own", "name"),
    [
        pytest.param(BEN, "Ben", id="its own"),
        pytest.param(f"<source><title>s</title>{BEN}</source>", "Ben", id="its source's"),
        pytest.param("<source><title>s</title></source>", "Ann", id="the feed's"),
    ],
)
def test_an_entry_has_its_own_author_or_its_sources_or_the_feeds(own: str, name: str) -> None:
    feed = read(atom(f"<entry><id>1</id>{own}</entry>", head=ANN))

    assert feed.entries[0].authors == (Person(name=name),)


def test_an_entry_without_anybody_has_no_author() -> None:
    assert read(atom(ENTRY.format(1))).entries[0].authors == ()


def test_a_broken_entry_is_new_once() -> None:
    broken = "<item><guid>g9</guid><title>a<b></title></item>"
    known = marks(read(rss(item(1), broken)))
    body = rss(item(1), broken, item(2))

    feed = read(body, known)

    assert ids(feed) == ["g2"]
    assert places(feed.touched, body) == [item(1), broken]


def test_in_a_broken_document_only_new_entries_are_read() -> None:
    known = marks(read(rss(item(1))))
    body = rss(item(1), "<item><guid>g9</guid><title>a<b></title></item>", item(2))

    feed = read(body, known)

    assert ids(feed) == ["g9", "g2"]
    assert places(feed.touched, body) == [item(1)]


def test_a_cut_document_is_cut_whatever_is_known() -> None:
    known = marks(read(rss(item(1))))
    body = rss(item(1), item(2))[: -len("g2</guid><title>t2</title></item></channel></rss>")]

    feed = read(body, known)

    assert (feed.entries, feed.truncated) == ((), True)
    assert places(feed.touched, body) == [item(1)]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(f"<item><guid>g1</guid><x>{item(9)}</x></item>", id="one within another"),
        pytest.param("<ITEM><guid>g1</guid></ITEM>", id="another spelling"),
        pytest.param("<item><guid>g1</guid><?php </item> ?></item>", id="an instruction"),
    ],
)
def test_entries_that_a_scan_misjudges_are_touched_too(first: str) -> None:
    known = marks(read(rss(first, item(2))))
    body = rss(first, item(2), item(3))

    feed = read(body, known)

    assert ids(feed) == ["g3"]
    assert places(feed.touched, body) == [first, item(2)]
    assert places(tuple(e.slice for e in feed.entries if e.slice), body) == [item(3)]


def test_a_look_alike_outside_the_channel_does_not_confuse_what_is_new() -> None:
    known = marks(read(rss(item(1))))
    body = rss(item(1), item(2), head=f"<title>T</title><image>{item(7)}</image>")

    feed = read(body, known)

    assert ids(feed) == ["g2"]


def test_an_entry_that_is_the_whole_document_can_be_known() -> None:
    body = f'<entry xmlns="{ATOM}"><id>1</id></entry>'.encode()

    feed = read(body, marks(read(body)))

    assert feed.entries == ()
    assert places(feed.touched, body) == [body.decode()]


def test_a_document_that_is_no_feed_any_more_is_named_whatever_is_known() -> None:
    body = rss(item(1))
    known = marks(read(body))
    page = b"<opml><item><guid>g1</guid></item></opml>"

    named = parse_document(RawDocument(body=page), known=known)

    assert not isinstance(named, ParsedFeed)


def test_where_nothing_can_be_pointed_at_nothing_is_known() -> None:
    plain = read(b"<rss><channel><item><guid>g1</guid></item></channel></rss>")
    damaged = "\ufeff<rss><channel>".encode("utf-16-le") + b"\x00\xd8"
    rest = "<item><guid>g1</guid></item></channel></rss>".encode("utf-16-le")

    feed = read(damaged + rest, marks(plain))

    assert ids(feed) == ["g1"]
    assert feed.touched == ()


def test_the_limit_counts_known_entries_too() -> None:
    body = rss(item(1), item(2), item(3))
    known = marks(read(rss(item(1))))

    feed = parse_document(RawDocument(body=body, url=URL), ParseLimits(max_items=2), known)

    assert isinstance(feed, ParsedFeed)
    assert ids(feed) == ["g2"]
    assert feed.truncated


def test_a_length_that_ends_at_another_entry_is_not_believed() -> None:
    body = rss(item(1), item(2), item(3))
    two = len(item(1) + item(2))
    known = dict.fromkeys(marks(read(rss(item(1), item(3)))), two)

    feed = read(body, known)

    assert ids(feed) == ["g2"]
    assert places(feed.touched, body) == [item(1), item(3)]


def test_lengths_prepared_to_be_hashed_in_vain_are_given_up() -> None:
    many = [item(number) for number in range(10, 99)]
    known = {f"{number:064x}": len("".join(many[:number])) for number in range(1, 80)}

    feed = read(rss(*many), known)

    assert ids(feed) == [f"g{number}" for number in range(10, 99)]


def test_lengths_mean_nothing_in_another_encoding() -> None:
    head = '<?xml version="1.0" encoding="iso-8859-1"?>'
    body = (head + rss("<item><guid>\xe9</guid></item>", item(1)).decode()).encode("latin-1")

    feed = read(body, marks(read(body)))

    assert feed.entries == ()
    assert len(feed.touched) == 2


@given(
    before=st.lists(st.integers(0, 9), max_size=6),
    after=st.lists(st.integers(0, 9), max_size=6),
    broken=st.booleans(),
)
def test_new_and_touched_together_are_the_document(
    before: list[int], after: list[int], *, broken: bool
) -> None:
    tail = "<b>" if broken else ""
    known = marks(read(rss(*map(item, before))))
    body = rss(*map(item, after), tail)

    feed, whole = read(body, known), read(body)

    expected = [number for number in after if number not in before]
    assert ids(feed) == [f"g{number}" for number in expected]
    new = {entry.slice.offset for entry in feed.entries if entry.slice}
    old = {one.offset for one in feed.touched}
    assert new | old == {entry.slice.offset for entry in whole.entries if entry.slice}
    assert new & old == set()
    assert head(feed) == head(whole)
