"""Suites with a JSON file beside each document are judged by meaning (tools/json_suite.py)."""

import json
from pathlib import Path
from typing import Any

import pytest
from tools.json_suite import judge_json, read_json_cases

FEED = """<rss version="2.0"><channel><title>Foo</title><link>http://example.com</link>
<item><title>Bar &amp;amp; baz</title><guid>g1</guid><pubDate>Wed, 27 Apr 2011 07:00:00 +0000</pubDate>
<description>&lt;p&gt;Words&lt;/p&gt;</description><author>jane@example.com (Jane)</author>
<enclosure url="http://example.com/a.mp3" type="audio/mpeg" length="12"/><category>x</category>
</item></channel></rss>"""


def outcomes(folder: Path, expected: dict[str, Any], name: str = "a.json") -> list[str]:
    (folder / "a.xml").write_text(FEED, encoding="utf-8")
    (folder / name).write_text(json.dumps(expected), encoding="utf-8")
    (case,) = read_json_cases(folder)
    return [verdict.outcome for verdict in judge_json(case)]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"title": "Bar & baz"}, id="a title"),
        pytest.param({"published": 1303887600}, id="seconds since 1970"),
        pytest.param({"publishedParsed": "2011-04-27T07:00:00Z"}, id="another spelling of a date"),
        pytest.param({"guid": {"value": "g1"}}, id="a value with parts"),
        pytest.param({"description": "<p>Words</p>"}, id="markup"),
        pytest.param({"categories": ["x"]}, id="a list"),
        pytest.param(
            {"enclosures": [{"url": "http://example.com/a.mp3", "mime_type": "audio/mpeg", "file_size": 12}]},
            id="names of another parser",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.json", "a.expected.json", "a.xml.json"])
def test_fact_in_other_words_holds(tmp_path: Path, entry: dict[str, Any], name: str) -> None:
    assert outcomes(tmp_path, {"items": [entry]}, name) == ["holds", "holds"]


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [
        ({"title": "Other"}, ["fails"]),
        ({"entries": [{}, {}]}, ["fails"]),
        ({"feedType": "rss"}, ["not-modelled"]),
        ({"language": ""}, ["no-assertion"]),
        ({"feed": {"title": "Foo"}}, ["holds"]),
    ],
)
def test_other_outcomes(tmp_path: Path, expected: dict[str, Any], outcome: list[str]) -> None:
    assert outcomes(tmp_path, expected) == outcome


def test_unreadable_document_fails_its_case(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("no feed", encoding="utf-8")
    (tmp_path / "a.json").write_text('{"title": "x"}', encoding="utf-8")
    (case,) = read_json_cases(tmp_path)

    assert [verdict.reason for verdict in judge_json(case)] == ["gap: unreadable, not-a-feed"]
