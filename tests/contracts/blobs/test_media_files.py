"""Files of entries: partial files, contents by digest, links; on disk and in every kind of bucket."""

from collections.abc import Callable
from hashlib import sha256, sha512
from pathlib import Path

import pytest
from obstore.store import MemoryStore
from tests.support.blob_stores import bucket_url, point_to

from feedmill.adapters.blobs.bucket.address import open_object_store
from feedmill.adapters.blobs.bucket.media import BucketMedia
from feedmill.adapters.blobs.media_files import DiskMedia
from feedmill.config import BlobsConfig
from feedmill.engine.ports.media import MediaFiles
from feedmill.errors import NotKeptError
from feedmill.model.derived.fetched import PartialState

BODY = bytes(range(256)) * 100
DIGEST = sha256(BODY).hexdigest()
_memory = MemoryStore()


def on_disk(folder: Path) -> MediaFiles:
    return DiskMedia(folder)


def in_memory(folder: Path) -> MediaFiles:
    return BucketMedia(_memory, folder, "memory://")


def in_bucket(folder: Path) -> MediaFiles:
    url = bucket_url(folder)
    return BucketMedia(open_object_store(url, BlobsConfig()), folder, url)


@pytest.fixture(params=[on_disk, in_memory, in_bucket], ids=["disk", "memory", "s3"])
def files(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> MediaFiles:
    """The files of one home folder."""
    if request.param is in_bucket:
        point_to(request.getfixturevalue("s3_server"), monkeypatch)
    opener: Callable[[Path], MediaFiles] = request.param
    return opener(tmp_path / "media")


async def kept(files: MediaFiles, body: bytes = BODY, name: str = "one") -> str:
    partial = await files.open_partial(name)
    assert partial is not None
    partial.restart(PartialState(boot=files.boot))
    partial.write(body)
    digest = partial.sha256()
    await files.keep(partial, digest)
    return digest


async def test_file_is_kept_by_its_digest_and_read_by_range(files: MediaFiles) -> None:
    assert await kept(files) == DIGEST
    assert await kept(files, name="two") == DIGEST

    assert await files.read(DIGEST) == BODY
    assert await files.read(DIGEST, 10, 5) == BODY[10:15]
    assert await files.read(DIGEST, len(BODY)) == b""
    assert (await files.sizes())[DIGEST] == len(BODY)
    assert await files.verify(DIGEST) is None
    await files.delete([DIGEST])
    await files.delete([DIGEST])
    assert await files.verify(DIGEST) == "missing"
    with pytest.raises(NotKeptError):
        await files.read(DIGEST, 0, 1)


async def test_partial_file_goes_on_where_it_was_and_belongs_to_one(files: MediaFiles) -> None:
    first = await files.open_partial("a")
    assert first is not None
    first.restart(PartialState(etag='"x"', boot=files.boot))
    first.write(BODY[:1000])
    assert await files.open_partial("a") is None
    first.close()

    again = await files.open_partial("a")

    assert again is not None
    assert (again.size_bytes, again.state) == (1000, PartialState(etag='"x"', boot=files.boot))
    again.write(BODY[1000:])
    assert again.sha256() == DIGEST
    assert await again.head(4) == BODY[:4]
    assert await again.digest("sha512") == sha512(BODY).hexdigest()
    again.remove()


async def test_partial_file_of_an_earlier_boot_or_without_note_begins_anew(
    files: MediaFiles,
) -> None:
    old = await files.open_partial("a")
    assert old is not None
    old.restart(PartialState(etag='"x"', boot="before the power cut"))
    old.write(b"zeros, perhaps")
    old.close()
    bare = await files.open_partial("b")
    assert bare is not None
    bare.write(b"x")
    bare.close()

    for name in ("a", "b"):
        again = await files.open_partial(name)
        assert again is not None
        assert (again.size_bytes, again.state) == (0, None)
        again.close()


async def test_partial_files_that_nobody_waits_for_are_dropped(files: MediaFiles) -> None:
    for name in ("kept", "dropped"):
        partial = await files.open_partial(name)
        assert partial is not None
        partial.restart(PartialState(boot=files.boot))
        partial.close()
    used = await files.open_partial("used")
    assert used is not None

    assert await files.drop_partials(keep={"kept"}) == 1
    used.close()


async def test_damaged_file_is_found(tmp_path: Path) -> None:
    files = DiskMedia(tmp_path)
    digest = await kept(files)
    (tmp_path / "files" / digest[:2] / digest).write_bytes(b"x")

    assert await files.verify(digest) == "damaged"


async def test_links_are_relative_and_go_with_their_empty_folder(tmp_path: Path) -> None:
    files = DiskMedia(tmp_path / "media")
    digest = await kept(files)
    await files.link("The Show/a.mp3", digest)
    await files.link("The Show/a.mp3", digest)

    name = tmp_path / "media" / "shows" / "The Show" / "a.mp3"
    moved = (tmp_path / "media").rename(tmp_path / "elsewhere")

    assert name.parent.parent.parent.exists() is False
    assert (moved / "shows" / "The Show" / "a.mp3").read_bytes() == BODY
    there = DiskMedia(moved)
    assert await there.links() == {"The Show/a.mp3"}
    await there.unlink(["The Show/a.mp3", "gone/b.mp3"])
    assert list((moved / "shows").iterdir()) == []
