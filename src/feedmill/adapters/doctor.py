"""Checks of `feedmill doctor`: clock, disk, permissions, name resolution, TLS, open files."""

import asyncio
import os
import shutil
import socket
import ssl
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Final

from feedmill.adapters.files import is_open_to_others
from feedmill.model.base import Value

_ENOUGH_BYTES: Final = 200 * 1024 * 1024
_SANE_YEARS: Final = range(2025, 2100)


class Check(Value):
    """One check, whether it passed, and details for a person."""

    name: str
    ok: bool
    detail: str


async def run_checks(home: Path, *, now: datetime, host: str = "example.com") -> tuple[Check, ...]:
    """Check everything that a run depends on."""
    local = await asyncio.to_thread(lambda: (_clock(now), _disk(home), _permissions(home), _tls()))
    return (*local, await _names(host), _descriptors())


def _clock(now: datetime) -> Check:
    sane = now.year in _SANE_YEARS
    detail = f"{now:%Y-%m-%d %H:%M:%S} UTC" + ("" if sane else "; set the clock, schedules need it")
    return Check(name="clock", ok=sane, detail=detail)


def _disk(home: Path) -> Check:
    place = _existing(home)
    free = shutil.disk_usage(place).free
    detail = f"{free / 2**30:.1f} GiB free at {home}"
    if free < _ENOUGH_BYTES:
        detail += "; free some space, raw documents are kept"
    return Check(name="disk", ok=free >= _ENOUGH_BYTES, detail=detail)


def prove_writable(folder: Path) -> None:
    """Write a file there, sync it and take it away; OSError says why that cannot be done."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b"feedmill")
        file.flush()
        os.fsync(file.fileno())


def _permissions(home: Path) -> Check:
    place = _existing(home)
    try:
        prove_writable(place)
    except OSError as problem:
        detail = f"{place} cannot be written ({problem.strerror}); choose another with --home"
        return Check(name="permissions", ok=False, detail=detail)
    if place == home.resolve() and is_open_to_others(place):
        detail = f"{place} can be read by other users of this machine: chmod 700 {place}"
        return Check(name="permissions", ok=False, detail=detail)
    return Check(name="permissions", ok=True, detail=f"{place} can be written and synced")


def _tls() -> Check:
    count = len(ssl.create_default_context().get_ca_certs())
    paths = ssl.get_default_verify_paths()
    found = paths.cafile or paths.capath or "built in"
    return Check(
        name="tls",
        ok=count > 0 or bool(paths.capath),
        detail=f"{ssl.OPENSSL_VERSION}, certificates from {found}",
    )


async def _names(host: str) -> Check:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(5):
            found = await loop.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as problem:
        detail = f"{host} does not resolve ({str(problem) or 'no answer in 5 s'}); is this machine online?"
        return Check(name="dns", ok=False, detail=detail)
    return Check(name="dns", ok=True, detail=f"{host} is {found[0][4][0]}")


def _descriptors() -> Check:
    try:
        import resource  # noqa: PLC0415  # not on every platform
    except ImportError:
        return Check(name="open files", ok=True, detail="no limit known on this platform")
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = limit == resource.RLIM_INFINITY or limit >= 512
    detail = f"{limit} allowed" + ("" if enough else "; raise it with ulimit -n 4096")
    return Check(name="open files", ok=enough, detail=detail)


def _existing(path: Path) -> Path:
    """The folder itself or the nearest one above it that exists."""
    path = path.resolve()
    while not path.exists():
        path = path.parent
    return path
