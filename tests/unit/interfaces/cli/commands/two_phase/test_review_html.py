"""The review page: one file, inert whatever a feed wrote, and nothing from outside."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import html5lib
import pytest
from tests.support.sample_candidate_files import a_file, candidate, said

from feedmill.interfaces.cli.commands.two_phase.review import review_page

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "--><svg/onload=alert(1)>",
    "</title></style><iframe src=https://evil.example/></iframe>",
    "{{7*7}} ${alert(1)} \u2028 \u2029 & &lt;b&gt;",
)
NAMESPACE = "{http://www.w3.org/1999/xhtml}"


def page_of(*texts: str, prompt: str = "") -> str:
    candidates = tuple(
        candidate(
            number,
            title=text,
            feed_title=text,
            summary=text,
            url=text,
            categories=(text,),
        )
        for number, text in enumerate(texts, 1)
    )
    suggestions = {
        number: said(number, topic=text, reason=text, evidence=(text,))
        for number, text in enumerate(texts, 1)
    }
    file = a_file(*candidates, prompt=prompt)
    return review_page(file, candidates, suggestions, save_as="week.selected.txt")


def elements(page: str, name: str) -> list[Any]:
    return list(html5lib.parse(page).iter(f"{NAMESPACE}{name}"))


def data_of(page: str) -> Any:
    (found,) = [e for e in elements(page, "script") if e.get("type") == "application/json"]
    return json.loads(found.text)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_feed_wrote_adds_no_element_to_the_page(text: str) -> None:
    plain, hostile = page_of("plain"), page_of(text, prompt=text)

    def names(page: str) -> list[str]:
        return [str(e.tag) for e in html5lib.parse(page).iter()]

    assert names(hostile) == names(plain)


def test_the_candidates_lie_in_the_page_as_data_with_their_words() -> None:
    data = data_of(page_of("绿色供应链 & <b>more</b>", "second"))

    first = data["candidates"][0]
    assert first["title"] == "绿色供应链 & <b>more</b>"
    assert (first["id"], first["suggestion"], first["score"]) == (1, "keep", 0.8)
    assert data["digest"] == a_digest(data)
    assert data["save_as"] == "week.selected.txt"


def a_digest(data: dict[str, Any]) -> str:
    found = data["digest"]
    assert re.fullmatch(r"[0-9a-f]{64}", found)
    return str(found)


def test_characters_that_cannot_be_seen_do_not_reach_the_page() -> None:
    data = data_of(page_of("abc\u202edef\x00\u200b"))

    assert data["candidates"][0]["title"] == "abc def"


def test_the_policy_allows_this_script_and_this_style_and_nothing_else() -> None:
    page = page_of("plain")
    (policy,) = [
        e.get("content")
        for e in elements(page, "meta")
        if e.get("http-equiv") == "Content-Security-Policy"
    ]
    (style,) = elements(page, "style")
    (script,) = [e for e in elements(page, "script") if e.get("type") is None]

    def named(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {named(style.text)}",
        f"script-src {named(script.text)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_the_page_names_nothing_outside_of_itself() -> None:
    page = page_of("plain")

    for element in html5lib.parse(page).iter():
        assert not {"src", "href", "style", "srcset", "action"} & set(element.keys())
        assert not any(str(name).startswith("on") for name in element.attrib)
    scripts = "".join(e.text for e in elements(page, "script") if e.get("type") is None)
    assert "innerHTML" not in scripts
    assert "insertAdjacentHTML" not in scripts
    assert "eval(" not in scripts
    assert "fetch(" not in scripts


def test_everything_that_the_script_looks_for_is_in_the_page() -> None:
    page = page_of("plain")
    ids = {e.get("id") for e in html5lib.parse(page).iter()}
    script = next(e.text for e in elements(page, "script") if e.get("type") is None)

    wanted = set(re.findall(r'\$\("(\w+)"\)|getElementById\("(\w+)"\)', script))

    assert {a or b for a, b in wanted} <= ids


def test_five_thousand_candidates_fit_into_a_page() -> None:
    candidates = tuple(candidate(number, summary="x" * 2_000) for number in range(1, 5_001))

    page = review_page(a_file(*candidates), candidates, {}, save_as="week.selected.txt")

    assert len(data_of(page)["candidates"]) == 5_000
    assert len(page) < 6_000_000
