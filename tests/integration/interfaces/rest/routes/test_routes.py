"""Every route does what it says."""

from hashlib import sha256

import msgspec
import pytest
from tests.integration.interfaces.rest.conftest import OpenMill
from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, numbered, paper, rss, said
from tests.support.rest_client import RestMill

from feedmill.config import SearchConfig
from feedmill.model.feed import Feed
from feedmill.model.running.job import NewJob
from feedmill.publish.to_json import entry_wire, feed_wire
from feedmill_demo.server.script import document

NDJSON = {"Accept": "application/x-ndjson"}
OPML = b"""<opml version="2.0"><body><outline text="Papers">
<outline text="One" xmlUrl="https://one.example/feed"/>
<outline text="Nowhere" xmlUrl="http://10.9.9.9/feed"/></outline></body></opml>"""


def add(mill: RestMill, url: str = "https://paper.example/feed", **wishes: object) -> str:
    answer = mill.send("/feeds", {"url": url, "as_is": True, **wishes})
    assert answer.status == 201, answer.body
    feed_id: str = answer.json["id"]
    return feed_id


def only_feed(mill: RestMill) -> str:
    (feed,) = mill.ask("/feeds").json["items"]
    found: str = feed["id"]
    return found


class TestFeeds:
    def test_a_feed_is_added_once_and_found_again(self, mill: RestMill) -> None:
        wish = {"url": "https://paper.example/feed", "as_is": True, "tags": ["b", "a"]}

        first, second = mill.send("/feeds", wish), mill.send("/feeds", wish)

        assert (first.status, first.json["created"]) == (201, True)
        assert first.headers["location"] == f"/feeds/{first.json['id']}"
        assert (second.status, second.json["created"]) == (200, False)
        assert second.json["id"] == first.json["id"]
        assert mill.ask(first.headers["location"]).json["tags"] == ["a", "b"]

    def test_an_address_is_looked_at_before_it_is_subscribed_to(self, mill: RestMill) -> None:
        async def put_up(stage: Stage) -> str:
            stage.publisher.script("/feed", paper(1, 2))
            return stage.publisher.url("/feed", host="127.0.0.1")

        url = mill.tell(put_up)

        added = mill.send("/feeds", {"url": url})

        assert (added.status, added.json["title"]) == (201, "Paper")

    def test_a_page_with_several_feeds_asks_the_caller_to_choose(self, mill: RestMill) -> None:
        async def put_up(stage: Stage) -> str:
            links = "".join(
                f'<link rel="alternate" type="application/rss+xml" title="{n}" href="/{n}">'
                for n in ("news", "sport")
            )
            page = f"<!doctype html><html><head>{links}</head><body>Hello</body></html>".encode()
            stage.publisher.script("/", document(page, "text/html"))
            stage.publisher.script("/news", paper(1))
            stage.publisher.script("/sport", paper(2))
            return stage.publisher.url("/", host="127.0.0.1")

        url = mill.tell(put_up)

        asked = mill.send("/feeds", {"url": url})
        chosen = mill.send("/feeds", {"url": url, "choose": 2})

        assert (asked.status, asked.problem) == (409, "several-feeds")
        assert [one["title"] for one in asked.json["choices"]] == ["news", "sport"]
        assert chosen.status == 201
        assert chosen.json["url"].endswith("/sport")

    def test_feeds_come_page_by_page_in_their_order(self, mill: RestMill) -> None:
        ids = [
            add(mill, f"https://paper.example/{n}", tags=["odd"] if n % 2 else []) for n in range(5)
        ]

        first = mill.ask("/feeds?limit=2")
        second = mill.ask(f"/feeds?limit=3&cursor={first.json['next']}")

        assert [feed["id"] for feed in first.json["items"] + second.json["items"]] == ids
        assert second.json["next"] is None
        assert [f["id"] for f in mill.ask("/feeds?tag=odd").json["items"]] == ids[1::2]

    @pytest.mark.parametrize(
        ("limit", "shown"), [("0", 1), ("-7", 1), ("2", 2), ("99999999999", 3)]
    )
    def test_a_limit_is_clamped(self, mill: RestMill, limit: str, shown: int) -> None:
        for n in range(3):
            add(mill, f"https://paper.example/{n}")

        assert len(mill.ask(f"/feeds?limit={limit}").json["items"]) == shown

    def test_a_feed_is_shown_as_the_command_line_shows_it(self, library: RestMill) -> None:
        async def shown(stage: Stage) -> dict[str, object]:
            (feed,) = (await stage.services.store.feeds()).items
            aliases = await stage.services.store.aliases(feed.id)
            return {**feed_wire(feed, stage.config.schedule), "aliases": list(aliases)}

        expected = library.tell(shown)

        assert library.ask(f"/feeds/{expected['id']}").json == expected

    def test_what_is_left_out_of_a_change_stays(self, mill: RestMill) -> None:
        feed_id = add(mill, tags=["a"], min_interval_sec=600, username="ann", password="hush")

        changed = mill.send(
            f"/feeds/{feed_id}",
            {"title": "Mine", "min_interval_sec": None, "headers": [["X-Key", "hush-2"]]},
            method="PATCH",
        )

        assert changed.status == 200
        assert (changed.json["title"], changed.json["tags"]) == ("Mine", ["a"])
        assert changed.json["overrides"]["min_interval_sec"] is None
        assert changed.json["overrides"]["has_credentials"]
        assert changed.json["overrides"]["header_names"] == ["X-Key"]
        assert b"hush" not in changed.body
        assert mill.ask(f"/feeds/{feed_id}").json == changed.json

    def test_tags_are_replaced_and_each_counts_once(self, mill: RestMill) -> None:
        feed_id = add(mill, tags=["old"])

        changed = mill.send(f"/feeds/{feed_id}", {"tags": ["b", "a", "b"]}, method="PATCH")

        assert changed.json["tags"] == ["a", "b"]
        assert mill.ask("/feeds?tag=old").json["items"] == []

    def test_a_paused_feed_is_not_polled_until_it_is_resumed(self, mill: RestMill) -> None:
        feed_id = add(mill)
        mill.send(f"/feeds/{feed_id}", {"paused": True}, method="PATCH")

        refused = mill.ask(f"/feeds/{feed_id}/refetch", method="POST")
        mill.send(f"/feeds/{feed_id}", {"paused": False}, method="PATCH")
        taken = mill.ask(f"/feeds/{feed_id}/refetch", method="POST")

        assert (refused.status, refused.problem) == (409, "paused")
        assert (taken.status, taken.json["feed_id"]) == (202, feed_id)

    def test_a_refetch_makes_the_mill_poll_at_its_next_pass(self, mill: RestMill) -> None:
        feed = mill.tell(lambda stage: stage.add("/feed", paper(1), paper(1, 2)))
        mill.tell(lambda stage: stage.poll(feed))

        mill.ask(f"/feeds/{feed.id}/refetch", method="POST")
        polled = mill.tell(lambda stage: stage.pass_once())

        assert polled == 1
        assert len(mill.ask(f"/feeds/{feed.id}/entries").json["items"]) == 2

    def test_a_removed_feed_is_gone_with_its_entries_and_its_event_stays(
        self, mill: RestMill
    ) -> None:
        feed_id = add(mill)

        removed = mill.ask(f"/feeds/{feed_id}", method="DELETE")

        assert (removed.status, removed.body) == (204, b"")
        assert mill.ask(f"/feeds/{feed_id}").problem == "not-found"
        types = [event["type"] for event in mill.ask("/events").json["items"]]
        assert types == ["feed.added", "feed.removed"]

    def test_the_schedule_says_why_in_figures_and_in_words(self, library: RestMill) -> None:
        history = library.ask(f"/feeds/{only_feed(library)}/schedule").json["items"]

        assert [one["reason"] for one in history] == ["no-new-entries", "new-entries"]
        assert history[1]["words"][1].startswith("The poll brought 3 new entries")
        assert history[1]["steps"][0]["code"] == "new-entries"

    def test_a_feed_that_is_well_says_so(self, library: RestMill) -> None:
        health = library.ask(f"/feeds/{only_feed(library)}/health").json

        assert (health["kind"], health["since"], health["line"]) == ("well", None, None)
        assert health["words"][0].startswith("The feed is well")
        assert len(health["attempts"]) == 2

    def test_a_broken_document_is_told_with_its_line_and_column(self, mill: RestMill) -> None:
        body = rss(item(1)).replace(b"<channel>", b"<channel>\n  <bad a=>\n")
        feed = mill.tell(lambda stage: _polled(stage, body))

        health = mill.ask(f"/feeds/{feed.id}/health").json

        assert (health["line"], health["column"]) == (2, 10)
        assert any("line 2, column 10" in words for words in health["words"])


