"""Build wheel and sdist twice, from two copies of the source with other times and modes, and compare them byte by byte."""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]


def parts() -> list[str]:
    """What `make dist` puts into the sdist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    return ["pyproject.toml", ".gitignore", *(part.lstrip("/") for part in included)]


def build(folder: Path, *, mtime: float, umask: int) -> dict[str, str]:
    """File names and hashes of a build from a copy of the source with other times and modes on its files."""
    source = folder / "source"
    source.mkdir(parents=True)
    for part in parts():
        found = ROOT / part
        if found.is_dir():
            shutil.copytree(found, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif found.exists():
            shutil.copy(found, source / part)
    for path in source.rglob("*"):
        path.chmod(path.stat().st_mode & ~umask)
        os.utime(path, (mtime, mtime))
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder / "dist")],
        cwd=source,
        check=True,
        capture_output=True,
        umask=umask,
    )
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "dist").iterdir())
    }


def main() -> int:
    """Compare two builds; 1 when they differ."""
    with tempfile.TemporaryDirectory() as folder:
        first_at, second_at = 1_700_000_000.0, 1_750_000_000.0
        first = build(Path(folder) / "one", mtime=first_at, umask=0o022)
        second = build(Path(folder) / "two", mtime=second_at, umask=0o077)
    for name, digest in first.items():
        same = "same" if second.get(name) == digest else "DIFFERS"
        print(f"{same}  {digest}  {name}")
    return 0 if first == second and len(first) == 2 else 1


if __name__ == "__main__":
    sys.exit(main())
