"""Where the servers' programs are: in packages that the test extra installs."""

import importlib.util
import platform
import sys
import sysconfig
from pathlib import Path

import pytest

_WITH_WHEELS = {
    ("linux", "x86_64"),
    ("linux", "aarch64"),
    ("darwin", "x86_64"),
    ("darwin", "arm64"),
}


def script(package: str, name: str) -> Path:
    """A program that a package puts beside the Python of this environment."""
    return _present(Path(sysconfig.get_path("scripts")) / name, package)


def inside(package: str, module: str, *parts: str) -> Path:
    """A file or folder within an installed package."""
    spec = importlib.util.find_spec(module)
    home = Path(spec.origin).parent if spec is not None and spec.origin is not None else Path()
    return _present(home.joinpath(*parts), package)


def _present(path: Path, package: str) -> Path:
    if path.is_absolute() and path.exists():
        return path
    here = (sys.platform, platform.machine())
    if here not in _WITH_WHEELS:
        pytest.skip(f"{package} has no wheel for {here[0]} on {here[1]}")
    pytest.fail(f"{package} is not installed: pip install '.[test]' brings it")
