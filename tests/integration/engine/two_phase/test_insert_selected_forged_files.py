"""Windows that somebody else made: what was shown is what is stored, in the feed that was named."""

import tracemalloc
from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace
from tests.integration.engine.two_phase.test_insert_selected import refused
from tests.support.engine_harness import Play, Stage, titles
from tests.support.two_phase_steps import answer, collect, insert, on

from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.engine.two_phase.candidates import pack_body, with_checksum
from feedmill.model.candidate import CandidateFile


@pytest.fixture
def store_url() -> None:
    """SQLite alone: files are judged before the store is asked."""


def _of_source(file: CandidateFile, **facts: Any) -> CandidateFile:
    return with_checksum(replace(file, sources=(replace(file.sources[0], **facts),)))


def _of_candidate(file: CandidateFile, **facts: Any) -> CandidateFile:
    return with_checksum(replace(file, candidates=(replace(file.candidates[0], **facts),)))


def test_a_window_that_names_the_id_of_another_feed_does_not_write_into_it(play: Play) -> None:
    async def story(stage: Stage) -> None:
        victim = await stage.poll(await stage.add("/victim", answer(on(1, 1))))
        stage.publisher.script("/stranger", answer(on(2, 2)))
        file = _of_source(await collect(stage, "/stranger"), feed_id=victim.id)

        done = await insert(stage, file)

        assert (done.new, done.feeds_added) == (1, 1)
        assert titles(await stage.entries(victim)) == ["Title 1"]

    play(story)


@pytest.mark.parametrize(
    "facts",
    [
        {"title": "A harmless title"},
        {"url": "https://harmless.example/"},
        {"summary": "Nothing to see."},
        {"categories": ("harmless",)},
        {"feed_title": "The most trusted paper"},
    ],
)
def test_a_candidate_that_shows_other_words_than_its_document_is_refused(
    play: Play, facts: dict[str, Any]
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))
        file = _of_candidate(await collect(stage, "/a"), **facts)

        assert await refused(stage, file, [1]) == "no-such-item"

    play(story)


def test_a_candidate_from_the_document_of_another_source_is_refused(play: Play) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))
        stage.publisher.script("/b", answer(on(2, 2)))
        file = await collect(stage, "/a", "/b")
        crossed = tuple(replace(one, source=1 - one.source) for one in file.candidates)

        file = with_checksum(replace(file, candidates=crossed))

        assert await refused(stage, file, [1]) == "malformed"

    play(story)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data/",
        "https://user:secret@paper.example/feed",
        "javascript:alert(1)",
        "HTTPS://PAPER.example:443/feed",
    ],
)
def test_a_source_that_nobody_could_subscribe_to_is_refused(play: Play, url: str) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/a", answer(on(1, 1)))
        file = _of_source(await collect(stage, "/a"), url=url, final_url=None, feed_id=None)

        assert await refused(stage, file, [1]) == "malformed"

    play(story)


def test_a_source_that_leads_to_a_stranger_does_not_take_the_strangers_address(play: Play) -> None:
    async def story(stage: Stage) -> None:
        victim = "https://victim.example/news"
        stage.publisher.script("/a", answer(on(1, 1)))
        await insert(stage, _of_source(await collect(stage, "/a"), final_url=victim))

        done = await subscribe_unchecked(victim, stage.services)

        assert done.created

    play(story)


def test_documents_that_unpack_to_much_more_are_not_kept_side_by_side(play: Play) -> None:
    async def story(stage: Stage) -> None:
        sent = answer(on(1, 1))
        stage.publisher.script("/a", sent)
        file = await collect(stage, "/a")
        limit = stage.services.config.fetch.max_body_bytes // 4
        file = _many(file, [sent.body + b" " * (limit + number) for number in range(12)])
        tracemalloc.start()
        try:
            await insert(stage, file)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert sum(len(one.body) for one in file.documents) < limit / 10
        assert most < 6 * limit

    play(story)


def _many(file: CandidateFile, bodies: list[bytes]) -> CandidateFile:
    """The first candidate, from a document of each of these bodies."""
    (document, *_), (first, *_) = file.documents, file.candidates
    return with_checksum(
        replace(
            file,
            documents=tuple(
                replace(document, body_sha256=sha256(body).hexdigest(), body=pack_body(body))
                for body in bodies
            ),
            candidates=tuple(
                replace(first, candidate_id=at + 1, document=at) for at in range(len(bodies))
            ),
        )
    )
