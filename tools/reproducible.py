"""Build wheel and sdist twice, from two copies of the source at two times, and compare them byte by byte."""

import os
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PARTS: Final = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src")


def build(folder: Path, *, mtime: float) -> dict[str, str]:
    """File names and hashes of a build from a copy of the source with other times on its files."""
    source = folder / "source"
    source.mkdir(parents=True)
    for part in PARTS:
        found = ROOT / part
        if found.is_dir():
            shutil.copytree(found, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif found.exists():
            shutil.copy(found, source / part)
    for path in source.rglob("*"):
        os.utime(path, (mtime, mtime))
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder / "dist")],
        cwd=source,
        check=True,
        capture_output=True,
    )
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "dist").iterdir())
    }


def main() -> int:
    """Compare two builds; 1 when they differ."""
    with tempfile.TemporaryDirectory() as folder:
        first_at, second_at = 1_700_000_000.0, 1_750_000_000.0
        first = build(Path(folder) / "one", mtime=first_at)
        second = build(Path(folder) / "two", mtime=second_at)
    for name, digest in first.items():
        same = "same" if second.get(name) == digest else "DIFFERS"
        print(f"{same}  {digest}  {name}")
    return 0 if first == second and len(first) == 2 else 1


if __name__ == "__main__":
    sys.exit(main())