class TestEntries:
    def test_entries_are_shown_as_the_command_line_shows_them(self, library: RestMill) -> None:
        expected = library.tell(lambda stage: stage.entries())

        shown = library.ask("/entries").json["items"]

        assert [one["entry_uid"] for one in shown] == [e.entry_uid for e in expected[::-1]]
        plain = [
            {**entry_wire(e), "raw_refs": shown[n]["raw_refs"]}
            for n, e in enumerate(expected[::-1])
        ]
        assert [one["title"] for one in shown] == [one["title"] for one in plain]
        assert [one["content_hash"] for one in shown] == [one["content_hash"] for one in plain]

    @pytest.mark.parametrize("path", ["/entries", "/feeds/{id}/entries", "/feeds", "/articles"])
    def test_a_kept_page_is_the_page_as_it_is_now(self, mill: RestMill, path: str) -> None:
        async def begin(stage: Stage) -> Feed:
            feed = await stage.add("/feed", paper(1), paper(1, 2))
            return await stage.poll(feed)

        feed = mill.tell(begin)
        url = path.format(id=feed.id)

        first, again, other_order = mill.ask(url), mill.ask(url), mill.ask(f"{url}?limit=99")
        mill.tell(lambda stage: stage.poll(feed))
        after, fresh = mill.ask(url), mill.ask(f"{url}?limit=98")

        assert first.body == again.body == other_order.body
        assert first.headers["etag"] == again.headers["etag"]
        assert after.headers["etag"] != first.headers["etag"]
        assert after.body == fresh.body != first.body
        unchanged = mill.ask(url, headers={"If-None-Match": after.headers["etag"]})
        assert (unchanged.status, unchanged.body) == (304, b"")
        lines = mill.ask(url, headers=NDJSON).body.splitlines()
        assert [msgspec.json.decode(line) for line in lines] == after.json["items"]

    @pytest.mark.parametrize(
        ("query", "titles"),
        [
            ("text=chee", ["Hard cheese"]),
            ("text=ard", []),  # no word begins like this
            ("tag=nobody", []),
            ("category=none", []),
            ("since=2025-10-14", ["Hard cheese", "Title 2", "Title 1"]),
            ("until=2025-10-14T00:00:00Z", []),
            ("feed=nobody", []),
            ("q=cheese+-title", ["Hard cheese"]),
            ("q=title&order=published", ["Title 2", "Title 1"]),
            ("q=revised&full_text=1", ["Title 2"]),
        ],
    )
    def test_entries_are_filtered(self, library: RestMill, query: str, titles: list[str]) -> None:
        found = library.ask(f"/entries?{query}").json["items"]

        assert sorted(one["title"] for one in found) == sorted(titles)

    def test_search_marks_what_it_found_in_plain_text(self, library: RestMill) -> None:
        (found,) = library.ask("/entries?q=chee*").json["items"]

        assert found["highlight"]["title"] == [
            {"text": "Hard ", "match": False},
            {"text": "cheese", "match": True},
        ]
        assert "highlight" not in library.ask("/entries").json["items"][0]

    @pytest.mark.parametrize("query", ["q=", "q=-x", "order=relevance", "q=x&direction=asc"])
    def test_search_without_meaning_is_a_bad_parameter(self, library: RestMill, query: str) -> None:
        answer = library.ask(f"/entries?{query}")

        assert answer.status == 400
        assert answer.json["type"].endswith("bad-parameter")

    def test_search_that_is_off_is_refused(self, open_mill: OpenMill) -> None:
        answer = open_mill(search=SearchConfig(enabled=False)).ask("/entries?q=x")

        assert (answer.status, answer.problem) == (409, "search-off")

    def test_several_feeds_can_be_asked_for_at_once(self, mill: RestMill) -> None:
        async def put_up(stage: Stage) -> list[Feed]:
            return [await _polled(stage, numbered(n), f"/feed/{n}") for n in range(3)]

        feeds = mill.tell(put_up)

        found = mill.ask(f"/entries?feed={feeds[0].id}&feed={feeds[2].id}").json["items"]

        assert sorted(one["title"] for one in found) == ["Title 0", "Title 2"]

    def test_pages_of_entries_meet_without_gap_or_overlap(self, library: RestMill) -> None:
        whole = [one["entry_uid"] for one in library.ask("/entries").json["items"]]
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = library.ask(f"/entries?limit=1{cursor and f'&cursor={cursor}'}").json
            seen += [one["entry_uid"] for one in page["items"]]
            cursor = page["next"]

        assert seen == whole

    def test_one_entry_has_its_earlier_states(self, library: RestMill) -> None:
        (entry,) = library.ask("/entries?text=2").json["items"]

        shown = library.ask(f"/entries/{entry['entry_uid']}").json
        revisions = library.ask(f"/entries/{entry['entry_uid']}/revisions").json["items"]

        assert shown == entry
        assert shown["summary"] == "Revised."
        assert [one["summary"] for one in revisions] == ["Text of 2."]

    def test_the_raw_slice_of_an_entry_is_its_exact_bytes(self, library: RestMill) -> None:
        (entry,) = library.ask("/entries?text=cheese").json["items"]

        raw = library.ask(f"/entries/{entry['entry_uid']}/raw")

        assert raw.body == item(3, title="Hard cheese").encode()
        assert raw.headers["feedmill-offset"] == str(entry["raw_refs"][0]["offset"])

    def test_a_raw_document_is_handed_out_as_nothing_that_a_browser_shows(
        self, library: RestMill
    ) -> None:
        (entry,) = library.ask("/entries?text=cheese").json["items"]
        fetch_id = entry["raw_refs"][0]["fetch_id"]

        raw = library.ask(f"/raw/{fetch_id}")
        fetch = library.ask(f"/raw/{fetch_id}/headers").json

        assert sha256(raw.body).hexdigest() == fetch["body_sha256"]
        key = f"sha256:{fetch['body_sha256']}"
        assert fetch["body_ref"] == {"storage": "localfs", "key": key}
        assert raw.headers["content-type"] == "application/octet-stream"
        assert raw.headers["content-disposition"] == f'attachment; filename="{fetch_id}.bin"'
        assert raw.headers["x-content-type-options"] == "nosniff"
        assert raw.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert ["Content-Type", "application/rss+xml; charset=utf-8"] in fetch["response_headers"]

    def test_a_fetch_without_a_document_has_no_bytes(self, mill: RestMill) -> None:
        feed = mill.tell(lambda stage: stage.add("/feed", said(404)))
        mill.tell(lambda stage: stage.poll(feed))
        (attempt,) = mill.ask(f"/feeds/{feed.id}/health").json["attempts"]

        assert mill.ask(f"/raw/{attempt['fetch_id']}").problem == "not-found"
        assert mill.ask(f"/raw/{attempt['fetch_id']}/headers").json["http_status"] == 404

    def test_articles_come_once_however_many_feeds_carry_them(self, mill: RestMill) -> None:
        async def put_up(stage: Stage) -> None:
            for n in range(2):
                await _polled(stage, numbered(1, 2), f"/feed/{n}")

        mill.tell(put_up)

        first = mill.ask("/articles?limit=1").json
        rest = mill.ask(f"/articles?cursor={first['next']}").json

        shown = mill.ask("/entries").json["items"]
        assert [one["title"] for one in shown] == ["Title 2", "Title 1"]
        assert len(mill.ask("/entries?duplicates=include").json["items"]) == 4
        (other, _) = mill.ask(f"/entries?feed={shown[0]['feed_id']}&order=published").json["items"]
        assert other == shown[0]
        assert sorted(one["title"] for one in first["items"] + rest["items"]) == [
            "Title 1",
            "Title 2",
        ]


