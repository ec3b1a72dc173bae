"""`feedmill canonicalize` says which address is the right one, and how that is known."""

import json

import pytest
from tests.support.command_line import Mill, paper
from tests.support.terminal import at_terminal

from feedmill_demo.server.script import Answer, document, redirect
from feedmill_demo.server.server import Publisher

RSS = document(paper("One"))


def _put(publisher: Publisher, name: str) -> tuple[str, str]:
    """A feed under a messy and a clean address; both of them."""
    publisher.script(f"/{name}/", RSS)
    publisher.script(f"/{name}", RSS)
    return publisher.url(f"/{name}/?utm_source=mail"), publisher.url(f"/{name}")


def test_the_right_address_is_printed_with_the_reason(mill: Mill, publisher: Publisher) -> None:
    messy, clean = _put(publisher, "canon-plain")

    said = mill.ok("canonicalize", messy)

    assert said.text.splitlines() == [
        clean,
        "  fetched separately, it served the same bytes (content_verified)",
    ]
    assert not mill.home.exists()


@pytest.mark.parametrize(
    ("target", "budget", "words"),
    [
        ("/canon-other", "3", "was not taken: another feed, HTTP 200"),
        ("/canon-nowhere", "3", "was not taken: not-found"),
        ("/canon-other", "0", "was not requested: no request was left (--budget)"),
    ],
)
def test_a_self_url_that_was_not_taken_is_named_with_the_reason(
    mill: Mill, publisher: Publisher, target: str, budget: str, words: str
) -> None:
    named = publisher.url(target)
    publisher.script("/canon-other", document(paper("Two")))
    link = f'<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="self" href="{named}"/>'
    body = paper("One").replace(b"</title>", f"</title>{link}".encode(), 1)
    publisher.script("/canon-self", document(body))

    said = mill.ok("canonicalize", "--budget", budget, publisher.url("/canon-self"))

    assert f"its self URL {named} {words}" in said.text


def test_the_budget_is_a_promise(mill: Mill, publisher: Publisher) -> None:
    messy, _ = _put(publisher, "canon-budget")

    said = mill.ok("canonicalize", "--budget", "0", messy)

    assert said.text.splitlines()[0] == messy
    assert len(publisher.requests_to("/canon-budget/")) == 1
    assert publisher.requests_to("/canon-budget") == ()


def test_programs_get_the_verdict_and_with_explain_everything(
    mill: Mill, publisher: Publisher
) -> None:
    messy, clean = _put(publisher, "canon-json")

    short = mill.json("canonicalize", messy)
    long = mill.json("canonicalize", "--explain", "--keep-http", messy)

    assert (short["url"], short["reason"], short["level"]) == (clean, "content_verified", 4)
    assert "candidates" not in short
    assert long["candidates"][0]["verdict"] == "chosen"
    assert [one["role"] for one in long["asked"]] == ["input", "variant"]


def test_several_addresses_are_a_list_and_one_that_is_no_feed_is_a_failure(
    mill: Mill, publisher: Publisher
) -> None:
    messy, clean = _put(publisher, "canon-several")
    gone = publisher.url("/canon-gone")

    said = mill("canonicalize", messy, gone, "--json")

    first, second = said.json["items"]
    assert said.status == 1
    assert first["url"] == clean
    assert (second["input_url"], second["error"]["code"]) == (gone, "not-found")


