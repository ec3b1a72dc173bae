"""A window of candidates as one HTML page that works offline.

The page has no outside asset and may not load one: its policy names its own script and style by
their hashes and forbids the rest. Candidates lie in it as data; what a feed wrote is set as text.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

import msgspec

from feedmill.interfaces.cli.output import shorten
from feedmill.model.candidate import CandidateFile, WindowCandidate
from feedmill.model.screening import Screening

_SUMMARY: Final = 600
_UNSAFE: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def review_page(
    file: CandidateFile,
    candidates: Sequence[WindowCandidate],
    screenings: Mapping[int, Screening],
    *,
    save_as: str,
    names: Mapping[str, str] | None = None,
) -> str:
    """The page for these candidates; `save_as` is the file name of the downloaded selection."""
    style, script = _asset("review.css"), _asset("review.js")
    data = {
        "digest": file.digest,
        "save_as": save_as,
        "candidates": [
            _shape(one, screenings.get(one.candidate_id), names or {}) for one in candidates
        ],
    }
    return _asset("review.html").format(
        policy=_policy(style, script),
        style=style,
        script=script,
        data=_inert(data),
        span=escape(f"{file.window.start:%Y-%m-%d %H:%M} to {file.window.end:%Y-%m-%d %H:%M} UTC"),
        prompt=escape(shorten(file.prompt, 200)),
    )


def _shape(
    one: WindowCandidate, said: Screening | None, names: Mapping[str, str]
) -> dict[str, Any]:
    topic = "" if said is None else said.topic or ""
    return {
        "id": one.candidate_id,
        "title": shorten(one.title or "", 300),
        "published": "" if one.published_at is None else one.published_at.isoformat(),
        "feed": shorten(one.feed_title or "", 120),
        "url": shorten(one.url or "", 2_000),
        "summary": shorten(one.summary or "", _SUMMARY),
        "categories": [shorten(name, 60) for name in one.categories[:10]],
        "known": one.is_known,
        "elsewhere": one.is_known_elsewhere,
        "suggestion": "" if said is None else said.suggestion,
        "topic": shorten(names.get(topic, topic), 80),
        "score": 0.0 if said is None else said.score,
        "reason": "" if said is None else shorten(said.reason, 300),
        "evidence": [] if said is None else [shorten(word, 80) for word in said.evidence[:10]],
        "suspicious": said is not None and said.is_suspicious,
    }


def _inert(data: object) -> str:
    """JSON that cannot end the element it stands in, whatever a feed wrote."""
    text = msgspec.json.encode(data).decode()
    for character, instead in _UNSAFE.items():
        text = text.replace(character, instead)
    return text


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return (files("feedmill.interfaces.cli") / "page" / name).read_text("utf-8")