class TestLists:
    def test_a_list_is_imported_and_exported_again(self, mill: RestMill) -> None:
        headers = {"Content-Type": "text/x-opml"}

        done = mill.ask("/import?tag=new", method="POST", body=OPML, headers=headers)
        mill.stage.later(seconds=1)
        again = mill.ask("/import?tag=new", method="POST", body=OPML, headers=headers)
        exported = mill.ask("/export.opml")

        assert (done.json["total"], done.json["added"], done.json["existing"]) == (2, 1, 0)
        assert [one["reason"] for one in done.json["failed"]] == ["private-address"]
        assert again.json["existing"] == 1
        assert mill.ask("/feeds").json["items"][0]["tags"] == ["Papers", "new"]
        assert exported.headers["content-type"].startswith("text/x-opml")
        assert b'xmlUrl="https://one.example/feed"' in exported.body

    def test_address_of_a_megabyte_in_a_list_is_refused_and_cut_in_the_answer(
        self, mill: RestMill
    ) -> None:
        long = b"https://one.example/" + b"a" * 1_000_000
        body = OPML.replace(b"</body>", b'<outline xmlUrl="' + long + b'"/></body>')

        done = mill.ask(
            "/import", method="POST", body=body, headers={"Content-Type": "text/x-opml"}
        )

        failed = done.json["failed"][-1]
        assert (done.json["added"], failed["reason"], len(failed["url"])) == (1, "too-long", 65_536)
        assert "1,000,020 characters, and 65,536 are the most" in failed["message"]

    def test_an_address_is_brought_to_its_one_right_form(self, mill: RestMill) -> None:
        async def put_up(stage: Stage) -> str:
            stage.publisher.script("/feed", paper(1, 2))
            stage.publisher.script("/feed?utm_source=x", paper(1, 2))
            return stage.publisher.url("/feed", host="127.0.0.1")

        url = mill.tell(put_up)

        found = mill.send("/canonicalize", {"url": f"{url}?utm_source=x"})

        assert (found.status, found.json["url"]) == (200, url)
        assert mill.ask("/feeds").json["items"] == []


