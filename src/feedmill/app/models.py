"""Installing, verifying and removing screening models."""

from pathlib import Path
from typing import Final

from feedmill.adapters.screeners import model_files
from feedmill.config import Config

MODELS_FOLDER: Final = "models"


def installed_models(config: Config) -> tuple[model_files.InstalledModel, ...]:
    """Every known model, installed or not."""
    return model_files.list_models(model_folder(config))


async def install_model(config: Config, name: str, source: Path | None = None) -> Path:
    """Download, verify and store a model; ScreenerError when that fails."""
    return await model_files.install_model(
        model_folder(config), model_files.model_named(name), source
    )


def verify_model(config: Config, name: str) -> None:
    """ScreenerError when a model is missing or damaged."""
    card = model_files.model_named(name)
    model_files.check_model(model_files.model_path(model_folder(config), card), card)


def remove_model(config: Config, name: str) -> bool:
    """Delete a model; False when it was not installed."""
    return model_files.remove_model(model_folder(config), model_files.model_named(name))


def model_folder(config: Config) -> Path:
    return Path(config.screen.model_dir or Path(config.store.home) / MODELS_FOLDER)
