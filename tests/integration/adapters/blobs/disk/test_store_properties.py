"""Laws of the raw store, for whatever bytes there may be."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.blob_stores import Index, digest_of, keep, opened, successions
from tests.support.waiting import run

from feedmill.engine.ports.io import Blobs

_bodies = st.binary(max_size=400) | st.binary(min_size=1, max_size=30).map(lambda part: part * 40)
_feeds = st.lists(st.lists(_bodies, min_size=1, max_size=5), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(feeds=_feeds, restart=st.booleans())
def test_put_seal_and_reencode_never_change_a_byte(feeds: list[list[bytes]], restart: bool) -> None:
    async def story(folder: Path) -> None:
        plan = successions(feeds)
        async with opened(folder) as blobs:
            index = Index(await keep(blobs, [body for body, _ in plan]))
            for body, _ in plan:
                assert await index.body(blobs, digest_of(body)) == body
            if not restart:
                await _pack(index, blobs, plan)
        async with opened(folder) as blobs:
            if restart:
                await _pack(index, blobs, plan)
            for body, _ in plan:
                assert await index.body(blobs, digest_of(body)) == body
            assert await blobs.verify(list(index.rows.values())) == ()

    with TemporaryDirectory() as folder:
        run(story(Path(folder)))


async def _pack(index: Index, blobs: Blobs, plan: list[tuple[bytes, str | None]]) -> None:
    await blobs.seal()
    rows = [(index.rows[digest_of(body)], before) for body, before in plan]
    index.move(await blobs.reencode(rows))