class TestWebhooks:
    def test_a_webhook_is_made_changed_and_removed_and_its_secret_shown_once(
        self, mill: RestMill
    ) -> None:
        made = mill.send("/webhooks", {"url": "https://hook.example/in", "types": ["new_entry"]})
        place = made.headers["location"]

        paused = mill.send(place, {"paused": True}, method="PATCH")
        listed = mill.ask("/webhooks")
        resumed = mill.send(place, {"paused": False, "from_seq": 1}, method="PATCH")
        dead = mill.ask(f"{place}/dead").json
        removed = mill.ask(place, method="DELETE")

        assert (made.status, made.headers["cache-control"]) == (201, "no-store")
        assert made.json["secret"].startswith("fmwh_")
        assert (paused.json["state"], resumed.json["state"]) == ("paused", "active")
        assert made.json["secret"].encode() not in listed.body + paused.body
        assert dead == {"items": [], "next": None}
        assert removed.status == 204
        assert mill.ask(place).problem == "not-found"

    def test_a_webhook_to_a_private_address_is_refused(self, mill: RestMill) -> None:
        refused = mill.send("/webhooks", {"url": "http://169.254.169.254/latest"})

        assert (refused.status, refused.problem) == (422, "bad-address")
        assert refused.json["reason"] == "private-address"
        assert mill.ask("/webhooks").json["items"] == []


