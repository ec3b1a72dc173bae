"""`feedmill doctor` and the readiness checks of a role."""
# Tested in tests/integration/roles/test_health_and_readiness.py

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from feedmill.adapters import doctor
from feedmill.adapters.blobs.errors import blob_error
from feedmill.adapters.clock import SystemClock
from feedmill.adapters.doctor import Check
from feedmill.adapters.store.open import open_store
from feedmill.adapters.store.secret_keys import use_keys_of_environment
from feedmill.app.services import (
    DATABASE_NAME,
    MEDIA_FOLDER,
    RAW_FOLDER,
    check_secret_key,
    open_blobs,
    open_bucket_blobs,
)
from feedmill.app.store_moves import missing_migrations
from feedmill.config import Config
from feedmill.engine.maintain import raw_store
from feedmill.engine.maintain.check_store import REPAIR, check_store, missing_from_index
from feedmill.engine.ports.io import Blobs, RawIndex
from feedmill.engine.ports.store import Store
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.readiness import ReadinessCheck, cached_check, wait_for_other_machines
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError, extra_hint
from feedmill.model.derived.fetched import MediaUsage
from feedmill.model.running.worker import WorkerRole
from feedmill.observe import log
from feedmill.observe.log import mask_secrets

_PROBLEMS_SHOWN: Final = 5


async def run_doctor(config: Config) -> list[dict[str, Any]]:
    """The checks of `feedmill doctor`; an invalid configuration has been rejected before."""
    checks = [Check(name="configuration", ok=True, detail="all settings are valid")]
    checks += await doctor.run_checks(Path(config.store.home), now=SystemClock().now())
    places = [] if config.blobs.url is None else await _examined("raw store", _raw_store, config)
    has_store = _has_store(config)
    if has_store:
        places += await _examined("store", _store, config)
    checks += places
    if all(check.ok for check in places):
        if has_store:
            checks += await _examined("rows", _rows, config)
        checks += await _examined("raw index", _raw_index, config)
        if has_store:
            checks += await _examined("secrets", _secrets, config)
            checks += await _examined("extensions", _extensions, config)
    checks += _extras(config)
    return [*map(to_builtins, checks), _user_agent(config)]


async def _examined(
    name: str, examine: Callable[[Config], Awaitable[list[Check]]], config: Config
) -> list[Check]:
    """What an examination finds; an error that ends it is a failed check of this name."""
    try:
        return await examine(config)
    except FeedmillError as problem:
        detail = ". ".join(filter(None, (f"{problem}", problem.hint)))
        return [Check(name=name, ok=False, detail=detail)]


def _user_agent(config: Config) -> dict[str, Any]:
    """Whether publishers find in the User-Agent where to ask about the requests; advice, and no fault."""
    agent = config.fetch.user_agent
    has_contact = "://" in agent or "@" in agent
    detail = agent if has_contact else f"{agent!r} does not say how publishers reach you"
    advice = "FEEDMILL_FETCH_USER_AGENT='feedmill/0.1 (+https://your.example/bot)'"
    shown = "" if has_contact else advice
    return {"name": "user agent", "ok": True, "detail": detail, "advice": shown}


def _extras(config: Config) -> list[Check]:
    """Packages that the settings ask for and that are installed on demand only."""
    wanted = (
        ("full texts", bool(config.fulltext.tags), "trafilatura", "fulltext"),
        ("traces", config.observe.otlp_endpoint is not None, "opentelemetry.sdk", "otel"),
    )
    checks = []
    for name, is_asked, package, extra in wanted:
        ok = is_asked and _is_installed(package)
        detail = f"{package} is installed" if ok else f"not installed; {extra_hint(extra)}"
        checks += [Check(name=name, ok=ok, detail=detail)] if is_asked else []
    return checks


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


def readiness_checks_for(services: Services, role: WorkerRole) -> dict[str, ReadinessCheck]:
    """Further readiness checks of a role: processes that poll need a writable raw store."""
    if role not in ("run", "worker"):
        return {}
    return {"raw": cached_check(_raw_probe(services), services.clock)}


async def warn_if_raw_not_shared(services: Services, watch: Lifecycle) -> None:
    """Log a warning once when machines share a store but not the raw documents."""
    config = services.config
    if config.store.url is None or config.blobs.url is not None:
        return
    machines = await wait_for_other_machines(services.store, watch)
    if machines:
        log.logger("raw").warning(
            "raw documents are not shared: each machine keeps its own; set FEEDMILL_BLOBS_URL on all",
            machines=",".join(sorted(machines)),
        )


async def _store(config: Config) -> list[Check]:
    """Whether PostgreSQL has every migration; of a file, nothing once it can be opened."""
    if config.store.url is None:
        async with _opened_store(config):
            return []
    missing = await missing_migrations(config)
    detail = f"{mask_secrets(config.store.url or '')} is reachable"
    if missing:
        detail += f"; {len(missing)} migrations are missing, run `feedmill migrate`"
    return [Check(name="store", ok=not missing, detail=detail)]


async def _raw_store(config: Config) -> list[Check]:
    url = config.blobs.url or ""
    blobs = open_bucket_blobs(config, SystemClock(), url)
    try:
        await blobs.check()
    finally:
        await blobs.close()
    return [Check(name="raw store", ok=True, detail=f"{url} is reachable")]


