"""What a publisher changed between two documents: pairs, fields, order."""

from datetime import UTC, datetime

from feedmill.config import NormaliseConfig, ParseLimits
from feedmill.identify.compare_documents import ReadDocument, compare_documents
from feedmill.model.derived.document_diff import DocumentDiff
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.normalise.entry import normalise
from feedmill.parse.document import parse_document

NOW = datetime(2025, 10, 14, 12, tzinfo=UTC)


def item(name: str, title: str = "", guid: str | None = None, link: str | None = None) -> str:
    own = name if guid is None else guid
    marked = f"<guid isPermaLink='false'>{own}</guid>" if own else ""
    address = f"https://paper.example/{name}" if link is None else link
    at = f"<link>{address}</link>" if address else ""
    return f"<item>{marked}{at}<title>{title or name}</title></item>"


def read(*items: str, head: str = "<title>Paper</title>") -> ReadDocument:
    body = f"<rss version='2.0'><channel>{head}{''.join(items)}</channel></rss>".encode()
    parsed = parse_document(RawDocument(body=body), ParseLimits())
    assert isinstance(parsed, ParsedFeed)
    clean = normalise(parsed, url=None, config=NormaliseConfig(), seen_at=NOW)
    return ReadDocument(parsed, clean)


def diff(before: ReadDocument, after: ReadDocument) -> DocumentDiff:
    return compare_documents(before, after, "key")


def changes(found: DocumentDiff) -> list[tuple[str, str | None]]:
    return [(one.change, one.title) for one in found.entries]


def test_equal_documents_differ_in_nothing() -> None:
    found = diff(read(item("a"), item("b")), read(item("a"), item("b")))

    assert found.is_empty
    assert found.unchanged == 2


def test_empty_documents_are_equal() -> None:
    assert diff(read(), read()).is_empty


def test_new_entry_at_the_top_moves_no_other() -> None:
    found = diff(read(item("a"), item("b")), read(item("c"), item("a"), item("b")))

    assert changes(found) == [("added", "c")]
    assert (found.entries[0].before, found.entries[0].after) == (None, 1)


def test_entry_that_left_is_removed() -> None:
    found = diff(read(item("a"), item("b")), read(item("b")))

    assert changes(found) == [("removed", "a")]
    assert (found.entries[0].before, found.entries[0].after) == (1, None)
    assert not found.is_empty


def test_changed_fields_have_both_values() -> None:
    found = diff(read(item("a", "Old")), read(item("a", "New", link="https://paper.example/z")))

    (entry,) = found.entries
    assert (entry.change, entry.moved) == ("changed", False)
    fields = {one.field: (one.before, one.after) for one in entry.fields}
    assert fields["link"] == ("https://paper.example/a", "https://paper.example/z")
    assert [value["value"] for value in fields["title"]] == ["Old", "New"]


def test_reordering_names_the_fewest_entries() -> None:
    before = read(item("a"), item("b"), item("c"), item("d"))

    found = diff(before, read(item("d"), item("a"), item("b"), item("c")))

    assert changes(found) == [("moved", "d")]
    assert (found.entries[0].before, found.entries[0].after) == (4, 1)
    assert found.unchanged == 3


def test_reversed_document_keeps_one_entry_in_place() -> None:
    found = diff(read(item("a"), item("b"), item("c")), read(item("c"), item("b"), item("a")))

    assert len(found.entries) == 2
    assert found.unchanged == 1


def test_new_guid_with_the_same_link_is_the_same_entry() -> None:
    found = diff(read(item("a", guid="1")), read(item("a", guid="2")))

    (entry,) = found.entries
    assert entry.change == "changed"
    assert [one.field for one in entry.fields] == ["id"]


def test_guid_on_every_entry_does_not_pair_the_wrong_ones() -> None:
    before = read(item("a", guid="same"), item("b", guid="same"))

    found = diff(before, read(item("b", guid="same"), item("c", guid="same")))

    assert changes(found) == [("added", "c"), ("removed", "a")]


def test_entries_without_any_key_of_their_own_are_paired_in_order() -> None:
    same = item("x", "Alike", guid="", link="")

    assert diff(read(same, same), read(same, same)).is_empty
    assert changes(diff(read(same, same), read(same))) == [("removed", "Alike")]


def test_fields_of_the_feed_are_compared() -> None:
    found = diff(read(item("a")), read(item("a"), head="<title>Paper</title><ttl>60</ttl>"))

    (field,) = found.feed
    assert (field.field, field.before["ttl_minutes"], field.after["ttl_minutes"]) == (
        "hints",
        None,
        60,
    )


def test_value_that_was_not_there_is_none() -> None:
    found = diff(read(head=""), read())

    (field,) = found.feed
    assert (field.field, field.before) == ("title", None)


def test_guid_that_is_an_address_is_known_under_another_scheme() -> None:
    def entry(scheme: str) -> str:
        return f"<item><guid>{scheme}://paper.example/a</guid><title>A</title></item>"

    found = diff(read(entry("http")), read(entry("https")))

    assert changes(found) == [("changed", "A")]
