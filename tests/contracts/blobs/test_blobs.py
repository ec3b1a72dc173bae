"""What every raw store promises, whatever it is made of."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.blob_stores import (
    IMPLEMENTATIONS,
    Index,
    StillClock,
    digest_of,
    keep,
    noise,
    opened,
    point_to,
    successions,
    versions,
)

from feedmill.adapters.blobs.record import MAGIC, write_header
from feedmill.config import StoreConfig
from feedmill.engine.ports.io import Blobs
from feedmill.errors import BlobError, BlobMoved, UsageError

Opened = Callable[..., AbstractAsyncContextManager[Blobs]]


@pytest.fixture(params=sorted(IMPLEMENTATIONS))
def raw_store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Opened:
    """Opens the same raw store each time it is called."""
    if request.param == "objects on s3":
        point_to(request.getfixturevalue("s3_server"), monkeypatch)
    return partial(opened, tmp_path / "raw", opener=IMPLEMENTATIONS[request.param])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0", id="one byte"),
        pytest.param(b"<rss/>", id="a document"),
        pytest.param(bytes(100_000), id="zeros"),
        pytest.param(noise(3_000_000), id="megabytes of noise"),
        pytest.param(MAGIC * 1000, id="marks of our own records"),
        pytest.param(
            write_header(b"x", segment="s", sha256="0" * 64, coding="raw", raw_length=1) + b"x",
            id="a record inside a body",
        ),
    ],
)
async def test_a_body_comes_back_byte_for_byte(raw_store: Opened, body: bytes) -> None:
    async with raw_store() as blobs:
        ref = await blobs.put(body, sha256=digest_of(body))

        assert await blobs.get(ref) == body
        assert (ref.sha256, ref.raw_length) == (digest_of(body), len(body))


async def test_one_body_put_twice_at_the_same_time_keeps_both_notes(raw_store: Opened) -> None:
    body, notes = b"<rss/>", {b"of one feed", b"of another"}
    async with raw_store() as blobs:
        puts = [blobs.put(body, sha256=digest_of(body), note=note) for note in notes]
        first, second = await asyncio.gather(*puts)
        await blobs.seal()

        kept = [await blobs.notes(segment.name) for segment in await blobs.segments()]
        assert {one.note for of_segment in kept for one in of_segment} == notes
        assert first == second
        assert await blobs.get(first) == body


async def test_bodies_put_at_the_same_time_all_come_back(raw_store: Opened) -> None:
    bodies = [noise(size, f"body {size}") for size in range(300)]
    async with raw_store() as blobs:
        refs = await keep(blobs, bodies)

        assert await asyncio.gather(*map(blobs.get, refs)) == bodies
        assert len({(ref.segment, ref.offset) for ref in refs}) == len(bodies)


async def test_what_was_put_is_there_after_a_restart(raw_store: Opened) -> None:
    bodies = versions("restart", 5)
    async with raw_store() as blobs:
        refs = await keep(blobs, bodies)

    async with raw_store() as blobs:
        assert [await blobs.get(ref) for ref in refs] == bodies


async def test_the_same_body_is_kept_once_however_often_it_is_put(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        at_once = await keep(blobs, [b"same"] * 10)
        later = await keep(blobs, [b"same"])

        assert len({(ref.segment, ref.offset) for ref in [*at_once, *later]}) == 1


async def test_a_name_that_is_no_hash_is_refused(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        for name in ("", "abc", "g" * 64, digest_of(b"x").upper()):
            with pytest.raises(UsageError, match="SHA-256"):
                await blobs.put(b"x", sha256=name)


async def test_a_body_kept_under_a_wrong_hash_is_never_given_out(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        ref = await blobs.put(b"one thing", sha256=digest_of(b"another"))

        with pytest.raises(BlobError, match="hash") as caught:
            await blobs.get(ref)
        assert caught.value.reason == "damaged"


async def test_a_pointer_to_the_wrong_place_is_noticed(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        first, second = await keep(blobs, [b"first body", b"other body"])

        for wrong in (
            replace(first, offset=first.offset + 1),
            replace(first, length=first.length - 1),
            replace(first, offset=1 << 40),
            replace(first, offset=second.offset, length=second.length),
            replace(first, segment="../../etc/passwd"),
        ):
            with pytest.raises(BlobError) as caught:
                await blobs.get(wrong)
            assert caught.value.reason == "damaged"


async def test_a_segment_that_is_gone_asks_the_reader_to_look_again(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        (ref,) = await keep(blobs, [b"here today"])
        segment = await blobs.seal()
        assert segment == ref.segment
        await blobs.drop(segment)

        with pytest.raises(BlobMoved):
            await blobs.get(ref)
        await blobs.drop(segment)  # once more is fine


async def test_sealing_ends_a_segment_and_the_next_body_begins_another(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        assert await blobs.seal() is None
        (before,) = await keep(blobs, [b"before"])
        await blobs.seal()
        (after,) = await keep(blobs, [b"after"])

        segments = {one.name: one for one in await blobs.segments()}
        assert after.segment != before.segment
        assert segments[before.segment].sealed
        assert segments[before.segment].size_bytes == before.length


async def test_reencoding_keeps_every_byte_in_a_fraction_of_the_space(raw_store: Opened) -> None:
    feeds = [versions(f"feed{number}", 10) for number in range(5)]
    plan = successions(feeds)
    async with raw_store() as blobs:
        index = Index(await keep(blobs, [body for body, _ in plan]))
        await blobs.seal()
        packed = await blobs.reencode(
            [(index.rows[digest_of(body)], previous) for body, previous in plan]
        )
        index.move(packed)

        for body, _ in plan:
            assert await index.body(blobs, digest_of(body)) == body
        leaning = [ref for ref in packed if ref.coding == "zstd-prefix"]
        assert len(leaning) == 45
        assert sum(ref.raw_length for ref in leaning) / sum(ref.length for ref in leaning) >= 20
        (segment,) = {ref.segment for ref in packed}
        (info,) = [one for one in await blobs.segments() if one.name == segment]
        assert info.sealed
        assert info.packed
        assert info.size_bytes == sum(ref.length for ref in packed)


async def test_a_body_is_read_with_the_prefix_at_hand_or_without(raw_store: Opened) -> None:
    first, second = versions("pair", 2)
    async with raw_store() as blobs:
        refs = await keep(blobs, [first, second])
        await blobs.seal()
        _, leaning = await blobs.reencode([(refs[0], None), (refs[1], refs[0].sha256)])

        assert leaning.prefix_sha256 == digest_of(first)
        assert await blobs.get(leaning, first) == second
        assert await blobs.get(leaning) == second
        with pytest.raises(BlobError, match="hash"):
            await blobs.get(leaning, b"something else")


async def test_long_chains_are_broken_by_bodies_that_stand_alone(raw_store: Opened) -> None:
    bodies = versions("long", 45, items=5)
    plan = successions([bodies])
    async with raw_store() as blobs:
        index = Index(await keep(blobs, bodies))
        await blobs.seal()
        packed = await blobs.reencode([(index.rows[digest_of(b)], p) for b, p in plan])

        alone = [at for at, ref in enumerate(packed) if ref.prefix_sha256 is None]
        assert alone == [0, 20, 40]
        assert await blobs.get(packed[39]) == bodies[39]


async def test_a_body_whose_predecessor_is_not_there_stands_alone(raw_store: Opened) -> None:
    first, second = versions("lonely", 2)
    async with raw_store() as blobs:
        refs = await keep(blobs, [first, second])
        await blobs.seal()
        (packed,) = await blobs.reencode([(refs[1], refs[0].sha256)])

        assert packed.coding == "zstd"
        assert await blobs.get(packed) == second


async def test_a_body_shared_by_two_feeds_is_written_once(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        (ref,) = await keep(blobs, [b"hello " * 100])
        await blobs.seal()

        assert len(await blobs.reencode([(ref, None), (ref, None)])) == 1
        assert await blobs.reencode([]) == ()


async def test_a_packed_segment_is_packed_again_without_what_was_forgotten(
    raw_store: Opened,
) -> None:
    bodies = versions("again", 6)
    plan = successions([bodies])
    async with raw_store() as blobs:
        index = Index(await keep(blobs, bodies))
        await blobs.seal()
        index.move(await blobs.reencode([(index.rows[digest_of(b)], p) for b, p in plan]))
        newest = plan[3:]
        again = await blobs.reencode([(index.rows[digest_of(b)], p) for b, p in newest])
        await blobs.drop(index.rows[digest_of(bodies[0])].segment)

        assert [await blobs.get(ref) for ref in again] == bodies[3:]


async def test_a_body_that_cannot_be_read_does_not_hold_up_the_others(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        good, gone = await keep(blobs, [b"good " * 50, b"gone " * 50])
        await blobs.seal()
        lost = replace(gone, segment="0000")

        assert [ref.sha256 for ref in await blobs.reencode([(lost, None), (good, None)])] == [
            good.sha256
        ]
        assert await blobs.reencode([(lost, None)]) == ()


async def test_a_segment_without_pointers_goes_only_after_the_grace_period(
    raw_store: Opened,
) -> None:
    clock = StillClock()
    async with raw_store(clock, StoreConfig(segment_grace_sec=600)) as blobs:
        (ref,) = await keep(blobs, [b"to be forgotten"])
        await blobs.seal()

        assert await blobs.sweep(ref.segment, []) == "condemned"
        (segment,) = await blobs.segments()
        assert segment.condemned_at == clock.now()
        clock.advance(599)
        assert await blobs.sweep(ref.segment, []) == "condemned"
        clock.advance(1)
        assert await blobs.sweep(ref.segment, []) == "dropped"
        assert await blobs.segments() == ()


async def test_a_pointer_that_comes_back_saves_the_segment(raw_store: Opened) -> None:
    clock = StillClock()
    async with raw_store(clock, StoreConfig(segment_grace_sec=600)) as blobs:
        (ref,) = await keep(blobs, [b"back again"])
        await blobs.seal()
        await blobs.sweep(ref.segment, [])
        clock.advance(599)
        await blobs.sweep(ref.segment, [ref])
        clock.advance(599)

        assert await blobs.sweep(ref.segment, []) == "condemned"
        assert await blobs.get(ref) == b"back again"


async def test_a_segment_is_worth_rewriting_when_half_of_it_is_forgotten(raw_store: Opened) -> None:
    bodies = versions("sparse", 12)
    plan = successions([bodies])
    async with raw_store() as blobs:
        index = Index(await keep(blobs, bodies))
        raw = await blobs.seal()
        assert raw is not None
        assert await blobs.sweep(raw, index.within(raw)) == "rewrite"
        packed = await blobs.reencode([(index.rows[digest_of(b)], p) for b, p in plan])

        fates = [await blobs.sweep(packed[0].segment, packed[cut:]) for cut in range(12)]
        assert fates == ["kept"] * 7 + ["rewrite"] * 5


async def test_sweeping_what_another_process_has_dropped_is_fine(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        assert await blobs.sweep("0000", []) == "dropped"


async def test_verify_has_nothing_to_say_about_a_sound_store(raw_store: Opened) -> None:
    bodies = versions("sound", 8)
    plan = successions([bodies])
    async with raw_store() as blobs:
        index = Index(await keep(blobs, bodies))
        assert await blobs.verify(list(index.rows.values())) == ()
        await blobs.seal()
        index.move(await blobs.reencode([(index.rows[digest_of(b)], p) for b, p in plan]))
        assert await blobs.verify(list(index.rows.values())) == ()  # the old segment is there too

        del index.rows[digest_of(bodies[0])]  # the others lean on it: it is no orphan there
        problems = await blobs.verify(list(index.rows.values()))
        assert [(one.fault, one.sha256) for one in problems] == [("orphan", digest_of(bodies[0]))]


async def test_verify_names_rows_without_bytes_and_bytes_without_rows(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        known, orphan = await keep(blobs, [b"known", b"orphan"])
        await blobs.seal()
        lost = replace(known, sha256=digest_of(b"lost"), segment="0000")
        wrong = replace(known, sha256=digest_of(b"wrong"))

        problems = await blobs.verify([known, lost, wrong])
        assert {(one.fault, one.sha256) for one in problems} == {
            ("orphan", orphan.sha256),
            ("missing", lost.sha256),
            ("damaged", wrong.sha256),
        }


async def test_a_whole_segment_is_carried_to_another_place_under_its_name(
    raw_store: Opened,
) -> None:
    bodies = versions("carried", 4)
    plan = successions([bodies])
    async with raw_store() as blobs:
        index = Index(await keep(blobs, bodies))
        await blobs.seal()
        packed = await blobs.reencode([(index.rows[digest_of(b)], p) for b, p in plan])
        (name,) = {ref.segment for ref in packed}
        data = await blobs.read_segment(name)
        await blobs.drop(name)
        with pytest.raises(BlobMoved):
            await blobs.read_segment(name)

        await blobs.write_segment(name, data)
        await blobs.write_segment(name, data)  # once more is fine

        assert [await blobs.get(ref) for ref in packed] == bodies
        assert await blobs.verify(packed, only=[name]) == ()
        assert name in {one.name for one in await blobs.segments() if one.sealed}


async def test_verifying_some_segments_looks_at_no_others(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        (looked_at,) = await keep(blobs, [b"looked at"])
        await blobs.seal()
        (other,) = await keep(blobs, [b"an orphan elsewhere"])
        await blobs.seal()

        assert await blobs.verify([looked_at], only=[looked_at.segment]) == ()
        (problem,) = await blobs.verify([looked_at])
        assert (problem.fault, problem.sha256) == ("orphan", other.sha256)


async def test_readers_follow_the_index_while_everything_is_reencoded(raw_store: Opened) -> None:
    bodies = versions("moving", 10)
    plan = successions([bodies])
    async with raw_store() as blobs, raw_store() as other:
        index = Index(await keep(blobs, bodies))
        await blobs.seal()
        read_one, done = asyncio.Event(), asyncio.Event()

        async def move() -> None:
            for _ in range(20):
                old = {ref.segment for ref in index.rows.values()}
                rows = [(index.rows[digest_of(body)], last) for body, last in plan]
                index.move(await other.reencode(rows))
                for segment in old:
                    await other.drop(segment)
                read_one.clear()  # one move per read: asking again once is enough
                await read_one.wait()
            done.set()

        async def read() -> None:
            while not done.is_set():
                for body in bodies:
                    assert await index.body(blobs, digest_of(body)) == body
                    read_one.set()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(move())
            tasks.create_task(read())

        assert await blobs.verify(list(index.rows.values())) == ()


async def test_a_closed_store_says_that_it_is_closed(raw_store: Opened) -> None:
    async with raw_store() as blobs:
        (ref,) = await keep(blobs, [b"x"])
    await blobs.close()  # once more is fine

    with pytest.raises(BlobError, match="closed"):
        await keep(blobs, [b"y"])
    with pytest.raises(BlobError, match="closed"):
        await blobs.get(ref)