async def _rows(config: Config) -> list[Check]:
    """Whether the rows of the store can be read, but for those of large tables."""
    use_keys_of_environment()
    async with _opened_store(config) as store:
        found = await check_store(store, quick=True)
    detail = f"{found.rows:,} read; `feedmill verify` reads all of them, large tables too"
    if found.problems:
        shown, more = found.problems[:_PROBLEMS_SHOWN], len(found.problems) - _PROBLEMS_SHOWN
        rest = (f"{more:,} more",) if more > 0 else ()
        detail = f"{'; '.join((*shown, *rest))}. `feedmill verify` reads all rows; {REPAIR}"
    return [Check(name="rows", ok=not found.problems, detail=detail)]


async def _raw_index(config: Config) -> list[Check]:
    """Whether the store indexes the raw documents; no check before there is a store or a segment."""
    home, clock = Path(config.store.home), SystemClock()
    if not _has_store(config):
        if config.blobs.url is not None or not any((home / RAW_FOLDER).glob("*.seg")):
            return []
        detail = f"{home / RAW_FOLDER} holds segments, but {home / DATABASE_NAME} is not there. {raw_store.OWNER_HINT}"
        return [Check(name="raw index", ok=False, detail=detail)]
    async with _opened_store(config) as store:
        blobs = await open_blobs(config, clock)
        try:
            wrong = await _raw_problem(config, store, blobs, clock.now())
        finally:
            await blobs.close()
    detail = wrong or "the store indexes the raw documents"
    return [Check(name="raw index", ok=not wrong, detail=detail)]


async def _secrets(config: Config) -> list[Check]:
    """Whether stored secrets are encrypted. Plain ones are counted, and no fault."""
    keys = use_keys_of_environment()
    async with _opened_store(config) as store:
        await check_secret_key(store, keys)
        counts = await store.count_secrets()
    plain, total = counts.get("plain", 0), sum(counts.values())
    detail = f"{total:,} stored, all encrypted" if total else "none are stored"
    if plain:
        detail = (
            f"{plain:,} webhook secrets, feed passwords, headers and push secrets are stored in plain text;"
            " to encrypt them, see `feedmill secrets --help`"
        )
    return [Check(name="secrets", ok=True, detail=detail)]


async def _extensions(config: Config) -> list[Check]:
    """Media, full texts, clusters and search: what is kept and whether their jobs get on; nothing where none is used."""
    async with _opened_store(config) as store:
        counts, usage = await store.counts(), await store.media_usage()
        failed = {one.kind: one.jobs for one in await store.job_counts() if one.state == "failed"}
        read = await store.find_job("cluster", "log")
        last_seq = await store.last_seq()
        missing = await missing_from_index(store)
    checks = []
    if usage.files or usage.reserved_bytes or config.media.tags:
        checks.append(_media(config, usage, failed.get("media", 0)))
    if counts["fulltexts"]:
        checks.append(("full texts kept", True, f"{counts['fulltexts']:,} extracted"))
    if config.clusters.enabled and read is not None:
        seq = read.cursor.get("seq", 0)
        detail = (
            f"{counts['clusters']:,} stories; the log is read up to event {seq:,} of {last_seq:,}"
        )
        is_well = read.state != "failed"
        checks.append(("clusters", is_well, detail if is_well else f"{detail}; {read.last_error}"))
    if config.search.enabled and counts["entries"]:
        checks.append(("search", True, missing or f"{counts['entries']:,} entries are indexed"))
    return [Check(name=name, ok=ok, detail=detail) for name, ok, detail in checks]


def _media(config: Config, usage: MediaUsage, failed: int) -> tuple[str, bool, str]:
    quota = config.media.quota_bytes
    detail = f"{usage.files:,} {'file' if usage.files == 1 else 'files'}, {usage.size_bytes / 2**20:,.1f} MiB of {quota / 2**20:,.0f} MiB"
    if failed:
        detail += f"; {failed:,} downloads failed, see `feedmill media list --state failed`"
    folder = Path(config.store.home) / MEDIA_FOLDER
    if config.blobs.url is None and folder.exists():
        try:
            doctor.prove_writable(folder)
        except OSError as problem:
            return "media", False, f"{folder} is not writable: {problem.strerror}"
        missing = quota - usage.size_bytes - shutil.disk_usage(folder).free
        if missing > 0:
            detail += f"; the disk has {missing / 2**20:,.0f} MiB less room than the quota allows"
    return "media", True, detail


def _has_store(config: Config) -> bool:
    return config.store.url is not None or (Path(config.store.home) / DATABASE_NAME).exists()


@asynccontextmanager
async def _opened_store(config: Config) -> AsyncIterator[Store]:
    path = Path(config.store.home) / DATABASE_NAME
    store = await open_store(config, path, SystemClock().now(), schema="check")
    try:
        yield store
    finally:
        await store.close()


async def _raw_problem(config: Config, store: RawIndex, blobs: Blobs, now: datetime) -> str:
    owner = await raw_store.check_raw_owner(store, blobs)
    if not owner.is_ours:
        return raw_store.describe_owner(owner)
    if missing := await raw_store.missing_segments(store, blobs):
        return raw_store.describe_missing(missing, blobs.place)
    before = raw_store.grace_ends(now, config.store.segment_grace_sec)
    lost = await raw_store.unindexed_segments(store, blobs, before=before)
    return raw_store.describe_unindexed(lost) if lost else ""


def _raw_probe(services: Services) -> ReadinessCheck:
    """Check that the raw store is writable: a file in the folder, a request to the bucket."""

    async def ask() -> None:
        check = getattr(services.blobs, "check", None)
        if check is not None:
            await check()
            return
        folder = Path(services.config.store.home) / RAW_FOLDER
        try:
            await asyncio.to_thread(doctor.prove_writable, folder)
        except OSError as problem:
            raise blob_error(problem, str(folder)) from problem

    return ask
