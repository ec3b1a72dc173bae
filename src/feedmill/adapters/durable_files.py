"""Folders and names of files that survive a power cut: made, then synced."""
# Tested in tests/integration/crash/test_power_cut.py

import os
from pathlib import Path

sync_data = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync


def make_folder(path: Path) -> None:
    """Create a folder and those above it; their names are synced, up to the first that was there."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Sync the names in a folder."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
