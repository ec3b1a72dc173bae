"""Whole lists: folders become tags, every outline has its outcome, and a run that stopped goes on."""

import json
from pathlib import Path

import pytest
from tests.integration.engine.subscribe.conftest import Visit
from tests.support.command_line import Mill
from tests.support.subscribe_harness import Counter, feed_document, page

from feedmill.engine.subscribe.import_list import (
    ADDED,
    EXISTING,
    FAILED,
    UNPROVEN,
    ImportReport,
    import_outlines,
)
from feedmill.engine.subscribe.list_formats import Outline
from feedmill.model.feed import ImportedOutline
from feedmill_demo.server.script import Answer, redirect
from feedmill_demo.server.server import Publisher

NOBODY = "127.0.1.250"  # a loopback address at which the publisher does not listen


class StoppedError(Exception):
    """What a test stops an import with."""


def test_folders_become_tags_whatever_the_address_leads_to(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/feed", feed_document(1, 2), host="127.0.1.1")
    publisher.script("/old", redirect("/feed"), host="127.0.1.2")
    publisher.script("/feed", feed_document(3, 4), host="127.0.1.2")
    publisher.script("/", page({"href": "/feed"}), host="127.0.1.3")
    publisher.script("/feed", feed_document(5, 6), host="127.0.1.3")
    one, two, three = (
        publisher.url(target, host=f"127.0.1.{number}")
        for number, target in enumerate(("/feed", "/old", "/"), 1)
    )
    Path("list.opml").write_text(f"""<opml version="2.0"><body>
        <outline text="News"><outline text="Local"><outline text="World">
          <outline type="rss" text="One" xmlUrl="{one}"/>
        </outline></outline></outline>
        <outline text="Fun"><outline type="rss" text="Two" xmlUrl="{two}"/></outline>
        <outline type="rss" xmlUrl="{three}" category="/maps,/old"/></body></opml>""")

    result = mill.json("import", "list.opml", "--tag", "mine")

    feeds = {feed["url"]: feed["tags"] for feed in mill.json("list")["items"]}
    assert (result["total"], result["added"], result["failed"]) == (3, 3, [])
    assert feeds == {
        one: ["Local", "News", "World", "mine"],
        publisher.url("/feed", host="127.0.1.2"): ["Fun", "mine"],
        publisher.url("/feed", host="127.0.1.3"): ["maps", "mine", "old"],
    }


def test_outlines_of_one_feed_in_several_folders_give_one_feed_with_all_the_tags(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/feed", feed_document(1, 2))
    feed = publisher.url("/feed")
    outlines = "".join(
        f'<outline text="{folder}"><outline xmlUrl="{url}"/></outline>'
        for folder, url in (("a", feed), ("b", f"{feed}?utm_source=x"), ("c", f"{feed}?gclid=1"))
    )
    Path("list.opml").write_text(f'<opml version="2.0"><body>{outlines}</body></opml>')

    result = mill.json("import", "list.opml")

    assert (result["added"], result["existing"]) == (1, 2)
    assert [feed["tags"] for feed in mill.json("list")["items"]] == [["a", "b", "c"]]
    assert len(publisher.requests_to("/feed")) == 3


def test_what_failed_is_reported_with_its_reason_and_the_rest_is_taken(
    mill: Mill, publisher: Publisher
) -> None:
    publisher.script("/good", feed_document(1, 2))
    publisher.script("/page", page())
    good, dead, empty = (publisher.url(target) for target in ("/good", "/nowhere", "/page"))
    lines = f"{good}\n{dead}\n{empty}\nhttp://10.0.0.1/feed\nftp://paper.example/x"

    said = mill.ok("import", "-", "--report", "report.ndjson", stdin=lines.encode())
    again = mill.ok("import", "-", "--json", stdin=lines.encode()).json

    report = [json.loads(line) for line in Path("report.ndjson").read_text().splitlines()]
    assert [(item["url"], item["outcome"], item["reason"]) for item in report] == [
        (good, "added", ""),
        (dead, "failed", "not-found"),
        (empty, "failed", "budget-spent"),
        ("http://10.0.0.1/feed", "failed", "private-address"),
        ("ftp://paper.example/x", "failed", "malformed-url"),
    ]
    assert "5 listed: 1 added, 0 already subscribed, 4 rejected" in said.text
    assert all(reason in said.text for reason in ("not-found", "budget-spent", "malformed-url"))
    assert {item["reason"] for item in again["failed"]} == {item["reason"] for item in report[1:]}


def test_a_server_that_does_not_answer_costs_nobody_a_subscription(
    mill: Mill, publisher: Publisher
) -> None:
    silent = publisher.url("/feed", host=NOBODY)
    publisher.script("/broken", Answer(status=500))
    broken = publisher.url("/broken")

    said = mill.ok("import", "-", stdin=f"{silent}\n{broken}\n".encode())
    again = mill.ok("import", "-", "--json", stdin=f"{silent}\n{broken}\n".encode()).json

    assert "2 did not answer and were added as listed" in said.text
    assert {feed["url"] for feed in mill.json("list")["items"]} == {silent, broken}
    assert (again["added"], again["existing"], again["unproven"]) == (0, 2, [])


def test_a_host_that_asks_for_patience_gets_it_and_its_feeds_are_taken_as_listed(
    mill: Mill, publisher: Publisher
) -> None:
    busy = Answer(status=429, headers=(("Retry-After", "3600"),))
    for number in range(5):
        publisher.script(f"/{number}", busy, host="127.0.1.1")
    urls = [publisher.url(f"/{number}", host="127.0.1.1") for number in range(5)]

    result = mill.ok("import", "-", "--json", stdin="\n".join(urls).encode()).json
    mill.ok("sync")

    assert [item["reason"] for item in result["unproven"]] == ["rate-limited"] * 5
    assert len(publisher.requests) == 1


def test_a_list_of_pages_takes_the_best_feed_of_each(mill: Mill, publisher: Publisher) -> None:
    publisher.script(
        "/", page({"href": "/comments/feed", "title": "Comments"}, {"href": "/a"}, {"href": "/b"})
    )
    publisher.script("/a", feed_document(1, 2))

    result = mill.ok("import", "-", "--json", stdin=publisher.url("/").encode()).json

    assert result["added"] == 1
    assert [feed["url"] for feed in mill.json("list")["items"]] == [publisher.url("/a")]


def test_a_list_is_imported_as_it_is_without_a_request_and_in_its_order(
    mill: Mill, publisher: Publisher
) -> None:
    urls = [publisher.url(f"/{n}", host=f"127.0.1.{1 + n % 3}") for n in range(9)]

    mill.ok("import", "--as-is", "-", stdin="\n".join(urls).encode())

    assert [feed["url"] for feed in mill.json("list")["items"]] == urls
    assert publisher.requests == ()


def test_a_removed_feed_is_added_again_by_importing_again(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        outlines = [Outline(url=counter.put(f"/{n}", feed_document(n))) for n in (1, 2)]
        first = await import_outlines(outlines, counter.services)
        removed = first.items[0].feed_id
        assert removed is not None
        await counter.services.store.remove_feed(removed, ())

        second = await import_outlines(outlines, counter.services)

        assert [item.outcome for item in second.items] == [ADDED, EXISTING]
        assert len(await counter.feeds()) == 2

    visit(story)


def test_a_feed_that_is_removed_between_two_halves_of_a_run_is_added_by_the_second(
    visit: Visit,
) -> None:
    async def story(counter: Counter) -> None:
        outlines = _three(counter)
        await _interrupted(counter, outlines, after=2)
        (feed, *_) = await counter.feeds()
        await counter.services.store.remove_feed(feed.id, ())

        report = await import_outlines(outlines, counter.services)

        assert {item.outcome for item in report.items} <= {ADDED, FAILED}
        assert len(await counter.feeds()) == 2

    visit(story)


def test_a_run_that_was_interrupted_goes_on_without_asking_again(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        outlines = _three(counter)
        await _interrupted(counter, outlines, after=2)
        before = counter.asked()

        report = await import_outlines(outlines, counter.services)

        assert before == ["/good", "/missing"]
        assert counter.asked() == ["/late"]
        assert report.resumed == 2
        assert [item.outcome for item in report.items] == [ADDED, FAILED, ADDED]

    visit(story)


def test_what_failed_is_tried_again_by_a_new_run_and_not_by_the_same_one(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        outlines = _three(counter)
        await _interrupted(counter, outlines, after=2)
        counter.put("/missing", feed_document(50, 51))

        resumed = await import_outlines(outlines, counter.services)
        anew = await import_outlines(outlines, counter.services)

        assert resumed.items[1].outcome == FAILED
        assert anew.items[1].outcome == ADDED
        assert anew.resumed == 0

    visit(story)


@pytest.mark.parametrize("difference", ["another address", "another tag", "as it is"])
def test_another_list_is_another_import(visit: Visit, difference: str) -> None:
    async def story(counter: Counter) -> None:
        outlines = _three(counter)
        await _interrupted(counter, outlines, after=2)
        more = [*outlines, Outline(url=counter.put("/more", feed_document(60)))]

        report = await _imported(counter, outlines, more, difference)

        assert report.resumed == 0
        assert report.items[0].outcome == EXISTING

    visit(story)


def test_every_outline_is_told_of_once(visit: Visit) -> None:
    async def story(counter: Counter) -> None:
        outlines = _three(counter)
        told: list[ImportedOutline] = []

        report = await import_outlines(outlines, counter.services, told=told.append)

        assert sorted(item.url for item in told) == sorted(outline.url for outline in outlines)
        assert set(told) == set(report.items)
        assert (report.total, report.count(ADDED), report.count(UNPROVEN)) == (3, 2, 0)

    visit(story)


def _three(counter: Counter) -> list[Outline]:
    counter.put("/good", feed_document(1, 2))
    counter.put("/missing", Answer(status=404))
    counter.put("/late", feed_document(3, 4))
    return [Outline(url=counter.url(target)) for target in ("/good", "/missing", "/late")]


async def _interrupted(counter: Counter, outlines: list[Outline], *, after: int) -> None:
    """An import that stops when so many outlines are done."""
    left = after

    def told(_: ImportedOutline) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise StoppedError

    with pytest.raises(ExceptionGroup):
        await import_outlines(outlines, counter.services, told=told)


async def _imported(
    counter: Counter, outlines: list[Outline], more: list[Outline], difference: str
) -> ImportReport:
    if difference == "another address":
        return await import_outlines(more, counter.services)
    if difference == "another tag":
        return await import_outlines(outlines, counter.services, tags=("x",))
    return await import_outlines(outlines, counter.services, as_is=True)
