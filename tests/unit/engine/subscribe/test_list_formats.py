"""Lists of feeds from other programs and from strangers: read in every shape, never trusted."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.engine.subscribe.list_formats import Outline, read_list, write_opml

BODY = "<opml version='2.0'><body>{}</body></opml>"
ONE = "https://one.example/feed"


def opml(inside: str) -> bytes:
    return BODY.format(inside).encode()


def urls(data: bytes) -> list[str]:
    return [outline.url for outline in read_list(data)]


def test_folders_become_tags_from_the_outside_in() -> None:
    (outline,) = read_list(
        opml(
            f"<outline text='News'><outline title='Local'><outline text='One' xmlUrl='{ONE}'"
            " htmlUrl='https://one.example/'/></outline></outline>"
        )
    )

    assert outline == Outline(
        url=ONE, title="One", site="https://one.example/", tags=("News", "Local")
    )


def test_attributes_are_read_in_any_case_and_categories_are_tags() -> None:
    (outline,) = read_list(opml(f"<outline XMLURL=' {ONE} ' TITLE='One' category='/a/b, c,,'/>"))

    assert outline == Outline(url=ONE, title="One", tags=("a/b", "c"))


def test_an_address_that_is_listed_twice_is_taken_once_at_its_first_place() -> None:
    outline = f"<outline xmlUrl='{ONE}' text='One'/>"
    data = opml(f"{outline}<outline xmlUrl='x'/><outline text='a folder'>{outline}</outline>")

    assert read_list(data) == [Outline(url=ONE, title="One", tags=("a folder",)), Outline(url="x")]


def test_lists_inside_lists_are_not_followed() -> None:
    data = opml(
        f"<outline type='include' url='https://x.example/l.opml'/><outline xmlUrl='{ONE}'/>"
    )

    assert urls(data) == [ONE]


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE opml [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE opml SYSTEM "http://127.0.0.1:9/evil.dtd">',
        '<!DOCTYPE opml [<!ENTITY a "aaaa"><!ENTITY x "&a;&a;&a;&a;&a;&a;">]>',
    ],
)
def test_a_doctype_defines_nothing_and_opens_nothing(doctype: str) -> None:
    data = doctype.encode() + opml(f"<outline text='&x;root' xmlUrl='{ONE}'/>")

    (outline,) = read_list(data)

    assert outline.url == ONE
    assert "aaaa" not in (outline.title or "")
    assert "root:" not in (outline.title or "")


def test_folders_nested_a_hundred_thousand_deep_cost_nothing_but_themselves() -> None:
    deep = "<outline text='f'>" * 100_000 + "</outline>" * 100_000

    found = read_list(opml(f"<outline xmlUrl='{ONE}'/>{deep}"))

    assert [outline.url for outline in found] == [ONE]


def test_attributes_that_no_list_has_are_not_looked_at() -> None:
    """To go through 100,000 attributes of an element, lxml looks at each of them 100,000 times."""
    unknown = " ".join(f'a{number}="x"' for number in range(100_000))

    assert read_list(opml(f"<outline {unknown} xmlUrl='{ONE}' title='One'/>")) == [
        Outline(url=ONE, title="One")
    ]


def test_only_so_many_tags_are_kept_of_a_feed_that_is_listed_again_and_again() -> None:
    listed = "".join(f"<outline xmlUrl='{ONE}' category='{n}'/>" for n in range(5_000))
    crowded = ",".join(map(str, range(100_000)))

    (again,) = read_list(opml(listed))
    (many,) = read_list(opml(f"<outline xmlUrl='{ONE}' category='{crowded}'/>"))

    assert len(again.tags) == len(many.tags) == 50


def test_names_of_megabytes_are_cut_before_they_are_stored_with_each_feed() -> None:
    folder, title, site = "f" * 1_000_000, "t" * 1_000_000, f"http://h.example/{'s' * 1_000_000}"
    opml = (
        f'<opml version="2.0"><body><outline text="{folder}"><outline xmlUrl="http://a.example/"'
        f' title="{title}" htmlUrl="{site}"/></outline></body></opml>'
    )
    as_json = json.dumps([{"url": "http://a.example/", "title": title, "tags": [folder]}])

    for data in (opml, as_json):
        (found,) = read_list(data.encode())

        assert (found.title, found.site, found.tags) == ("t" * 1_000, None, ("f" * 100,))


def test_list_of_too_many_feeds_is_refused() -> None:
    with pytest.raises(ValueError, match="split it"):
        read_list(b"\n".join(b"http://a.example/%d" % number for number in range(200_001)))


@pytest.mark.parametrize(
    ("data", "refusal"),
    [
        (b"<" * 5_000_000, "tags"),  # took 440 MB
        (opml("<a/>" * 1_200_000), "tags"),
        (opml("<o " + "a='' " * 1_100_000 + "/>"), "attributes"),
        (b"[" + b"{}," * 1_600_000 + b"1]", "values"),
        (b"a\n" * 2_500_000, "feeds"),  # took 160 MB
    ],
    ids=["brackets", "elements", "attributes", "values", "lines"],
)
def test_list_whose_tree_would_take_hundreds_of_megabytes_is_refused_before_it_is_parsed(
    data: bytes, refusal: str
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"{refusal}; split it"):
            read_list(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 100 * 1024 * 1024


def test_only_so_many_folders_become_tags() -> None:
    nested = "".join(f"<outline text='f{n}'>" for n in range(50))

    (outline,) = read_list(opml(f"{nested}<outline xmlUrl='{ONE}'/>{'</outline>' * 50}"))

    assert outline.tags == tuple(f"f{n}" for n in range(8))


def test_ten_thousand_feeds_are_read() -> None:
    many = "".join(f"<outline xmlUrl='https://f{n}.example/'/>" for n in range(10_000))

    assert len(read_list(opml(many))) == 10_000


def test_a_broken_list_gives_what_can_be_read() -> None:
    data = b"<opml><body><outline xmlUrl='https://a.example/?x=1&y=2' text='A & B'><outline"

    assert urls(data) == ["https://a.example/?x=1&y=2"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_a_list_is_read_in_its_own_encoding(encoding: str) -> None:
    name = encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{name}'?>" + BODY.format(
        f"<outline text='Zürich' xmlUrl='{ONE}'/>"
    )

    (outline,) = read_list(text.encode(encoding))

    assert outline.title == "Zürich"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([ONE, " x "], [ONE, "x"]),
        ([{"url": ONE}, {"feed_url": "x"}, {"xmlUrl": "y"}], [ONE, "x", "y"]),
        ({"feeds": [ONE]}, [ONE]),
        ({"seeds": [ONE]}, [ONE]),
        ({"items": [{"url": ONE}], "next": None}, [ONE]),
        ({"One": ONE}, [ONE]),
        ([ONE, 7, None, {}, {"url": 7}, ["x"], ""], [ONE]),
    ],
)
def test_json_is_read_in_its_usual_shapes(value: object, found: list[str]) -> None:
    assert urls(json.dumps(value).encode()) == found


def test_titles_and_tags_of_json_are_kept() -> None:
    data = json.dumps(
        [{"url": "a", "title": "A", "tags": ["x", "x", " y "]}, {"url": "b", "name": "B", "tags": "p,q"},
         {"url": "c", "tags": 7}]
    ).encode()  # fmt: skip

    assert read_list(data) == [
        Outline(url="a", title="A", tags=("x", "y")),
        Outline(url="b", title="B", tags=("p", "q")),
        Outline(url="c"),
    ]


def test_lines_have_comments_blanks_and_words_behind_the_address() -> None:
    data = f"\ufeff# mine\r\n\r\n  {ONE}  the first\nfeed://two.example/\n".encode()

    assert urls(data) == [ONE, "feed://two.example/"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no feed address"),
        (b"   \n#nothing\n", "no feed address"),
        (b"[]", "no feed address"),
        (b"{", "begins like JSON"),
        (b"<rss><channel/></rss>", "<rss>"),
        (b"<", "begins like XML"),
        (b"<opml><body/></opml>", "no feed address"),
        (b"x" * (20 * 1024 * 1024 + 1), "too large"),
    ],
)
def test_what_is_no_list_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_list(data)


@given(
    st.lists(
        st.builds(
            Outline,
            url=st.integers(0, 10**6).map(lambda n: f"https://f.example/?a={n}&b=<>\"'"),
            title=st.none() | st.text(min_size=1, max_size=20),
            tags=st.lists(st.sampled_from(["a", "b & c", "<d>", "e/f"]), unique=True).map(tuple),
        ),
        min_size=1,
        unique_by=lambda outline: outline.url,
    )
)
def test_what_is_written_is_read_back(outlines: list[Outline]) -> None:
    back = read_list(write_opml(outlines))

    assert {one.url: set(one.tags) for one in back} == {one.url: set(one.tags) for one in outlines}


def test_a_feed_without_a_title_is_read_back_without_one() -> None:
    outlines = [Outline(url=ONE), Outline(url="https://a.example/feed", title="A")]

    assert read_list(write_opml(outlines)) == outlines


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_fail_in_another_way(data: bytes) -> None:
    try:
        found = read_list(data)
    except ValueError:
        return

    assert found
