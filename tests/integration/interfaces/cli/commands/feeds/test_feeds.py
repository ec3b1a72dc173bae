"""Subscribing by hand and by list, and looking at what is subscribed to."""

import json
from pathlib import Path

import pytest
from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher

OPML = """<?xml version="1.0"?><opml version="2.0"><body>
<outline text="News"><outline text="Local">
<outline type="rss" text="One" xmlUrl="https://one.example/feed" htmlUrl="https://one.example/"/>
</outline></outline>
<outline type="rss" title="Two" XMLURL="https://two.example/feed" category="/fun,/maps"/>
<outline type="include" url="https://other.example/list.opml"/>
<outline type="rss" text="Bad" xmlUrl="http://192.168.1.1/feed"/>
</body></opml>"""


def test_init_makes_the_home_folder_and_says_what_to_do_next(mill: Mill) -> None:
    first = mill.ok("init")
    second = mill.json("init")

    assert (mill.home / "feedmill.db").exists()
    assert "feedmill add" in first.text
    assert second["feeds"] == 0


def test_an_address_is_added_once_under_any_spelling(mill: Mill) -> None:
    first = mill.json("add", "--as-is", "feed://one.example/rss", "--tag", "news")
    again = mill.json("add", "--as-is", "https://ONE.example/rss#top")

    assert first["created"]
    assert not again["created"]
    assert again["id"] == first["id"]
    assert again["tags"] == ["news"]


def test_a_private_address_is_refused_with_the_way_out(mill: Mill) -> None:
    mill.setenv(FEEDMILL_EGRESS_ALLOW_CIDRS="")

    said = mill("add", "--as-is", "http://127.0.0.1:8080/feed", "--json")
    spoken = mill("add", "--as-is", "http://printer.local/feed")

    assert said.status == 2
    assert said.error["code"] == "private-address"
    assert "FEEDMILL_EGRESS_ALLOW_CIDRS" in said.error["hint"]
    assert "FEEDMILL_EGRESS_ALLOW_CIDRS" in spoken.err


def test_nothing_is_added_when_one_address_is_bad_and_all_bad_ones_are_named(mill: Mill) -> None:
    said = mill(
        "add", "--as-is", "https://one.example/feed", "no address", "ftp://two.example/feed"
    )

    assert said.status == 2
    assert "no address" in said.err
    assert "ftp://two.example/feed" in said.err
    assert mill.json("list")["items"] == []


