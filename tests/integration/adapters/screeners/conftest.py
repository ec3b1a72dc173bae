"""What the tests of screening share: the model."""

from pathlib import Path

import pytest
from tests.support.installed_model import model_folder


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of the installed model."""
    return model_folder()
