"""Opens the file of an export, continues one that was interrupted, and makes snapshots of the store."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_export_tables.py

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from secrets import token_hex
from typing import Final, assert_never

import msgspec

from feedmill.adapters.files import sync_folder
from feedmill.app.services import DATABASE_NAME
from feedmill.engine.ports.entries import ExportWriter
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.run.services import Services
from feedmill.engine.service.documents import export_table
from feedmill.errors import NotFoundError, UsageError, needs_extra
from feedmill.model.running.export import (
    EXPORTS,
    ExportFilter,
    ExportFormat,
    ExportName,
    ExportPosition,
)

STREAMED: Final = ("ndjson", "csv")  # formats that can go to standard output
_CONTINUED: Final = ("ndjson", "csv", "sqlite", "warc")


class _Saved(msgspec.Struct):
    """The file beside an export: what it is, and how far it has come."""

    name: ExportName
    format: ExportFormat
    where: ExportFilter
    position: ExportPosition


async def export_to_file(
    name: ExportName,
    form: ExportFormat,
    where: ExportFilter,
    path: Path | None,
    services: Services,
    *,
    after: str | None = None,
    resume: bool = False,
    step: Callable[[int], None] = lambda _: None,
) -> ExportPosition:
    """Export a table; with `resume` from where FILE.cursor says that the last run of it ended."""
    start = ExportPosition(cursor=after)
    if path is not None:
        start = _begin(path, name, form, where, resume=resume) or start
    reached = [start]

    def save(done: ExportPosition) -> None:
        step(done.rows - reached[0].rows)
        reached[0] = done
        if path is not None:
            _save(path, _Saved(name=name, format=form, where=where, position=done))

    with closing(_writer(name, form, path, services, start.file_bytes)) as writer:
        return await export_table(name, where, services.store, writer, start=start, save=save)


async def write_snapshot(path: Path, services: Services) -> None:
    """Write a SQLite file with everything that can be exported; an earlier one stays until this one is whole.

    Of a SQLite store it is a copy (VACUUM INTO), credentials included; of PostgreSQL the exported tables.
    """
    partial = path.with_name(f"{path.name}.{token_hex(4)}.part")
    try:
        await _write_snapshot(partial, services)
        await asyncio.to_thread(partial.replace, path)
        await asyncio.to_thread(sync_folder, path.parent)
    finally:
        for left in (partial, partial.with_name(f"{partial.name}-journal")):
            await asyncio.to_thread(left.unlink, missing_ok=True)


async def _write_snapshot(path: Path, services: Services) -> None:
    if services.config.store.url is None:
        from feedmill.adapters.exports.plain import copy_database  # noqa: PLC0415  # rarely needed

        database = Path(services.config.store.home) / DATABASE_NAME
        await asyncio.to_thread(copy_database, database, path)
        return
    for name in EXPORTS:
        with closing(_writer(name, "sqlite", path, services, 0)) as writer:
            await export_table(
                name, ExportFilter(), services.store, writer, start=ExportPosition(), save=_forget
            )


def _forget(_: ExportPosition) -> None:
    """A snapshot is made anew, never continued."""


def _writer(
    name: ExportName, form: ExportFormat, path: Path | None, services: Services, resume_at: int
) -> ExportWriter:
    """The writer of a format; each is loaded when it is asked for."""
    fields, part = EXPORTS[name], f"the format {form}"
    if path is None and form not in STREAMED:
        message = f"{form} needs a file: pass --out FILE"
        raise UsageError(message)
    match form:
        case "ndjson" | "csv":
            from feedmill.adapters.exports import plain  # noqa: PLC0415  # rarely needed

            make = plain.ndjson_writer if form == "ndjson" else plain.csv_writer
            return make(path, fields, resume_at=resume_at)
        case "sqlite":
            from feedmill.adapters.exports.plain import SqliteWriter  # noqa: PLC0415

            return SqliteWriter(path or Path(), name, fields)
        case "parquet":
            with needs_extra(form, part):
                from feedmill.adapters.exports.parquet import ParquetWriter  # noqa: PLC0415
            return ParquetWriter(path or Path(), fields)
        case "warc":
            if name != "fetches":
                message = (
                    f"WARC holds requests and responses: use `feedmill export fetches`, not {name}"
                )
                raise UsageError(message)
            with needs_extra(form, part):
                from feedmill.adapters.exports.warc import WarcWriter  # noqa: PLC0415
            return WarcWriter(path or Path(), fields, _body_loader(services), resume_at=resume_at)
        case _:
            assert_never(form)


def _body_loader(services: Services) -> Callable[[str], Awaitable[bytes | None]]:
    from feedmill.engine.documents.raw_documents import load_body  # noqa: PLC0415

    async def load(sha256: str) -> bytes | None:
        try:
            return await load_body(sha256, services.store, services.blobs)
        except NotFoundError:
            return None

    return load


def _cursor_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.cursor")


def _begin(
    path: Path, name: ExportName, form: ExportFormat, where: ExportFilter, *, resume: bool
) -> ExportPosition | None:
    """Where an export to the file goes on; None for one that begins, and its old file is gone."""
    saved = _load(path) if resume else None
    if saved is not None:
        return _checked(saved, name, form, where, path)
    _cursor_file(path).unlink(missing_ok=True)  # first: it is about the file that goes
    path.unlink(missing_ok=True)
    return None


def _load(path: Path) -> _Saved | None:
    """How far the last export to this file came; None when there was none."""
    try:
        return msgspec.json.decode(_cursor_file(path).read_bytes(), type=_Saved)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as problem:
        message = f"{_cursor_file(path)} is damaged ({problem}); delete it and export anew"
        raise UsageError(message) from problem


def _save(path: Path, saved: _Saved) -> None:
    write_file(_cursor_file(path), msgspec.json.encode(saved))


def _checked(
    saved: _Saved, name: ExportName, form: ExportFormat, where: ExportFilter, path: Path
) -> ExportPosition:
    """Where to go on; UsageError when the file is another export, or cannot be continued."""
    if (saved.name, saved.format, saved.where) != (name, form, where):
        message = f"{path} is an export of {saved.name} as {saved.format} with other options: repeat them, or leave out --resume"
        raise UsageError(message)
    if form not in _CONTINUED:
        message = (
            f"a {form} file cannot be continued;"
            f" write the rest to another file with --after {saved.position.cursor}"
        )
        raise UsageError(message)
    size = path.stat().st_size if path.exists() else 0
    if size < saved.position.file_bytes or not path.exists():
        message = f"{path} is shorter than {_cursor_file(path)} says; delete that and export anew"
        raise UsageError(message)
    return saved.position