class TestCare:
    def test_the_process_and_its_store_are_well(self, mill: RestMill) -> None:
        assert mill.ask("/healthz").body == b"ok\n"
        assert mill.ask("/readyz").json == {"ready": True, "last_seq": 0}

    def test_the_numbers_of_the_door_are_counted_by_route(self, mill: RestMill) -> None:
        mill.ask("/feeds/nobody")

        page = mill.ask("/metrics").body.decode()

        counted = 'feedmill_http_requests_total{method="GET",route="/feeds/{feed_id}",status="404"}'
        assert f"{counted} 1.0" in page

    def test_everything_there_is_can_be_counted(self, library: RestMill) -> None:
        stats = library.ask("/stats").json

        assert (stats["counts"]["feeds"], stats["counts"]["entries"]) == (1, 3)
        assert stats["last_seq"] == stats["counts"]["events"]
        assert stats["total"]["polls"] == 2

    def test_figures_of_one_feed_by_hour_and_day(self, library: RestMill) -> None:
        feed_id = library.ask("/feeds").json["items"][0]["id"]

        days = library.ask(f"/feeds/{feed_id}/stats").json
        hours = library.ask(f"/feeds/{feed_id}/stats?granularity=hour").json

        assert (days["total"]["polls"], days["total"]["entries_new"]) == (2, 3)
        assert sum(one["figures"]["polls"] for one in hours["points"]) == 2
        assert library.ask("/feeds/nobody/stats").status == 404

    @pytest.mark.parametrize(
        "path",
        [
            "/stats?granularity=minute",
            "/stats?since=yesterday",
            "/stats?since=2025-10-14&until=2025-10-01",
            "/stats?since=1990-01-01",
            "/stats/top?by=beauty",
            "/service-levels?day=never",
        ],
    )
    def test_an_invalid_range_or_order_is_refused(self, library: RestMill, path: str) -> None:
        assert library.ask(path).status == 400

    def test_a_ranking_has_at_least_one_feed_as_other_lists_have_one_item(
        self, mill: RestMill
    ) -> None:
        async def poll_two(stage: Stage) -> None:
            for number in (1, 2):
                await _polled(stage, rss(item(number)), f"/{number}")

        mill.tell(poll_two)

        found = {
            limit: len(mill.ask(f"/stats/top?limit={limit}").json["items"])
            for limit in range(-1, 3)
        }

        assert found == {-1: 1, 0: 1, 1: 1, 2: 2}

    def test_top_feeds_levels_and_status(self, library: RestMill) -> None:
        top = library.ask("/stats/top").json
        levels = library.ask("/service-levels").json
        status = library.ask("/status").json

        assert [one["value"] for one in top["items"]] == [3]
        assert {one["name"] for one in levels["levels"]} == {
            "fetch-latency", "failed-fetches", "scheduler-freshness",
        }  # fmt: skip
        assert status["feeds"]["feeds"] == 1
        assert status["levels"] == levels["levels"]


