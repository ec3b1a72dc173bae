"""Small windows to try files, pages and reviews with."""

from datetime import UTC, datetime, timedelta
from typing import Any

from feedmill.engine.two_phase.candidates import pack_body, with_checksum
from feedmill.model.candidate import (
    SCHEMA,
    CandidateFile,
    CollectedDocument,
    SourceReport,
    Window,
    WindowCandidate,
)
from feedmill.model.screening import Screening, Suggestion

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = Window(start=MONDAY, end=MONDAY + timedelta(days=7))


def candidate(number: int, **facts: Any) -> WindowCandidate:
    """A candidate that says its number everywhere."""
    given: dict[str, Any] = {
        "title": f"Title {number}",
        "published_at": MONDAY + timedelta(hours=number),
        "feed_title": "The Paper",
        "url": f"https://paper.example/{number}",
        "summary": f"About {number}.",
        "categories": ("news",),
        "dedupe_key": f"guid:https://paper.example/feed:{number}",
        "source": 0,
    }
    return WindowCandidate(candidate_id=number, **(given | facts))


def a_file(*candidates: WindowCandidate, prompt: str = "green things") -> CandidateFile:
    """A sealed window of these, or of three."""
    document = CollectedDocument(
        source=0,
        url="https://paper.example/feed",
        final_url="https://paper.example/feed",
        fetched_at=WEEK.end,
        body_sha256="0" * 64,
        body=pack_body(b"<rss/>"),
    )
    return with_checksum(
        CandidateFile(
            schema=SCHEMA,
            created_at=WEEK.end,
            window=WEEK,
            topics=("lca",),
            prompt=prompt,
            sources=(SourceReport(url="https://paper.example/feed", outcome="ok"),),
            candidates=candidates or tuple(candidate(number) for number in (1, 2, 3)),
            documents=(document,),
        )
    )


def said(number: int, suggestion: Suggestion = "keep", **facts: Any) -> Screening:
    """What screening says of a candidate."""
    given: dict[str, Any] = {
        "topic": "lca",
        "score": 0.8,
        "methods": ("lexical",),
        "reason": "speaks of life cycles",
    }
    return Screening(candidate_id=number, suggestion=suggestion, **(given | facts))
