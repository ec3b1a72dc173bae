"""People: one field read apart, and several people made a clean list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.entry import Author
from feedmill.model.parsed import Person
from feedmill.normalise.people import MAX_PERSON_CHARS, clean_authors, parse_person

JANE = Author(name="Jane Doe", email="jane@example.com")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("jane@example.com (Jane Doe)", id="as RSS 2.0 shows it"),
        pytest.param("Jane Doe <jane@example.com>", id="as mail shows it"),
        pytest.param('"Jane Doe" <jane@example.com>', id="quoted name"),
        pytest.param("Jane Doe <mailto:jane@example.com>", id="mailto in brackets"),
        pytest.param("Jane Doe (jane@example.com)", id="address in parentheses"),
        pytest.param("Jane Doe (mailto:jane@example.com?subject=Hi)", id="mailto with a subject"),
        pytest.param("jane@example.com <Jane Doe>", id="name in brackets"),
        pytest.param("Jane Doe, jane@example.com", id="address last"),
        pytest.param("jane@example.com - Jane Doe", id="address first"),
        pytest.param("Jane Doe [jane@example.com]", id="square brackets"),
        pytest.param("  jane@example.com\n(Jane Doe) ", id="folded"),
    ],
)
def test_a_name_and_an_address_are_told_apart(text: str) -> None:
    assert parse_person(text) == JANE


@pytest.mark.parametrize(
    ("text", "author"),
    [
        pytest.param("jane@example.com", Author(email="jane@example.com"), id="address"),
        pytest.param("MAILTO:jane@example.com", Author(email="jane@example.com"), id="mailto"),
        pytest.param("<jane@example.com>", Author(email="jane@example.com"), id="in brackets"),
        pytest.param("jane@example.com ()", Author(email="jane@example.com"), id="empty name"),
        pytest.param("j@a.org (j@a.org)", Author(email="j@a.org"), id="address for a name"),
        pytest.param("jörg@müller.example", Author(email="jörg@müller.example"), id="RFC 6531"),
        pytest.param("Jane Doe", Author(name="Jane Doe"), id="name"),
        pytest.param("Doe, Jane", Author(name="Doe, Jane"), id="name with a comma"),
        pytest.param("Jane (Reuters)", Author(name="Jane (Reuters)"), id="no address inside"),
        pytest.param("Jane <b>Doe</b>", Author(name="Jane <b>Doe</b>"), id="markup is not ours"),
        pytest.param("@jane", Author(name="@jane"), id="nickname"),
        pytest.param("DJ@Night", Author(name="DJ@Night"), id="no dot, no address"),
        pytest.param("a@b..org", Author(name="a@b..org"), id="two dots, no address"),
        pytest.param("Bob @ Acme.org", Author(name="Bob @ Acme.org"), id="at a place"),
        pytest.param("http:jane", Author(name="http:jane"), id="no host, no link"),
        pytest.param("http://[jane", Author(name="http://[jane"), id="no URL, no link"),
        pytest.param("https://a.org/j", Author(uri="https://a.org/j"), id="link"),
        pytest.param(
            "Jane (https://a.org/j)", Author(name="Jane", uri="https://a.org/j"), id="name and link"
        ),
        pytest.param(
            "j@a.org (Jane (JD) Doe)", Author(name="Jane (JD) Doe", email="j@a.org"), id="nested"
        ),
        pytest.param("", Author(), id="nothing"),
        pytest.param(" () ", Author(), id="only marks"),
    ],
)
def test_a_field_gives_what_it_holds(text: str, author: Author) -> None:
    assert parse_person(text) == author


def test_only_the_beginning_of_an_endless_field_is_read() -> None:
    assert parse_person("x" * 1_000_000) == Author(name="x" * MAX_PERSON_CHARS)


@pytest.mark.parametrize(
    "local", [pytest.param("a" * 65, id="local part"), pytest.param("a." * 150, id="whole")]
)
def test_an_address_that_is_too_long_is_a_name(local: str) -> None:
    assert parse_person(f"{local}@example.com").email is None


@pytest.mark.parametrize(
    ("person", "author"),
    [
        pytest.param(
            Person(name="Jane Doe", email="jane@example.com", uri="https://a.org/"),
            Author(name="Jane Doe", email="jane@example.com", uri="https://a.org/"),
            id="each in its field",
        ),
        pytest.param(Person(name="jane@example.com (Jane Doe)"), JANE, id="all in the name"),
        pytest.param(Person(email="jane@example.com (Jane Doe)"), JANE, id="all in the address"),
        pytest.param(
            Person(name="Jane Doe", email="jane@example.com (J.)"), JANE, id="the name field wins"
        ),
        pytest.param(Person(email="Jane Doe"), Author(name="Jane Doe"), id="a name for an address"),
        pytest.param(Person(name="Jane", email="n/a"), Author(name="Jane"), id="no address at all"),
        pytest.param(
            Person(name=" <b>Jane</b>\n\tDoe &amp;\x07 Co "),
            Author(name="Jane Doe & Co"),
            id="markup",
        ),
        pytest.param(
            Person(name="Andr&eacute;"), Author(name="André"), id="a reference at the end"
        ),
        pytest.param(Person(name="&lt;b&gt;Jane&lt;/b&gt;"), Author(name="Jane"), id="escaped"),
        pytest.param(Person(name="Jane Doe &lt;jane@example.com&gt;"), JANE, id="escaped brackets"),
        pytest.param(
            Person(name="<i>jane@example.com</i>"), Author(email="jane@example.com"), id="inside"
        ),
        pytest.param(
            Person(name=f'<a href="/{"x" * 400}">Jane</a>'), Author(name="Jane"), id="long markup"
        ),
        pytest.param(
            Person(uri="mailto:jane@example.com"),
            Author(uri="mailto:jane@example.com"),
            id="mailto is a link too",
        ),
    ],
)
def test_an_author_is_clean_whichever_field_was_used(person: Person, author: Author) -> None:
    assert clean_authors((person,), 9) == (author,)


@pytest.mark.parametrize(
    "uri",
    [
        pytest.param("javascript:alert(1)", id="script"),
        pytest.param("/jane", id="relative"),
        pytest.param("https://", id="no host"),
        pytest.param("https://a.org/ b", id="blank"),
        pytest.param('https://a.org/"onclick', id="quote"),
        pytest.param("https://a.org/\ud800", id="lone surrogate"),
        pytest.param("https://a.org/" + "x" * 3_000, id="endless"),
    ],
)
def test_a_link_that_is_none_is_left_out(uri: str) -> None:
    assert clean_authors((Person(name="Jane", uri=uri),), 9) == (Author(name="Jane"),)


def test_people_who_say_nothing_are_left_out() -> None:
    persons = (Person(), Person(name=" ", email=""), Person(name="<br/>", uri="tel:1"))

    assert clean_authors(persons, 9) == ()


def test_a_person_is_listed_once_with_all_that_is_known() -> None:
    persons = (
        Person(name="Jane Doe"),
        Person(name="Bob"),
        Person(name="JANE DOE", email="jane@example.com"),
        Person(email="Jane@Example.com", uri="https://a.org/"),
    )

    authors = clean_authors(persons, 9)

    jane = Author(name="Jane Doe", email="jane@example.com", uri="https://a.org/")
    assert authors == (jane, Author(name="Bob"))


def test_two_people_of_one_name_stay_two() -> None:
    persons = (Person(name="Jane", email="j@a.org"), Person(name="Jane", email="j@b.org"))

    assert len(clean_authors(persons, 9)) == 2


def test_the_list_of_authors_ends_at_its_limit() -> None:
    persons = tuple(Person(name=f"Author {number}") for number in range(10))

    authors = clean_authors(persons, 3)

    assert [author.name for author in authors] == ["Author 0", "Author 1", "Author 2"]


fields = st.none() | st.text(st.sampled_from("ab@.<>()[]&;:/ \"'\n") | st.characters(), max_size=40)


@given(st.lists(st.builds(Person, name=fields, email=fields, uri=fields), max_size=5))
def test_any_people_give_authors_that_say_something(persons: list[Person]) -> None:
    authors = clean_authors(tuple(persons), 4)

    assert len(authors) <= min(4, len(persons))
    assert Author() not in authors
    assert all(author.email is None or author.email.count("@") == 1 for author in authors)