def test_what_is_no_feed_is_said_with_a_way_out(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/canon-page", document(b"<html><body>Hi</body></html>", "text/html"))
    page = publisher.url("/canon-page")

    said, told = mill("canonicalize", page), mill("canonicalize", page, "--json")

    assert (said.status, said.text) == (1, "")
    assert page in said.err
    assert "feedmill add" in said.err
    assert (told.status, told.error["code"]) == (1, "not-a-feed")
    assert "feedmill add" in told.error["hint"]


def test_an_address_that_is_none_is_not_asked_for(mill: Mill) -> None:
    said = mill("canonicalize", "not an address", "--json")

    assert (said.status, said.error["code"]) == (1, "malformed-url")


def test_the_explanation_follows_the_search_step_by_step(mill: Mill, publisher: Publisher) -> None:
    messy, clean = _put(publisher, "canon-explain")

    lines = mill.ok("canonicalize", "--explain", messy).text.splitlines()

    rows = [line.split("\t") for line in lines if "\t" in line]
    assert lines[0] == messy
    assert [(row[1], row[-1]) for row in rows[:2]] == [
        (clean, "chosen"),
        (f"{clean}/", "not tried"),
    ]
    assert [row[:2] for row in rows[3:]] == [["1", "as given"], ["2", "cleaner"], ["3", "https"]]
    assert lines[-4:-1] == [
        clean,
        "  fetched separately, it served the same bytes (content_verified)",
        "  it comes from where the server answered, spelt by feed-aggressive; 2 requests after the first",
    ]


def test_a_redirect_is_shown_with_its_end(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/canon-old", redirect("/canon-new"))
    publisher.script("/canon-new", RSS)

    lines = mill.ok("canonicalize", "--explain", publisher.url("/canon-old")).text.splitlines()

    first = next(line.split("\t") for line in lines if line.startswith("1\t"))
    assert first[2:5] == [publisher.url("/canon-old"), "200", publisher.url("/canon-new")]


def test_a_failed_search_is_explained_too(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/canon-busy", Answer(status=503))

    said = mill("canonicalize", "--explain", publisher.url("/canon-busy"))

    assert said.status == 1
    assert "1\tas given" in said.text
    assert "unavailable" in said.err


@pytest.mark.parametrize(
    ("option", "url"),
    [
        (("--preset", "feed-conservative"), "/canon-opt/?id=1"),
        (("--preset", "feed-bare"), "/canon-opt"),
        (("--keep-www", "--keep-http"), "/canon-opt?id=1"),
        (("--rewrite", "feedburner", "--rewrite", "blogger"), "/canon-opt?id=1"),
        (("--probe", "wordpress"), "/canon-opt?id=1"),
    ],
)
def test_options_change_what_is_tried(
    option: tuple[str, ...], url: str, mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/canon-opt", RSS)
    publisher.script("/canon-opt/", RSS)

    said = mill.ok("canonicalize", *option, publisher.url("/canon-opt/?id=1&utm_source=x"))

    assert said.text.splitlines()[0] == publisher.url(url)


def test_without_the_signature_a_stamp_makes_another_feed(mill: Mill, publisher: Publisher) -> None:
    stamp = "<rss version='2.0'><channel><lastBuildDate>{}</lastBuildDate><item><guid>1</guid></item></channel></rss>"
    publisher.script("/canon-stamp", document(stamp.format(1).encode()))
    publisher.script("/canon-stamp/", document(stamp.format(2).encode()))
    messy = publisher.url("/canon-stamp/")

    with_it = mill.json("canonicalize", messy)
    without = mill.json("canonicalize", "--no-signature", messy)

    assert (with_it["reason"], without["url"]) == ("signature_verified", messy)


@pytest.mark.parametrize(
    "words", [("--budget", "-1"), ("--rewrite", "tumblr"), ("--preset", "tidy")]
)
def test_an_option_that_does_not_exist_is_wrong_usage(words: tuple[str, ...], mill: Mill) -> None:
    assert mill("canonicalize", *words, "https://paper.example/").status == 2


def test_credentials_are_not_repeated(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/canon-secret", RSS)
    given = publisher.url("/canon-secret").replace("://", "://me:secret@")

    said = mill.ok("canonicalize", "--explain", given)

    assert "secret@" not in said.text
    assert publisher.requests_to("/canon-secret")[0].header("authorization") is not None


@pytest.mark.parametrize("columns", ["80", "120"])
def test_on_a_terminal_every_address_can_be_read_whole(
    columns: str, mill: Mill, publisher: Publisher
) -> None:
    messy, clean = _put(publisher, "canon-a-rather-long-name-for-a-feed")

    status, shown = at_terminal(
        "canonicalize", "--explain", messy, folder=mill.folder, COLUMNS=columns, TERM="dumb"
    )

    assert status == 0
    assert "…" not in shown
    tables = shown[: shown.rindex(clean)]
    assert all(len(line.rstrip()) <= int(columns) for line in tables.splitlines()[1:])


def test_json_is_one_document(mill: Mill, publisher: Publisher) -> None:
    messy, _ = _put(publisher, "canon-one")

    assert json.loads(mill.ok("canonicalize", messy, "--json").out)["input_url"] == messy
