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
    return _PAGE.format(
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


_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>feedmill review</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>Candidates <small>{span} <bdi>{prompt}</bdi></small></h1>
<div class="bar">
<input id="search" type="search" placeholder="search title, summary, feed, topic" aria-label="search">
<select id="what" aria-label="which">
<option value="open">open</option><option value="all">all</option>
<option value="keep">keep</option><option value="unsure">unsure</option>
<option value="drop">drop</option><option value="undated">undated</option>
<option value="chosen">chosen</option>
</select>
<select id="topic" aria-label="topic"><option value="">every topic</option></select>
<input id="min" type="number" min="0" max="1" step="0.05" placeholder="score" aria-label="least score">
<select id="order" aria-label="order">
<option value="topic">by topic</option><option value="score">by score</option>
<option value="newest">newest first</option><option value="oldest">oldest first</option>
<option value="feed">by feed</option>
</select>
</div>
<div class="bar">
<button id="all" type="button">choose all shown</button>
<button id="none" type="button">choose none</button>
<button id="copy" type="button">copy ids</button>
<button id="save" type="button">save ids</button>
<span id="count" role="status"></span> <span id="said" role="status"></span>
</div>
</header>
<main id="list"></main>
<div id="end">…</div>
<footer>Nothing is inserted here: <code>feedmill insert-selected</code> takes the ids.
<kbd>j</kbd> <kbd>k</kbd> move, <kbd>x</kbd> choose, <kbd>Enter</kbd> details, <kbd>o</kbd> open,
<kbd>/</kbd> search, <kbd>a</kbd> all, <kbd>n</kbd> none, <kbd>c</kbd> copy, <kbd>s</kbd> save.</footer>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
