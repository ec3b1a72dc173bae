"""robots.txt against the vectors, and the rules of RFC 9309 behind them."""

import json
from pathlib import Path
from typing import Any

import pytest

from feedmill.fetch.robots import (
    MAX_BYTES,
    Rules,
    decode_robots,
    robots_access,
)

_VECTORS = Path(__file__).parents[2] / "vectors" / "robots.json"
_CASES: list[dict[str, Any]] = json.loads(_VECTORS.read_text(encoding="utf-8"))["cases"]
_TOKEN = "feedmill"
_DAY = 86_400


def _cases(*categories: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{case['id']}-{case['why'][:60]}")
        for case in _CASES
        if case["category"].startswith(categories)
    ]


@pytest.mark.parametrize("case", _cases("match"))
def test_rules_match_as_the_vector_says(case: dict[str, Any]) -> None:
    verdict = Rules(case["robots_txt"], case["product_token"]).allow(case["url"])

    assert verdict is case["allowed"]


@pytest.mark.parametrize("case", _cases("crawl_delay"))
def test_crawl_delay_is_read_as_the_vector_says(case: dict[str, Any]) -> None:
    assert (
        Rules(case["robots_txt"], case["product_token"]).crawl_delay()
        == case["expected_crawl_delay"]
    )


@pytest.mark.parametrize("case", _cases("access"))
def test_access_is_assumed_as_the_vector_says(case: dict[str, Any]) -> None:
    fetch = case["fetch"]
    error = "private-address" if "location" in fetch else fetch.get("error")

    access = robots_access(
        fetch.get("status", fetch.get("final_status")),
        error=error,
        cached_age_sec=fetch.get("cached_age_hours", 0) * 3_600,
    )

    assert access == case["expected"]


class TestAccess:
    @pytest.mark.parametrize(
        ("status", "access"),
        [
            pytest.param(203, "use_rules", id="success of another kind"),
            pytest.param(205, "allow_all", id="success without rules"),
            pytest.param(301, "allow_all", id="a redirect to nowhere"),
            pytest.param(404, "allow_all", id="no such file"),
            pytest.param(429, "allow_all", id="a 4xx like any other"),
            pytest.param(599, "disallow_all", id="a 5xx like any other"),
            pytest.param(101, "disallow_all", id="no answer to a GET"),
            pytest.param(None, "disallow_all", id="no answer"),
        ],
    )
    def test_the_class_of_the_status_decides(self, status: int | None, access: str) -> None:
        assert robots_access(status) == access

    def test_a_copy_is_good_for_a_day_and_no_longer(self) -> None:
        assert robots_access(200, cached_age_sec=_DAY) == "use_rules"
        assert robots_access(200, cached_age_sec=_DAY + 1) == "refetch"

    def test_more_redirects_than_we_follow_are_no_file(self) -> None:
        assert robots_access(302, error="too-many-redirects") == "allow_all"

    def test_after_a_month_out_of_reach_the_file_counts_as_missing(self) -> None:
        assert robots_access(503, unreachable_sec=30 * _DAY) == "disallow_all"
        assert robots_access(503, unreachable_sec=30 * _DAY + 1) == "allow_all"


class TestAgents:
    @pytest.mark.parametrize(
        "agent",
        [
            pytest.param("feedmill", id="the token"),
            pytest.param("FeedMill", id="another case"),
            pytest.param("feedmill/1.0", id="with a version"),
            pytest.param("feedmill*", id="with a star"),
            pytest.param("*", id="everybody"),
            pytest.param("* # all", id="everybody, with a comment"),
            pytest.param("*\tbots", id="everybody, with words"),
        ],
    )
    def test_a_group_that_names_us_binds_us(self, agent: str) -> None:
        assert not Rules(f"User-agent: {agent}\nDisallow: /", _TOKEN).allow("https://example.com/x")

    @pytest.mark.parametrize(
        "agent",
        [
            pytest.param("feed", id="a beginning of our name"),
            pytest.param("feedmillbot", id="a longer name"),
            pytest.param("my-feedmill", id="another beginning"),
            pytest.param("mill", id="an end of our name"),
            pytest.param("", id="nobody"),
            pytest.param("%", id="no token"),
        ],
    )
    def test_a_group_for_somebody_else_does_not(self, agent: str) -> None:
        assert Rules(f"User-agent: {agent}\nDisallow: /", _TOKEN).allow("https://example.com/x")

    def test_other_records_do_not_break_a_group(self) -> None:
        text = "User-agent: feedmill\nNoindex: /a\nUser-agent: other\nDisallow: /"

        assert not Rules(text, _TOKEN).allow("https://example.com/x")

    def test_an_agent_line_without_a_colon_is_understood(self) -> None:
        assert not Rules("User-agent feedmill\nDisallow /", _TOKEN).allow("https://example.com/x")

    def test_a_line_is_ended_by_line_ends_only(self) -> None:
        text = "User-agent: *\nDisallow: /a\u2028b\x0cc\n"

        assert Rules(text, _TOKEN).allow("https://example.com/a")
        assert not Rules(text, _TOKEN).allow("https://example.com/a%E2%80%A8b%0Cc")

    def test_thousands_of_agents_cost_no_more_than_their_lines(self) -> None:
        agents = "".join(f"User-agent: a{n % 15_000}\n" for n in range(25_000))

        assert not Rules(f"{agents}User-agent: *\nDisallow: /", _TOKEN).allow(
            "https://example.com/"
        )


