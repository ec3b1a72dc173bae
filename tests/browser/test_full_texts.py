"""Extracted full texts in a real browser: no payload of the XSS vectors runs."""

import json
from pathlib import Path

from playwright.sync_api import Browser

from feedmill.adapters.extractor import answer_of
from feedmill.model.derived.fetched import ExtractedText, PageTask

_CASES = json.loads((Path(__file__).parents[1] / "vectors" / "xss.json").read_text("utf-8"))[
    "cases"
]
_PROSE = (
    "<p>The stone bridge opens again on Sunday after two years of repair, later than planned.</p>"
    * 4
)
HARNESS = """<script>window.hits = []; window.__xss = n => hits.push(n);
for (const name of ['alert', 'confirm', 'prompt']) window[name] = () => hits.push(name);</script>"""
FIRE = """async () => {
  for (const one of document.querySelectorAll('.c *'))
    for (const kind of ['click', 'mouseover', 'pointerenter', 'focus', 'focusin', 'toggle', 'submit'])
      one.dispatchEvent(new Event(kind, {bubbles: true, cancelable: true}));
  await new Promise(done => setTimeout(done, 300));
  return hits;
}"""


def extracted(payload: str, selector: str | None) -> str:
    body = f"<!DOCTYPE html><html><body><article>{_PROSE}{payload}{_PROSE}</article></body></html>"
    found = answer_of(
        PageTask(
            body=body.encode("utf-8", "replace"),
            url="https://paper.example/a",
            content_type="text/html; charset=utf-8",
            selector=selector,
        )
    )
    return found.html if isinstance(found, ExtractedText) else ""


def test_no_payload_runs_in_an_extracted_text(chromium: Browser) -> None:
    texts = [
        html
        for case in _CASES
        for selector in (None, "article")
        if (html := extracted(case["payload"], selector))
    ]
    context = chromium.new_context()
    page = context.new_page()

    page.set_content(HARNESS + "".join(f"<div class=c>{html}</div>" for html in texts))
    page.evaluate("__xss(0)")
    ran = page.evaluate(FIRE)

    context.close()
    assert len(texts) > len(_CASES)
    assert ran == [0]  # only what the test itself ran
