"""The extractor's processes: results, deadline, memory, crashes; the next page is not affected."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace
from tests.support.waiting import hang_guard
from tests.support.web_pages import page

from feedmill.adapters import extractor as pool_module
from feedmill.adapters.extractor import ExtractorPool
from feedmill.config import FullTextConfig
from feedmill.errors import MissingExtraError
from feedmill.model.derived.fetched import ExtractedText, NoFullText, PageTask

GOOD = PageTask(body=page(1).encode(), url="https://paper.example/1")
CONFIG = FullTextConfig(deadline_sec=120.0)


def play(
    story: Callable[[ExtractorPool], Awaitable[None]], config: FullTextConfig = CONFIG
) -> None:
    async def run() -> None:
        async with hang_guard():
            pool = ExtractorPool(config)
            try:
                await story(pool)
            finally:
                await pool.close()

    asyncio.run(run())


def test_text_comes_out_sanitised() -> None:
    async def story(pool: ExtractorPool) -> None:
        found = await pool.extract(GOOD)

        assert isinstance(found, ExtractedText)
        assert "The end of story 1" in found.html
        assert "onclick" not in found.html
        assert "alert" not in found.html

    play(story)


def test_pages_that_break_the_extractor_cost_only_themselves() -> None:
    """A selector that never ends, and a page that takes more memory than there is."""

    async def story(pool: ExtractorPool) -> None:
        endless = "//*[count(//*[count(//*[count(//*[count(//*) > 0]) > 0]) > 0]) > 0]"
        slow = replace(GOOD, body=(page(1) + "<p>x</p>" * 2_000).encode(), selector=endless)
        huge = replace(GOOD, body=b"<html><body>" + b"<p>" * 1_000_000)
        pool._config = replace(pool._config, deadline_sec=1.0)

        late = await pool.extract(slow)
        large = await pool.extract(huge)
        pool._config = replace(pool._config, deadline_sec=120.0)
        good = await pool.extract(GOOD)

        assert late == NoFullText(reason="deadline", detail="1 s")
        assert isinstance(large, NoFullText)
        assert large.reason in ("out-of-memory", "extractor-crashed", "no-text", "deadline")
        assert isinstance(good, ExtractedText)

    play(story, replace(CONFIG, memory_mb=64))


def test_process_that_dies_is_replaced() -> None:
    async def story(pool: ExtractorPool) -> None:
        await pool.extract(GOOD)
        (child,) = pool._idle
        child._process.kill()
        await child._process.wait()

        crashed, good = await pool.extract(GOOD), await pool.extract(GOOD)

        assert crashed == NoFullText(reason="extractor-crashed")
        assert isinstance(good, ExtractedText)

    play(story)


def test_process_is_replaced_after_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_MOST_PAGES", 1)

    async def story(pool: ExtractorPool) -> None:
        await pool.extract(GOOD)

        assert pool._idle == []
        assert not pool._all

    play(story)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "find_spec", lambda _: None)

    async def story(pool: ExtractorPool) -> None:
        with pytest.raises(MissingExtraError) as caught:
            await pool.extract(GOOD)

        assert "feedmill[fulltext]" in caught.value.hint

    play(story)
