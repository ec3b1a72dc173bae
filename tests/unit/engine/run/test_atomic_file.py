"""A file is written whole or not at all, however many write it."""

from pathlib import Path

import pytest

from feedmill.engine.run.atomic_file import atomic_file, write_file


def test_file_keeps_its_old_content_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    with atomic_file(path) as file:
        file.write(b"new")
        during = path.read_bytes()

    assert (during, path.read_bytes()) == (b"old", b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    with pytest.raises(TypeError), atomic_file(path) as file:
        file.writelines([b"ne", "w"])  # type: ignore[list-item]  # the error in the middle

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_of_one_path_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"

    with atomic_file(path) as slow:
        slow.write(b"slow ")
        write_file(path, b"quick")
        quick = path.read_bytes()
        slow.write(b"writer")

    assert (quick, path.read_bytes()) == (b"quick", b"slow writer")


def test_private_file_is_for_its_owner_alone_also_where_a_readable_one_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o644)

    write_file(path, b"secret", is_private=True)

    assert path.stat().st_mode & 0o777 == 0o600


def test_error_names_the_file_and_not_its_temporary_name(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "file"

    with pytest.raises(FileNotFoundError) as raised:
        write_file(path, b"")

    assert raised.value.filename == str(path)
