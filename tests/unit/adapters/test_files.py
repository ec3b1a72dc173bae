"""The home folder and its files belong to their owner alone."""

import os
from pathlib import Path

from feedmill.adapters.files import (
    close_all,
    close_folder,
    close_to_others,
    is_open_to_others,
    make_folder,
    make_private_file,
    make_private_folder,
)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_folder_and_file_are_private(tmp_path: Path) -> None:
    assert make_private_folder(tmp_path / "home") is False
    make_private_file(tmp_path / "home" / "store.db")
    make_private_file(tmp_path / "home" / "store.db")

    assert mode(tmp_path / "home") == 0o700
    assert mode(tmp_path / "home" / "store.db") == 0o600


def test_folder_and_files_that_others_can_read_are_closed(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "home" / "store.db"
    home.mkdir()
    home.chmod(0o755)
    file.write_bytes(b"")
    file.chmod(0o644)
    assert is_open_to_others(file)

    assert make_private_folder(home)
    assert close_all([file, home / "missing"]) == [file]
    assert close_all([file]) == []

    assert (mode(home), mode(file)) == (0o700, 0o600)
    assert not is_open_to_others(file)
    assert not is_open_to_others(home / "missing")


def test_folder_is_closed_with_its_files_but_not_what_is_linked_in_it(tmp_path: Path) -> None:
    folder, file, foreign = tmp_path / "raw", tmp_path / "raw" / "1.seg", tmp_path / "foreign"
    folder.mkdir()
    (folder / "day").mkdir()
    foreign.write_bytes(b"")
    (folder / "link").symlink_to(foreign)
    file.write_bytes(b"")
    for path, old in ((folder, 0o777), (folder / "day", 0o755), (file, 0o644), (foreign, 0o644)):
        path.chmod(old)

    close_folder(folder)
    close_folder(tmp_path / "missing")

    assert (mode(folder), mode(file)) == (0o700, 0o600)
    assert (mode(folder / "day"), mode(foreign)) == (0o755, 0o644)


def test_made_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_folder(tmp_path / "out" / "events")
    finally:
        os.umask(before)

    assert (mode(tmp_path / "out"), mode(tmp_path / "out" / "events")) == (0o700, 0o700)


def test_target_of_a_link_keeps_its_mode(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"")
    target.chmod(0o644)
    link.symlink_to(target)

    assert close_to_others(link, 0o600) is False

    assert mode(target) == 0o644


def test_new_file_behind_a_link_is_private(tmp_path: Path) -> None:
    (tmp_path / "feedmill.db").symlink_to(tmp_path / "on another disk")

    make_private_file(tmp_path / "feedmill.db")

    assert mode(tmp_path / "on another disk") == 0o600
