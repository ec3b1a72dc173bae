"""Fields that a publisher changes with every request: how they are learnt, and what counts then."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.config import IdentifyConfig
from feedmill.identify.hashes import content_version, field_digests
from feedmill.identify.identify import identify
from feedmill.identify.volatile import (
    learn_volatile,
    mask_numbers,
    recipe_of,
    volatile_in_words,
    volatile_levels,
)
from feedmill.model.entry import Entry, EntryEnclosure
from feedmill.model.feed import VolatileField
from feedmill.model.identity import (
    Added,
    Change,
    Changes,
    ChangeSummary,
    FeedIdentity,
    IdentityKey,
    KnownEntry,
    Revised,
    UnchangedEntry,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_SEEN = identify((Entry(guid="x"),), FeedIdentity(feed_id="f", feed_key="k"), IdentifyConfig())[0]


def known(entry_id: int) -> KnownEntry:
    return KnownEntry(entry_id=entry_id, entry_uid=f"u{entry_id}", feed_id="f")


def revised(entry_id: int, *fields: str, restored: bool = False) -> Revised:
    return Revised(
        known=known(entry_id),
        seen=_SEEN,
        matched_by="guid",
        changed=fields,
        new_keys=(),
        article="same",
        restored=restored,
    )


def same(entry_id: int, *, new_guid: bool = False) -> UnchangedEntry:
    keys = (IdentityKey(type="guid", value="g"),) if new_guid else ()
    return UnchangedEntry(known=known(entry_id), matched_by="guid", new_keys=keys)


def document(*changes: Change) -> Changes:
    return Changes(changes=changes, summary=ChangeSummary())


def learnt(*documents: Changes) -> tuple[VolatileField, ...]:
    fields: tuple[VolatileField, ...] = ()
    for one in documents:
        fields = learn_volatile(fields, one, NOON)
    return fields


def levels(*documents: Changes) -> dict[str, int]:
    return volatile_levels(learnt(*documents))


def test_a_field_that_differs_in_most_entries_three_times_in_a_row_is_masked() -> None:
    counting = document(revised(1, "summary"), revised(2, "summary", "title"), same(3))

    assert levels(counting, counting) == {}
    assert levels(counting, counting, counting) == {"summary": 1}


def test_one_entry_that_always_differs_takes_six_documents() -> None:
    counting = document(revised(1, "summary"), *(same(number) for number in range(2, 9)))

    assert levels(*[counting] * 5) == {}
    assert levels(*[counting] * 6) == {"summary": 1}


def test_edits_of_one_entry_after_the_other_teach_nothing() -> None:
    edits = [
        document(revised(number, "content"), *(same(other) for other in range(20, 30)))
        for number in range(12)
    ]

    assert levels(*edits) == {}


def test_a_document_in_which_nothing_differs_ends_the_row() -> None:
    counting = document(revised(1, "summary"), revised(2, "summary"))

    assert levels(counting, counting, document(same(1), same(2)), counting, counting) == {}
    assert learnt(counting, document(same(1), same(2))) == ()


def test_new_entries_alone_say_nothing() -> None:
    counting = document(revised(1, "summary"), revised(2, "summary"))
    new = Added(seen=_SEEN, entry_uid="n", new_keys=(), article="new")

    assert levels(counting, counting, document(new), counting) == {"summary": 1}


def test_what_came_back_or_cannot_be_compared_says_nothing() -> None:
    back = document(revised(1, "summary", restored=True), revised(2, "unknown"))

    assert learnt(*[back] * 6) == ()


def test_a_masked_field_that_still_differs_in_most_entries_is_ignored() -> None:
    random = document(*(revised(number, "content") for number in range(4)))

    assert levels(*[random] * 6) == {"content": 2}
    assert levels(*[random] * 12) == {"content": 2}


@pytest.mark.parametrize(
    "later",
    [
        document(revised(1, "content"), *(same(number) for number in range(2, 9))),
        document(revised(1, "content"), same(2)),  # too few entries to say so
    ],
    ids=["one of many", "one of two"],
)
def test_a_masked_field_of_few_entries_stays_masked(later: Changes) -> None:
    counting = document(revised(1, "content"), revised(2, "content"))

    assert levels(*[counting] * 3, *[later] * 9) == {"content": 1}


def test_a_guid_that_is_always_new_is_no_identity() -> None:
    assert levels(*[document(same(1, new_guid=True), same(2, new_guid=True))] * 3) == {"guid": 1}


def test_what_was_learnt_is_forgotten_after_ninety_days() -> None:
    counting = document(revised(1, "summary"), revised(2, "summary"))
    fields = learnt(*[counting] * 3)

    later = learn_volatile(fields, document(same(1)), NOON + timedelta(days=89))
    assert volatile_levels(later) == {"summary": 1}
    assert learn_volatile(later, document(same(1)), NOON + timedelta(days=90)) == ()


def test_only_so_many_entries_are_followed() -> None:
    (field,) = learnt(document(*(revised(number, "title") for number in range(50))))

    assert len(field.entries) == 16


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234 views", "999 views"),
        ("read at 12:34:56", "read at 9:01:07"),
        ("<p>request a1b2-c3</p>", "<p>request 77ff-e0</p>"),
        ("https://x.example/a.mp3?token=9f3a&e=17", "https://x.example/a.mp3?token=1b2c&e=18"),
    ],
)
def test_texts_that_differ_in_numbers_and_ids_are_the_same_when_masked(
    one: str, other: str
) -> None:
    assert mask_numbers(one) == mask_numbers(other)


def test_words_count_when_masked() -> None:
    assert mask_numbers("3 dead") != mask_numbers("3 wounded")


def test_only_what_lasts_of_volatile_fields_is_hashed() -> None:
    def entry(number: int, text: str = "read") -> Entry:
        return Entry(
            title=f"Title {number}",
            summary=f"{text} {number} times",
            updated=NOON + timedelta(hours=number),
            enclosures=(EntryEnclosure(url=f"https://x.example/a?t={number}"),),
            categories=(f"c{number}",),
        )

    volatile = {"summary": 1, "updated": 1, "enclosures": 1, "title": 2, "image": 1}

    def differing(one: Entry, other: Entry) -> list[str]:
        pairs = zip(field_digests(one, volatile), field_digests(other, volatile), strict=True)
        return [a[0] for a, b in pairs if a != b]

    assert differing(entry(1), entry(2)) == ["categories"]
    assert differing(entry(1), entry(1, "heard")) == ["summary"]


def test_the_name_of_a_hash_says_what_counts_little() -> None:
    version = content_version("r", {"updated": 1, "summary": 2})

    assert version == "content-v1+r~summary:2,updated:1"
    assert recipe_of(version) == ("content-v1+r", {"summary": "2", "updated": "1"})
    assert recipe_of("content-v1+r") == ("content-v1+r", {})
    assert recipe_of(None) == ("", {})


def test_each_field_in_words() -> None:
    fields = [
        VolatileField(name="guid", level=1),
        VolatileField(name="updated", level=1),
        VolatileField(name="comments_url", level=2),
        VolatileField(name="summary", level=1),
        VolatileField(name="title", row=2),
    ]

    assert [sentence.partition(": ")[2] for sentence in volatile_in_words(fields)] == [
        "entries are recognised by their links.",
        "a change of it is stored but not announced.",
        "a change of it is stored but not announced.",
        "a change of its numbers and ids alone is stored but not announced.",
    ]
    assert "the comments url of entries" in volatile_in_words(fields)[2]