class TestConditions:
    @pytest.mark.parametrize("path", ["/feeds", "/entries", "/articles", "/export.opml", "/docs"])
    def test_what_the_caller_has_is_not_sent_again(self, library: RestMill, path: str) -> None:
        first = library.ask(path)

        again = library.ask(path, headers={"If-None-Match": f'"x", W/{first.headers["etag"]}'})

        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert library.ask(path, headers={"If-None-Match": '"other"'}).status == 200

    def test_a_date_is_a_condition_where_there_is_one(self, library: RestMill) -> None:
        uid = library.ask("/entries").json["items"][0]["entry_uid"]
        modified = library.ask(f"/entries/{uid}").headers["last-modified"]

        def status(moment: str) -> int:
            return library.ask(f"/entries/{uid}", headers={"If-Modified-Since": moment}).status

        assert status(modified) == 304
        assert status("Mon, 13 Oct 2025 08:00:00 GMT") == 200
        assert status("never") == 200

    def test_an_entry_is_sent_again_when_its_feed_was_renamed_since(self, mill: RestMill) -> None:
        feed = mill.tell(lambda stage: _polled(stage, rss(item(1))))
        (entry,) = mill.ask("/entries").json["items"]
        path = f"/entries/{entry['entry_uid']}"
        modified = {"If-Modified-Since": mill.ask(path).headers["last-modified"]}
        assert mill.ask(path, headers=modified).status == 304

        mill.send(f"/feeds/{feed.id}", {"title": "Renamed"}, method="PATCH")

        answer = mill.ask(path, headers=modified)
        assert (answer.status, answer.json["feed_title"]) == (200, "Renamed")

    def test_head_is_a_get_without_its_body(self, library: RestMill) -> None:
        whole = library.ask("/entries")

        head = library.ask("/entries", method="HEAD")

        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == str(len(whole.body))
        assert head.headers["etag"] == whole.headers["etag"]