class TestUrls:
    _RULES = Rules("\ufeffUser-agent: *\nDisallow: /feed?\nDisallow: /a/../b\n", _TOKEN)

    def test_a_byte_order_mark_is_no_part_of_the_first_line(self) -> None:
        assert not self._RULES.allow("https://example.com/feed?x")

    def test_a_lone_question_mark_belongs_to_what_is_matched(self) -> None:
        assert not self._RULES.allow("https://example.com/feed?#top")
        assert self._RULES.allow("https://example.com/feed#?")

    @pytest.mark.parametrize(
        "url",
        [
            pytest.param("https://[bad/", id="unreadable"),
            pytest.param("mailto:a@example.com", id="not for the web"),
        ],
    )
    def test_what_cannot_be_fetched_is_not_allowed(self, url: str) -> None:
        assert not self._RULES.allow(url)

    def test_robots_txt_itself_may_always_be_fetched(self) -> None:
        assert Rules("User-agent: *\nDisallow: /", _TOKEN).allow("https://example.com/robots.txt")


class TestCrawlDelay:
    @pytest.mark.parametrize(
        ("value", "delay"),
        [
            pytest.param("0.5", 0.5, id="fraction"),
            pytest.param(".5", 0.5, id="bare fraction"),
            pytest.param("10 # seconds", 10, id="comment"),
            pytest.param("86400", 86_400, id="a day"),
            pytest.param("86401", None, id="over a day"),
            pytest.param("1_0", None, id="underscore"),
            pytest.param("٥", None, id="other digits"),
            pytest.param("inf", None, id="infinity"),
            pytest.param("nan", None, id="no number"),
            pytest.param("5s", None, id="unit"),
            pytest.param("", None, id="empty"),
        ],
    )
    def test_only_plain_numbers_are_a_delay(self, value: str, delay: float | None) -> None:
        assert Rules(f"User-agent: *\nCrawl-delay: {value}", _TOKEN).crawl_delay() == delay

    def test_a_delay_is_clamped_to_what_the_caller_bears(self) -> None:
        text = "User-agent: *\nCrawl-delay: 600"

        assert Rules(text, _TOKEN).crawl_delay(max_sec=60) == 60
        assert Rules(text, _TOKEN).crawl_delay(max_sec=900) == 600

    def test_our_own_group_without_a_delay_outweighs_everybodys(self) -> None:
        text = "User-agent: *\nCrawl-delay: 9\n\nUser-agent: feedmill\nDisallow: /x"

        assert Rules(text, _TOKEN).crawl_delay() is None

    def test_without_a_file_there_is_no_delay(self) -> None:
        assert Rules("", _TOKEN).crawl_delay() is None


class TestDecoding:
    def test_a_byte_order_mark_is_removed_and_bad_octets_are_replaced(self) -> None:
        assert decode_robots(b"\xef\xbb\xbfDisallow: /\xff") == "Disallow: /\ufffd"

    def test_a_line_that_the_limit_cuts_is_left_out(self) -> None:
        body = b"Disallow: /a\nDisallow: /bcd\n"

        assert decode_robots(body, max_bytes=25) == "Disallow: /a\n"
        assert decode_robots(body, max_bytes=5) == ""
        assert decode_robots(body, max_bytes=28) == body.decode()

    def test_fifty_megabytes_are_read_up_to_the_limit(self) -> None:
        body = b"User-agent: *\nDisallow: /p\n" + b"#" * 50_000_000

        text = decode_robots(body)

        assert len(text) <= MAX_BYTES
        assert not Rules(text, _TOKEN).allow("https://example.com/p")
