"""Sanitised entries in a real browser: no payload of the XSS vectors runs, wherever it is hidden."""

import json
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser

from feedmill.config import NormaliseConfig
from feedmill.model.parsed import Content, ParsedEntry, Text
from feedmill.normalise.entry import FeedContext, normalise_entry
from feedmill.normalise.html.sanitise import clean_html
from tests.browser.test_full_texts import FIRE, HARNESS

_CASES: Final = json.loads((Path(__file__).parents[1] / "vectors" / "xss.json").read_text("utf-8"))[
    "cases"
]
_BASE: Final = "https://paper.example/a"
# What is unwrapped, kept as text, made a link, closed late or never: `{}` is the payload.
_WRAPPERS: Final = (
    "{}", "<p>{}</p>", "<mi>{}</mi>", "<svg>{}</svg>", "<math><mtext>{}</mtext></math>",
    "<xmp>{}</xmp>", "<textarea>{}</textarea>", "<plaintext>{}", "<noscript>{}</noscript>",
    "<template>{}</template>", "<title>{}</title>", "<iframe/>{}", "<script/>{}", "<style/>{}",
    "<object>{}</object>", "<select><option>{}</select>", "<table>{}</table>", "<!--{}-->",
    "<iframe src='/a' title='{}'></iframe>", '<video title="{}" src="/a.mp4"></video>',
    "<audio src='{}'></audio>", '<iframe data-src="{}"></iframe>', "x<y {}", "<a@b.example {}>",
    "<http://a.example/{}>", "<foo {}>text</foo>", "{} <br...",
    '<img src="data:," data-src="{}">', "<img data-src='/a' {}>",
)  # fmt: skip


def _bodies(payload: str, wrapper: str) -> list[str]:
    """What becomes of it as a content of each type, as a summary, and by the sanitiser alone."""
    html = wrapper.replace("{}", payload)
    kinds = ("text/html", "application/xhtml+xml", "text/plain")
    entries = [ParsedEntry(contents=(Content(value=html, type=kind),)) for kind in kinds]
    entries += [ParsedEntry(summary=Text(value=html, kind=kind)) for kind in ("html", "xhtml")]
    context, config = FeedContext(base=_BASE), NormaliseConfig()
    found = [normalise_entry(entry, context, config).content or "" for entry in entries]
    return [*found, clean_html(html, base=_BASE), clean_html(clean_html(html))]


@pytest.mark.parametrize("wrapper", _WRAPPERS)
def test_no_payload_runs_in_a_sanitised_body(chromium: Browser, wrapper: str) -> None:
    bodies = {body for case in _CASES for body in _bodies(case["payload"], wrapper) if body}
    context = chromium.new_context()
    context.set_offline(True)
    page = context.new_page()

    page.set_content(HARNESS + "".join(f"<div class=c>{body}</div>" for body in sorted(bodies)))
    page.evaluate("__xss(0)")
    ran = page.evaluate(FIRE)

    context.close()
    assert ran == [0]  # only what the test itself ran