class TestLines:
    @pytest.mark.parametrize("path", ["/feeds", "/entries", "/articles", "/events"])
    def test_every_list_comes_whole_as_lines(self, library: RestMill, path: str) -> None:
        whole = library.ask(f"{path}?limit=1000").json["items"]

        lines = library.ask(f"{path}?limit=1", headers=NDJSON)

        assert lines.headers["content-type"].startswith("application/x-ndjson")
        assert [msgspec.json.decode(line) for line in lines.body.splitlines()] == whole

    def test_lists_below_a_feed_and_an_entry_do_too(self, library: RestMill) -> None:
        feed_id = only_feed(library)
        (entry,) = library.ask("/entries?text=2").json["items"]
        paths = {
            f"/feeds/{feed_id}/entries": 3,
            f"/feeds/{feed_id}/schedule": 2,
            f"/entries/{entry['entry_uid']}/revisions": 1,
            "/webhooks": 0,
        }

        counts = {path: len(library.ask(path, headers=NDJSON).body.splitlines()) for path in paths}

        assert counts == paths


async def _polled(stage: Stage, body: bytes, target: str = "/feed") -> Feed:
    feed = await stage.add(target, document(body))
    return await stage.poll(feed)


class TestCursors:
    def test_abandoned_reader_is_listed_and_dropped(self, mill: RestMill) -> None:
        async def read_nothing(stage: Stage) -> None:
            await stage.services.store.set_cursor("bus:old", 0)

        mill.tell(read_nothing)

        listed = mill.ask("/cursors").json["items"]
        lines = mill.ask("/cursors", headers=NDJSON).body.splitlines()
        dropped = mill.ask("/cursors/bus:old", method="DELETE")
        again = mill.ask("/cursors/bus:old", method="DELETE")

        assert "bus:old" in [one["consumer"] for one in listed]
        assert [msgspec.json.decode(line) for line in lines] == listed
        assert (dropped.status, again.status, again.problem) == (204, 404, "not-found")
        assert "bus:old" not in [one["consumer"] for one in mill.ask("/cursors").json["items"]]


class TestJobs:
    def test_jobs_are_listed_shown_cancelled_and_queued_again(self, mill: RestMill) -> None:
        async def queue(stage: Stage) -> int:
            url = "https://user:secret@archive.example/1"
            new = NewJob(kind="walk", key="a", url=url, payload={"x": "hidden"})
            job, _ = await stage.services.store.add_job(new, now=stage.clock.now())
            return job.id

        job_id = mill.tell(queue)

        (listed,) = mill.ask("/jobs?kind=walk&state=queued").json["items"]
        cancelled = mill.send(f"/jobs/{job_id}/cancel", None)
        again = mill.send(f"/jobs/{job_id}/cancel", None)
        retried = mill.send(f"/jobs/{job_id}/retry", None)

        assert listed == mill.ask(f"/jobs/{job_id}").json | {
            "state": "queued", "updated_at": listed["updated_at"], "not_before": listed["not_before"],
        }  # fmt: skip
        assert (listed["url"], listed["host"]) == ("https://archive.example/1", "archive.example")
        assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
        assert (again.status, again.problem) == (409, "conflict")
        assert retried.json["state"] == "queued"
        assert mill.ask("/jobs/99").problem == "not-found"
        assert mill.ask("/jobs?state=open").problem == "bad-parameter"
        assert mill.ask("/jobs?cursor=x").problem == "bad-cursor"
