"""No page of the console shows a token of an address."""

import re

from tests.support.console_client import Browser, ConsoleMill
from tests.support.engine_harness import Stage
from tests.support.feed_documents import paper

from feedmill_demo.server.script import Answer

SECRET = "s3cr3t"
_MOST_PAGES = 150
_LINK = re.compile(r'(?:href|src)="(/[^"#]*)"')
_NO_PAGE = re.compile("/static/|logout|/stream|/raw")


def test_no_page_of_the_console_shows_the_token_of_an_address(
    mill: ConsoleMill, browser: Browser
) -> None:
    async def poll(stage: Stage) -> None:
        good = await stage.add(f"/good?token={SECRET}", paper(1), paper(2))
        moved = f"/moved?api_key={SECRET}"
        stage.publisher.script(moved, paper(3), host="127.0.0.1")
        address = stage.publisher.url(moved, host="127.0.0.1")
        other = await stage.add(
            f"/other?token={SECRET}", Answer(status=302, headers=(("Location", address),))
        )
        bad = await stage.add(f"/bad?token={SECRET}", Answer(status=500))
        await stage.poll(good, other, bad, times=2)

    mill.tell(poll)
    hook = {"url": f"https://hook.example/?token={SECRET}", "types": "entry.new"}
    pages = {"/console/webhooks": browser.send("/console/webhooks", hook, page="/console/webhooks")}
    waiting = ["/console"]

    while waiting and len(pages) < _MOST_PAGES:
        path = waiting.pop(0)
        if path not in pages:
            pages[path] = browser.open(path)
            found = (one.replace("&amp;", "&") for one in _LINK.findall(pages[path].body.decode()))
            waiting += [one for one in found if not _NO_PAGE.search(one)]

    kinds = {re.sub(r"[0-9a-f-]{32,}", "ID", path.partition("?")[0]) for path in pages}
    assert kinds >= {
        "/console/feeds",
        "/console/feeds/ID",
        "/console/feeds/ID/fetches",
        "/console/fetches/ID",
    }
    assert [path for path, page in pages.items() if SECRET.encode() in page.body] == []
