"""The named recipes, against values worked out by hand with sha256sum.

Fields that a publisher changes with every request: how they are learnt, and what counts then.
"""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.config import IdentifyConfig
from feedmill.identify.hashes import (
    article_hash,
    article_version,
    as_utc,
    content_hash,
    content_version,
    fallback_hash,
    field_digests,
    item_hash,
    learn_volatile,
    mask_numbers,
    native_hash,
    recipe_of,
    title_hash,
    uid_hash,
    volatile_in_words,
    volatile_levels,
)
from feedmill.identify.keys import identify
from feedmill.model.entry import Author, Entry, EntryEnclosure, Finding
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
from feedmill.model.parsed import Slice

NOON = datetime(2024, 5, 6, 12, 30, tzinfo=UTC)
LINK = "https://news.example/story"
STORY = Entry(
    title="A  Small   Story",
    link=LINK,
    canonical_link=LINK,
    article_link=LINK,
    summary="It happened again.",
    published=NOON,
    categories=("b", "a"),
)
NOON_VOLATILE = datetime(2026, 3, 1, 12, tzinfo=UTC)
_SEEN = identify((Entry(guid="x"),), FeedIdentity(feed_id="f", feed_key="k"), IdentifyConfig())[0]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def changed(**fields: object) -> Entry:
    return msgspec.structs.replace(STORY, **fields)


def test_an_article_is_its_title_link_date_and_the_head_of_its_summary() -> None:
    digest = article_hash(STORY)

    assert digest == sha256(
        "a small story|https://news.example/story|2024-05-06T12:30:00+00:00|It happened again."
    )


def test_an_undated_article_has_a_constant_of_its_link_instead_of_a_date() -> None:
    digest = article_hash(changed(published=None))

    stamp = f"fallback:{sha256(LINK)[:8]}"
    assert digest == sha256(f"a small story|{LINK}|{stamp}|It happened again.")


def test_an_article_is_dated_by_its_update_only_when_it_was_never_published() -> None:
    later = NOON + timedelta(days=1)

    assert article_hash(changed(published=None, updated=NOON)) == article_hash(STORY)
    assert article_hash(changed(updated=later)) == article_hash(STORY)
    assert article_hash(changed(published=later)) != article_hash(STORY)


def test_the_effective_date_is_no_part_of_an_article() -> None:
    seen = changed(published_effective=NOON + timedelta(days=9), published_source="first_seen")

    assert article_hash(seen) == article_hash(STORY)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(changed(title="a SMALL story"), id="case"),
        pytest.param(changed(title="\n A\tsmall\u00a0story "), id="white space"),
        pytest.param(changed(title="Ａ small ｓｔｏｒｙ"), id="full width"),
        pytest.param(changed(summary=" It  happened\nagain. "), id="white space of the summary"),
        pytest.param(changed(content="<p>It <em>happened</em></p>"), id="markup of the content"),
        pytest.param(
            changed(published=NOON.astimezone(timezone(timedelta(hours=-5)))), id="another zone"
        ),
        pytest.param(changed(article_link=None), id="link of last resort"),
    ],
)
def test_trivial_variations_are_one_article(entry: Entry) -> None:
    assert article_hash(entry) == article_hash(STORY)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(changed(title="Another"), id="title"),
        pytest.param(changed(article_link=LINK + "/2"), id="link"),
        pytest.param(changed(summary="it happened again."), id="case of the summary"),
        pytest.param(changed(published=NOON + timedelta(seconds=1)), id="a second later"),
    ],
)
def test_real_differences_are_another_article(entry: Entry) -> None:
    assert article_hash(entry) != article_hash(STORY)


def test_only_the_first_hundred_characters_of_a_summary_count() -> None:
    head = "x" * 100

    assert article_hash(changed(summary=head)) == article_hash(changed(summary=head + "tail"))
    assert article_hash(changed(summary=head), 101) != article_hash(
        changed(summary=head + "y"), 101
    )


def test_an_entry_that_says_nothing_is_no_article() -> None:
    assert article_hash(Entry(published=NOON, content="<p>only this</p>")) is None


def test_another_prefix_length_is_another_recipe() -> None:
    assert article_version() == "article-v1"
    assert article_version(120) == "article-v1/120"


@given(st.text(max_size=60), st.lists(st.sampled_from(" \t\n\u00a0\u2003"), min_size=1, max_size=4))
def test_white_space_never_changes_an_article(title: str, spaces: list[str]) -> None:
    blank = "".join(spaces)
    words = f"start {title} end"

    mutated = blank + blank.join(words.split()) + blank

    assert article_hash(changed(title=mutated)) == article_hash(changed(title=words))


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=40))
def test_case_never_changes_an_article(title: str) -> None:
    assert article_hash(changed(title=title.swapcase())) == article_hash(changed(title=title))


def test_the_fallback_is_feed_title_second_and_summary_head() -> None:
    entry = Entry(title=" A  b ", summary="s" * 300, published=NOON)

    digest = fallback_hash(entry, "https://feed.example/")

    assert digest == sha256(f"https://feed.example/|A b|2024-05-06T12:30:00Z|{'s' * 200}")


def test_the_fallback_of_an_empty_entry_is_that_of_its_feed() -> None:
    assert fallback_hash(Entry(), "feed") == sha256("feed|||")


