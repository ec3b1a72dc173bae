"""`feedmill token` and `feedmill webhook` as a person and as a program use them."""

from typing import Any

import pytest
from tests.support.command_line import Mill, paper

from feedmill_demo.server.script import Answer, document
from feedmill_demo.server.server import Publisher


def a_webhook(mill: Mill, *words: str, url: str = "http://127.0.0.1:9998/hook") -> Any:
    return mill.json("webhook", "add", url, *words)


class TestTokens:
    def test_a_secret_is_printed_once_and_alone_on_standard_output(self, mill: Mill) -> None:
        made = mill.ok("token", "create", "reader")
        listed = mill.ok("token", "list")

        secret = made.text.strip()
        assert secret.startswith("fm_")
        assert "\n" not in secret
        assert "shown only once" in made.err
        assert secret not in listed.text
        assert "reader\tread\tgood\tnever\tnever" in listed.text

    def test_scopes_and_an_end_can_be_chosen(self, mill: Mill) -> None:
        made = mill.json("token", "create", "x", "--scope", "admin", "--expires", "90d")

        assert made["scopes"] == ["admin"]
        assert made["expires_at"] > made["created_at"]

    def test_revoking_the_last_token_says_what_follows(self, mill: Mill) -> None:
        mill.ok("token", "create", "one")
        mill.ok("token", "create", "two")

        first, last = mill.ok("token", "revoke", "one"), mill.ok("token", "revoke", "two")

        assert "no valid token is left" not in first.err
        assert "no valid token is left" in last.err

    def test_a_token_is_rotated_and_revoked_by_its_name(self, mill: Mill) -> None:
        first = mill.json("token", "create", "reader")
        second = mill.json("token", "rotate", "reader", "--overlap", "1d")
        mill.ok("token", "revoke", first["id"][:35])

        assert second["id"] == first["id"]
        assert second["secret"] != first["secret"]
        assert mill.json("token", "list")["items"][0]["state"] == "revoked"
        assert mill("token", "rotate", "reader").status == 2

    def test_no_tokens_are_an_invitation(self, mill: Mill) -> None:
        assert "feedmill token create" in mill.ok("token", "list").text

    @pytest.mark.parametrize(
        ("words", "status"),
        [
            (("create", "x", "--scope", "god"), 2),
            (("create", "x", "--expires", "90"), 2),
            (("create", ""), 2),
            (("revoke", "nobody"), 1),
            (("rotate", "nobody"), 1),
        ],
    )
    def test_nonsense_is_refused(self, mill: Mill, words: tuple[str, ...], status: int) -> None:
        assert mill("token", *words).status == status

    def test_two_tokens_of_one_name_are_told_apart_by_their_ids(self, mill: Mill) -> None:
        mill.ok("token", "create", "twin")
        mill.ok("token", "create", "twin")

        refused = mill("token", "revoke", "twin")

        assert (refused.status, "matches 2 tokens" in refused.err) == (2, True)


class TestWebhooks:
    def test_a_webhook_is_added_with_its_filters_and_its_secret_shown_once(
        self, mill: Mill
    ) -> None:
        made = a_webhook(mill, "--types", "new_entry, feed.state", "--tag", "news", "--cloudevents")
        (listed,) = mill.json("webhook", "list")["items"]

        assert made["secret"].startswith("fmwh_")
        assert made["types"] == ["new_entry", "feed.state"]
        assert (made["tag"], made["format"]) == ("news", "cloudevents")
        assert made["secret"] not in str(listed)
        assert listed["behind"] == 0

    def test_people_see_the_secret_alone_and_a_list(self, mill: Mill) -> None:
        made = mill.ok("webhook", "add", "http://127.0.0.1:9998/hook")
        listed = mill.ok("webhook", "list").text

        assert made.text.strip().startswith("fmwh_")
        assert "shown only once" in made.err
        assert "active\t0\tnever\t\thttp://127.0.0.1:9998/hook" in listed

    def test_no_webhooks_are_an_invitation(self, mill: Mill) -> None:
        assert "feedmill webhook add" in mill.ok("webhook", "list").text

    def test_an_address_out_of_bounds_is_refused_with_its_reason(self, mill: Mill) -> None:
        said = mill("webhook", "add", "http://169.254.169.254/", "--json")

        assert (said.status, said.error["code"]) == (2, "private-address")

    def test_pausing_resuming_replaying_and_removing_say_what_they_did(self, mill: Mill) -> None:
        made = a_webhook(mill)
        start = made["id"][:30]

        assert mill.json("webhook", "pause", start)["paused_reason"] == "by-hand"
        assert "paused (by-hand)" in mill.ok("webhook", "list").text
        assert mill.json("webhook", "pause", start)["state"] == "paused"
        assert mill.json("webhook", "resume", start)["state"] == "active"
        assert "replaying from 1" in mill.ok("webhook", "replay", start, "--from", "1").text
        assert mill.json("webhook", "rotate", start)["secret"] != made["secret"]
        assert mill.ok("webhook", "remove", start).text.startswith("removed")
        assert mill("webhook", "remove", start).status == 1

    def test_the_start_of_an_id_has_to_be_enough(self, mill: Mill) -> None:
        a_webhook(mill)
        a_webhook(mill)

        assert mill("webhook", "pause", "0").status == 2
        assert mill("webhook", "pause", "").status == 1

    def test_a_sync_tells_webhooks_and_what_fails_shows(
        self, mill: Mill, publisher: Publisher
    ) -> None:
        publisher.script("/hooked/feed", document(paper("One", "Two")))
        publisher.script("/hooked/hook", Answer(status=503), Answer(status=200))
        mill.setenv(FEEDMILL_WEBHOOK_MAX_ATTEMPTS="1")
        feed = mill.json("add", "--as-is", publisher.url("/hooked/feed"))
        a_webhook(mill, "--feed", feed["id"], url=publisher.url("/hooked/hook"))

        mill.ok("sync")

        (listed,) = mill.json("webhook", "list")["items"]
        (letter,) = mill.json("webhook", "dead", listed["id"])["items"]
        assert (listed["last_result"], listed["behind"]) == ("unavailable", 0)
        assert [event["type"] for event in letter["events"]] == ["new_entry", "new_entry"]
        assert "unavailable" in mill.ok("webhook", "dead", listed["id"]).text
        assert mill.ok("webhook", "dead", listed["id"], "--resend").text.strip() == "1 sent, 0 left"
        assert "no dead letters" in mill.ok("webhook", "dead", listed["id"]).text

    def test_a_test_says_what_came_back(self, mill: Mill, publisher: Publisher) -> None:
        publisher.script("/tried/hook", Answer(status=200), Answer(status=500))
        made = a_webhook(mill, url=publisher.url("/tried/hook"))

        good = mill("webhook", "test", made["id"])
        bad = mill("webhook", "test", made["id"], "--json")

        assert (good.status, good.text.split()[0]) == (0, "delivered")
        assert (bad.status, bad.json["result"]) == (1, "server-error")

    def test_dead_letters_that_fail_again_stay(self, mill: Mill, publisher: Publisher) -> None:
        publisher.script("/failing/feed", document(paper("One")))
        publisher.script("/failing/hook", Answer(status=500))
        mill.setenv(FEEDMILL_WEBHOOK_MAX_ATTEMPTS="1")
        mill.ok("add", "--as-is", publisher.url("/failing/feed"))
        made = a_webhook(mill, url=publisher.url("/failing/hook"))
        mill.ok("sync")

        said = mill("webhook", "dead", made["id"], "--resend", "--json")

        assert (said.status, said.json) == (1, {"sent": 0, "left": 1, "reason": "server-error"})
