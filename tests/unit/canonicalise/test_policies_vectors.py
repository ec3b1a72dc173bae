"""Every vector of urls_canon.json under its policy, and the same answer on a second pass."""

import json
from pathlib import Path
from typing import Any

import pytest

from feedmill.canonicalise.policies import canonical_link

VECTORS = Path(__file__).parents[2] / "vectors" / "urls_canon.json"
CASES = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]
POLICIES = {
    "seed000": "identity-v1",
    "seed003": "article-v1",
    "aggressive": "feed-aggressive",
    "moderate": "feed-moderate",
    "conservative": "feed-conservative",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}: {case['why']}")
def test_a_url_has_the_canonical_form_its_policy_gives_it(case: dict[str, Any]) -> None:
    accepted = case.get("accept", [case["expected"]])

    canonical = canonical_link(case["input"], POLICIES[case["policy"]], base=case.get("base"))

    assert canonical in accepted


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["expected"] is not None], ids=lambda case: case["id"]
)
def test_a_recorded_canonical_form_is_accepted_as_canonical(case: dict[str, Any]) -> None:
    policy = POLICIES[case["policy"]]
    once = canonical_link(case["input"], policy, base=case.get("base"))
    assert once is not None

    twice = canonical_link(once, policy)

    assert twice == once