def test_the_uid_tuple_tells_a_missing_field_from_an_empty_one() -> None:
    missing, empty = Entry(link=LINK), Entry(link=LINK, title="")

    assert uid_hash(missing, "f1") == sha256(f'["{LINK}",null,null,"f1"]')
    assert uid_hash(missing, "f1") != uid_hash(empty, "f1")
    assert uid_hash(missing, "f1") != uid_hash(missing, "f2")
    assert uid_hash(STORY, "f1") != uid_hash(changed(published=None), "f1")


def test_the_item_hash_tells_guid_link_and_text_apart() -> None:
    hashes = {
        item_hash(STORY, None, "feed"),
        item_hash(STORY, "g", "feed"),
        item_hash(STORY, "g", "other"),
        item_hash(changed(canonical_link="https://news.example/2"), "g", "feed"),
        item_hash(changed(summary="Never."), "g", "feed"),
    }

    assert len(hashes) == 5


def test_titles_are_compared_without_case_and_space_and_an_empty_one_not_at_all() -> None:
    assert title_hash(STORY) == title_hash(Entry(title="a small story"))
    assert title_hash(Entry(title="  ")) is None
    assert title_hash(Entry()) is None


def test_the_separator_between_feed_and_guid_cannot_be_forged() -> None:
    assert native_hash("b:c", "a") != native_hash("c", "a:b")


@pytest.mark.parametrize(
    ("field", "entry"),
    [
        ("title", changed(title="Other")),
        ("link", changed(canonical_link=LINK + "/2")),
        ("summary", changed(summary="Other")),
        ("content", changed(content="<p>Other</p>")),
        ("authors", changed(authors=(Author(name="Ada"),))),
        ("categories", changed(categories=("a",))),
        ("enclosures", changed(enclosures=(EntryEnclosure(url="https://news.example/a.mp3"),))),
        ("published", changed(published=None)),
        ("updated", changed(updated=NOON)),
        ("image", changed(image="https://news.example/a.png")),
        ("comments_url", changed(comments_url="https://news.example/c")),
        ("language", changed(language="en")),
    ],
)
def test_a_changed_field_changes_its_own_digest_and_the_content_hash(
    field: str, entry: Entry
) -> None:
    before, after = field_digests(STORY), field_digests(entry)

    assert {name for name, digest in set(after) - set(before)} == {field}
    assert content_hash(before) != content_hash(after)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(changed(guid="new"), id="guid"),
        pytest.param(changed(categories=("a", "b", "a")), id="order of categories"),
        pytest.param(changed(published_effective=NOON), id="effective date"),
        pytest.param(changed(slice=Slice(offset=1, length=2, digest="d")), id="place"),
        pytest.param(changed(findings=(Finding(code="script", field="title"),)), id="findings"),
        pytest.param(changed(modified=("title",)), id="what cleaning did"),
        pytest.param(changed(link=LINK + "?utm_source=rss"), id="tracking"),
    ],
)
def test_what_is_not_the_entrys_own_is_no_change(entry: Entry) -> None:
    assert field_digests(entry) == field_digests(STORY)


def test_the_content_recipe_names_its_reader() -> None:
    assert content_version() == "content-v1"
    assert content_version("parser-2") == "content-v1+parser-2"


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        pytest.param(NOON.astimezone(timezone(timedelta(hours=9))), NOON, id="another zone"),
        pytest.param(NOON.replace(tzinfo=None), NOON, id="naive is read as UTC"),
        pytest.param(
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
            datetime(1, 1, 1, tzinfo=UTC),
            id="before the first day",
        ),
    ],
)
def test_every_instant_has_a_reading_in_utc(moment: datetime, expected: datetime) -> None:
    assert as_utc(moment) == expected
    assert as_utc(moment).tzinfo is UTC


def test_lone_surrogates_can_be_hashed() -> None:
    entry = Entry(guid="\ud800", title="\ud800", summary=json.loads('"\\udfff"'))

    assert fallback_hash(entry, "feed") != fallback_hash(Entry(), "feed")
    assert article_hash(entry) is not None
    assert content_hash(field_digests(entry))


def test_a_lone_surrogate_is_hashed_like_any_other_text() -> None:
    entry = Entry(guid="1", title="\ud800", authors=(Author(name="\ud800"),))

    first, again = field_digests(entry), field_digests(entry)

    assert first == again
    assert dict(first)["authors"] != dict(field_digests(Entry(guid="1")))["authors"]


@pytest.mark.parametrize(
    "summary",
    [
        pytest.param("word " * 5_000, id="long"),
        pytest.param(" \n" * 5_000 + "late words " * 50, id="begins with white space"),
        pytest.param("a" + " " * 5_000 + "b", id="a hole in the middle"),
        pytest.param("x" * 200, id="one word of the length"),
    ],
)
def test_beginning_of_a_text_is_hashed_as_if_all_of_it_were_collapsed(summary: str) -> None:
    collapsed = " ".join(summary.split())[:200]

    assert fallback_hash(Entry(summary=summary), "feed") == sha256(f"feed|||{collapsed}")


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
        fields = learn_volatile(fields, one, NOON_VOLATILE)
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

    later = learn_volatile(fields, document(same(1)), NOON_VOLATILE + timedelta(days=89))
    assert volatile_levels(later) == {"summary": 1}
    assert learn_volatile(later, document(same(1)), NOON_VOLATILE + timedelta(days=90)) == ()


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
            updated=NOON_VOLATILE + timedelta(hours=number),
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