def test_credentials_in_an_address_are_kept_apart_from_it_and_sent(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/members", document(paper("a")))
    address = publisher.url("/members").replace("://", "://ann:s%20cret@")

    added = mill.json("add", "--as-is", address)
    mill.ok("sync")

    assert added["url"] == publisher.url("/members")
    assert added["overrides"]["has_credentials"]
    assert publisher.requests_to("/members")[0].header("authorization") == "Basic YW5uOnMgY3JldA=="
    told = (mill.home / "out").rglob("*.ndjson")
    assert not any("s%20cret" in path.read_text() for path in told)


def test_overrides_are_shown_by_what_they_change_and_not_by_what_they_hold(mill: Mill) -> None:
    added = mill.json(
        "add", "--as-is", "https://one.example/feed", "--header", "X-Key: hush", "--min-interval", "3600",
        "--insecure",
    )  # fmt: skip
    listed = mill.ok("list")

    assert added["overrides"]["header_names"] == ["X-Key"]
    assert added["schedule"]["min_interval_sec"] == 3600
    assert "hush" not in str(added)
    assert "TLS unverified" in listed.text


@pytest.mark.parametrize(
    "options",
    [("--header", "no-colon"), ("--min-interval", "0"), ("--min-interval", "9", "--max-interval", "3")],
)  # fmt: skip
def test_overrides_that_make_no_sense_are_refused(mill: Mill, options: tuple[str, ...]) -> None:
    said = mill("add", "--as-is", "https://one.example/feed", *options, "--json")

    assert (said.status, said.error["code"]) == (2, "usage")


def test_folders_of_an_opml_become_tags_and_a_bad_address_costs_itself_only(mill: Mill) -> None:
    Path("list.opml").write_text(OPML)

    result = mill.json("import", "--as-is", "list.opml", "--tag", "mine")
    spoken = mill.ok("import", "--as-is", "list.opml")

    tags = {item["url"]: item["tags"] for item in mill.json("list")["items"]}
    assert (result["total"], result["added"], result["existing"]) == (3, 2, 0)
    assert result["failed"][0]["reason"] == "private-address"
    assert tags["https://one.example/feed"] == ["Local", "News", "mine"]
    assert tags["https://two.example/feed"] == ["fun", "maps", "mine"]
    assert "0 added, 2 already subscribed, 1 rejected" in spoken.text


@pytest.mark.parametrize(
    "text",
    [
        '["https://one.example/feed", "https://two.example/feed"]',
        '{"feeds": [{"url": "https://one.example/feed"}, {"feed_url": "https://two.example/feed"}]}',
        '{"One": "https://one.example/feed", "Two": "https://two.example/feed"}',
        "# mine\nhttps://one.example/feed  the first\n\nhttps://two.example/feed\n",
    ],
    ids=["strings", "objects", "names", "lines"],
)
def test_other_lists_are_imported_too_from_standard_input(mill: Mill, text: str) -> None:
    said = mill.ok("import", "--as-is", "-", "--json", stdin=text.encode())

    assert said.json["added"] == 2


def test_what_is_no_list_is_refused_and_named(mill: Mill) -> None:
    Path("feed.xml").write_bytes(paper("a"))

    said = mill("import", "--as-is", "feed.xml", "--json")

    assert (said.status, said.error["code"]) == (2, "bad-list")
    assert "<rss>" in said.error["message"]


def test_a_list_of_nothing_but_bad_addresses_fails(mill: Mill) -> None:
    said = mill("import", "--as-is", "-", stdin=b"http://10.0.0.1/feed\n")

    assert said.status == 1


@pytest.mark.parametrize("form", ["opml", "json"])
def test_what_is_exported_can_be_imported_elsewhere(mill: Mill, form: str) -> None:
    mill.ok(
        "add", "--as-is", "https://one.example/feed?a=1&b=2", "--title", "A & <B>", "--tag", "x y"
    )
    mill.ok("add", "--as-is", "https://two.example/feed", "--tag", "a", "--tag", "b")
    before = mill.json("export")["items"]

    if form == "opml":
        mill.ok("export", "-o", "list.opml")
        data = Path("list.opml").read_bytes()
        assert mill.ok("export").out == data
    else:
        data = mill.ok("export", "--json").out
    mill.setenv(FEEDMILL_HOME=str(mill.folder / "other"))
    mill.ok("import", "--as-is", "-", stdin=data)

    after = mill.json("export")["items"]
    assert [{**one, "title": one["title"] or one["url"]} for one in before] == [
        {**one, "title": one["title"] or one["url"]} for one in after
    ]


def test_an_export_can_be_narrowed_to_a_tag(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed", "--tag", "a")
    mill.ok("add", "--as-is", "https://two.example/feed")

    found = mill.json("export", "--tag", "a")

    assert [item["url"] for item in found["items"]] == ["https://one.example/feed"]


def test_a_file_that_cannot_be_written_is_a_clear_error(mill: Mill) -> None:
    said = mill("export", "-o", "nowhere/list.opml", "--json")
    spoken = mill("export", "-o", "nowhere/list.opml")

    assert said.status == 0  # JSON goes to standard output
    assert spoken.status == 1
    assert "nowhere" in spoken.err


def test_lists_are_read_page_by_page(mill: Mill) -> None:
    mill.ok(
        "import", "--as-is", "-", stdin=b"".join(b"https://f%d.example/\n" % n for n in range(5))
    )

    first = mill.json("list", "--limit", "3")
    second = mill.json("list", "--limit", "3", "--after", first["next"])

    urls = {item["url"] for page in (first, second) for item in page["items"]}
    assert (len(first["items"]), len(second["items"]), len(urls)) == (3, 2, 5)
    assert second["next"] is None
    assert "--after" in mill.ok("list", "--limit", "3").err


def test_a_cursor_of_another_list_is_refused(mill: Mill) -> None:
    said = mill("entries", "--after", "nonsense", "--json")

    assert (said.status, said.error["code"]) == (2, "bad-cursor")


def test_an_empty_list_says_how_to_begin(mill: Mill) -> None:
    assert "feedmill add" in mill.ok("list").text
    assert mill.json("list") == {"items": [], "next": None}


@pytest.mark.parametrize("name", ["id", "beginning", "end", "address", "title"])
def test_a_feed_is_named_by_id_beginning_end_address_or_title(mill: Mill, name: str) -> None:
    added = mill.json("add", "--as-is", "https://one.example/feed", "--title", "One Paper")
    mill.ok("add", "--as-is", "https://two.example/feed")
    names = {
        "id": added["id"],
        "beginning": added["id"][:18],
        "end": added["id"][-12:],
        "address": "https://one.example/feed",
        "title": "one paper",
    }

    shown = mill.json("show", names[name])

    assert shown["id"] == added["id"]
    assert shown["aliases"] == ["https://one.example/feed"]


def test_a_name_that_fits_several_feeds_is_refused(mill: Mill) -> None:
    mill.ok("import", "--as-is", "-", stdin=b"https://one.example/\nhttps://two.example/\n")

    said = mill("show", "0", "--json")

    assert (said.status, said.error["code"]) == (2, "usage")


def test_an_unknown_feed_is_a_no_with_a_hint(mill: Mill) -> None:
    said = mill("show", "nobody", "--json")
    spoken = mill("show", "nobody")

    assert said.status == 1
    assert said.error == {
        "code": "not-found",
        "message": "there is no feed 'nobody'",
        "hint": "`feedmill list` lists them",
    }
    assert spoken.err == "feedmill: there is no feed 'nobody'\n  `feedmill list` lists them\n"


def test_a_feed_is_shown_with_the_names_of_the_specification(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed")

    shown = mill.json("show", "https://one.example/feed")
    spoken = mill.ok("show", "https://one.example/feed")

    assert {"id", "url", "type", "validators", "schedule", "publisher_hints", "stats"} <= set(shown)
    assert {"interval_sec", "min_interval_sec", "reason", "retry_after_sec"} <= set(
        shown["schedule"]
    )
    assert "interval_sec" in spoken.text


def test_removing_asks_first_and_does_nothing_where_nobody_can_answer(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed")

    said = mill("remove", "https://one.example/feed")

    assert said.status == 2
    assert "--yes" in said.err
    assert len(mill.json("list")["items"]) == 1


def test_removing_takes_all_the_named_feeds_or_none(mill: Mill) -> None:
    added = mill.json("add", "--as-is", "https://one.example/feed")

    refused = mill("remove", "--yes", added["id"], "nobody")
    gone = mill.ok("remove", "--yes", added["id"], "https://one.example/feed")

    assert refused.status == 1
    assert gone.text == "removed 1\n"
    assert mill.json("list")["items"] == []


def test_removing_under_json_lists_what_went(mill: Mill) -> None:
    added = mill.json("add", "--as-is", "https://one.example/feed")

    gone = mill.json("remove", added["id"])

    assert gone == {"items": [added["id"]], "next": None}


def test_a_paused_feed_is_not_polled_until_it_is_resumed(mill: Mill, publisher: Publisher) -> None:
    publisher.script("/pausing", document(paper("a")))
    feed = mill.json("add", "--as-is", publisher.url("/pausing"))

    mill.ok("pause", feed["id"])
    asleep = mill.json("sync", "--force")
    resumed = mill.json("resume", feed["id"])
    awake = mill.json("sync")

    assert asleep["feeds_checked"] == 0
    assert not resumed["items"][0]["paused"]
    assert awake["feeds_checked"] == 1


def test_what_is_json_stays_json_line_by_line(mill: Mill) -> None:
    """Nothing but one JSON document is on standard output, whatever is logged."""
    mill.setenv(FEEDMILL_LOG="debug")

    said = mill.ok("add", "--as-is", "https://one.example/feed", "--json")

    assert json.loads(said.out)["url"] == "https://one.example/feed"


def test_the_list_is_narrowed_by_host_text_and_trouble(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://one.example/feed", "https://two.example/feed")

    def hosts(*options: str) -> list[str]:
        return [item["url"] for item in mill.json("list", *options)["items"]]

    assert hosts("--host", "one.example") == ["https://one.example/feed"]
    assert hosts("--text", "TWO.") == ["https://two.example/feed"]
    assert hosts("--failing") == hosts("--late") == []
    assert mill.ok("list", "--late").text == "no feed matches\n"
    assert mill("list", "--failing", "--state", "paused").status == 2
