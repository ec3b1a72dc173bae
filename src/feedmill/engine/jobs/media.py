"""Job kinds `media-select` and `media`: choose the files of a feed's entries, and download one of them.

A download keeps the host's lane until its answer begins, then leaves it: polls of the host go on beside it.
It is streamed to a partial file and hashed on the way. A step that is cut off, cancelled or killed leaves what
came, and the next one asks for the rest (media/resume.py). Credentials of the feed go to its own host only.
"""
# Tested in tests/integration/engine/jobs/test_media.py

import asyncio
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.config import Config
from feedmill.engine.documents.fetch_document import describe_verdict
from feedmill.engine.documents.fetched import make_room, media_of, store_media, sweep_media
from feedmill.engine.jobs.kind import FINAL_REASONS, JobKind, JobRun, KindLimits
from feedmill.engine.ports.media import PartialFile
from feedmill.engine.run.services import each_page
from feedmill.errors import UsageError
from feedmill.fetch.headers import header_value
from feedmill.fetch.judge import judge
from feedmill.fetch.plan import is_trusted, plan_download, without_credentials
from feedmill.media.resume import (
    Append,
    BadFile,
    Mismatch,
    StartAnew,
    expected_digest,
    judge_answer,
    judge_file,
    resume_fields,
)
from feedmill.media.select import DOWNLOAD_KIND, rules_of, select_files
from feedmill.media.types import HEAD_BYTES
from feedmill.model.derived.fetched import MediaItem
from feedmill.model.event import StoredEntry
from feedmill.model.feed import Feed
from feedmill.model.fetch import FetchPlan, Headers, RawResponse
from feedmill.model.page import EntryFilter
from feedmill.model.running.job import Again, Done, Failed, JobResult, Later
from feedmill.observe.traces import span
from feedmill.publish.events import event_of_media
from feedmill.schedule.follow_up import SELECT_MEDIA, wants_media

_MAX_ATTEMPTS: Final = 5
_UNKNOWN_BYTES: Final = 16 * 1024 * 1024  # reserved for a file of unknown length
_MAX_STEPS: Final = 500  # of one file that comes in small pieces
_BUSY_WAIT: Final = timedelta(seconds=30)
_PROGRESS_SEC: Final = 2.0
_LOOK_AT: Final = 200  # entries of one page
_MAX_ENTRIES: Final = 5_000  # that are looked at for the newest ones


async def select_media(run: JobRun) -> JobResult:
    """Queue the downloads that the rules of a feed want, and let go of what they keep no longer."""
    services = run.services
    feed = await services.store.feed(run.job.key)
    if feed is None or not wants_media(feed, services.config.media):
        return Done(reason="not-wanted")
    rules = rules_of(feed, services.config.media)
    wanted = select_files(await _newest_entries(feed, run), rules)
    queued = await services.store.queue_media(wanted, now=services.clock.now())
    if rules.newest:
        beyond = await services.store.media_beyond(feed.id, rules.newest)
        if beyond and await services.store.prune_media(now=services.clock.now(), media_ids=beyond):
            await sweep_media(services)
    return Done(progress={"queued": queued}, reason="selected")


async def download_media(run: JobRun) -> JobResult:
    """Download one file, or the rest of it."""
    store = run.services.store
    item = await store.media_item(run.job.key)
    entry = None if item is None else await store.entry(item.entry_uid)
    feed = None if item is None else await store.feed(item.feed_id)
    if item is None or entry is None or feed is None or item.state == "stored":
        return Done(reason="no-entry" if item is None else item.state)
    if not run.job.payload.get("forced") and not wants_media(feed, run.services.config.media):
        return await _give_up(run, item, BadFile(reason="not-wanted"))
    partial = await media_of(run.services).open_partial(item.media_id)
    if partial is None:
        return Later(wait=_BUSY_WAIT, reason="in-use")
    try:
        return await _Download(run, item, entry, feed, partial).run()
    finally:
        partial.close()


def limits_of(config: Config) -> KindLimits:
    """How many files a day of one host, and how many downloads at once."""
    media = config.media
    return KindLimits(at_one_host=media.files_per_host_day, at_once=media.concurrency)


KINDS: Final = (
    JobKind(SELECT_MEDIA, select_media),
    JobKind(
        DOWNLOAD_KIND,
        download_media,
        max_attempts=_MAX_ATTEMPTS,
        limits=limits_of,
        one_per_host=True,
    ),
)


class _Sink:
    """Writes an answer to the partial file, within what was reserved."""

    def __init__(self, partial: PartialFile, most: int, boot: str) -> None:
        self._partial, self._most, self._boot = partial, most, boot
        self.began = asyncio.Event()
        self.mismatch: Mismatch | None = None
        self.problem: OSError | None = None

    def begin(self, status: int, headers: Headers) -> int | None:
        """How much of the answer is taken: it goes on with what is there, or begins anew."""
        self.began.set()
        if (header_value(headers, "content-encoding") or "identity").lower() != "identity":
            return None
        partial = self._partial
        known, size = partial.state, partial.size_bytes
        verdict = judge_answer(status, headers, known, size, boot=self._boot)
        try:
            match verdict:
                case Append(state=state):
                    partial.go_on(state)
                case StartAnew(state=state):
                    partial.restart(state)
                case Mismatch():
                    self.mismatch = verdict
                    return None
                case _:  # 416 has no body that counts
                    return None
        except OSError as problem:
            self.problem = problem
            return None
        return max(0, self._most - partial.size_bytes)

    def write(self, chunk: bytes) -> bool:
        """True while the disk takes it."""
        try:
            self._partial.write(chunk)
        except OSError as problem:
            self.problem = problem
        return self.problem is None


class _Download:
    """One attempt at one file."""

    def __init__(
        self, run: JobRun, item: MediaItem, entry: StoredEntry, feed: Feed, partial: PartialFile
    ) -> None:
        self._run, self._item, self._entry, self._feed = run, item, entry, feed
        self._partial = partial
        self._services = run.services
        self._files = media_of(run.services)
        self._config = run.services.config.media
        self._most = rules_of(feed, self._config).max_bytes

    async def run(self) -> JobResult:
        """Reserve room, ask, write, judge."""
        size, url = self._partial.size_bytes, self._item.url
        state, cursor = self._partial.state, self._run.job.cursor
        named = (cursor.get("total", 0), self._item.length or 0, state.total or 0 if state else 0)
        unknown = min(_UNKNOWN_BYTES, self._config.quota_bytes // 4)
        needed = min(max(max(named) or unknown, size), self._most)
        if not await make_room(self._item, needed, self._services):
            bad = BadFile(reason="quota", detail=f"no room for {needed} bytes")
            return await self._give_up(self._item, bad)
        wait = await self._run.wait_for_host(url)
        if wait is not None:
            return wait
        plan = self._plan()
        sink = _Sink(self._partial, needed, self._files.boot)
        response = await self._stream(plan, sink)
        await self._run.note_answer(response, plan)
        await self._services.store.save_media_progress(
            self._item.media_id, self._partial.size_bytes
        )
        return await self._judge(response, plan, sink, needed)

    def _plan(self) -> FetchPlan:
        url, home = self._item.url, self._feed.url
        own = self._feed.overrides
        if not is_trusted(url, home):
            own = without_credentials(own)
        fields = resume_fields(self._partial.state, self._partial.size_bytes, boot=self._files.boot)
        plan = plan_download(
            url,
            own,
            self._services.config.fetch,
            range_fields=fields,
            timeout_sec=self._config.timeout_sec,
        )
        return replace(plan, send_before=self._run.send_before)

    async def _stream(self, plan: FetchPlan, sink: _Sink) -> RawResponse:
        """The download; the lane is left as soon as its answer begins."""
        downloader, own = self._services.downloader, self._feed.overrides
        if downloader is None:
            message = "these services have no downloader"
            raise UsageError(message)
        verify = own.verify_tls or not is_trusted(plan.url, self._feed.url)
        work = asyncio.ensure_future(
            downloader.download(
                plan,
                sink,
                verify_tls=verify,
                proxy=own.proxy,
                bytes_per_sec=self._config.bytes_per_sec,
            )
        )
        began = asyncio.ensure_future(sink.began.wait())
        try:
            with span("http"):
                await asyncio.wait({work, began}, return_when=asyncio.FIRST_COMPLETED)
                if began.done():
                    await self._run.leave_lane(plan.url)
                while not work.done():
                    await asyncio.wait({work}, timeout=_PROGRESS_SEC)
                    await self._services.store.save_media_progress(
                        self._item.media_id, self._partial.size_bytes
                    )
                return await work
        finally:
            work.cancel()
            began.cancel()

    async def _judge(
        self, response: RawResponse, plan: FetchPlan, sink: _Sink, reserved: int
    ) -> JobResult:
        """What becomes of the job after an answer."""
        if sink.problem is not None:
            return Failed(reason="disk-full", detail=f"{sink.problem.strerror}")
        item = replace(self._item, final_url=response.final_url, http_status=response.status)
        size = self._partial.size_bytes
        if response.status == 416:
            return await self._finish(item, response, _known_total(response, size))
        if response.status not in (200, 206):
            reason, detail = describe_verdict(judge(response, plan, self._services.clock.now()))
            return await self._failed(item, reason, detail, response)
        state = self._partial.state
        total = None if state is None else state.total
        if sink.mismatch is not None:
            self._forget()
            return Failed(reason="changed", detail=sink.mismatch.detail)
        if response.capped:
            return await self._capped(item, response, total, reserved)
        is_piece = response.status == 206 and total is not None and size < total
        if response.truncated or response.error is not None or is_piece:
            detail = f"{size} of {total or '?'} bytes"
            return await self._failed(item, response.error or "truncated", detail, response)
        return await self._finish(item, response, total)

    async def _capped(
        self, item: MediaItem, response: RawResponse, total: int | None, reserved: int
    ) -> JobResult:
        """It is longer than what was reserved: reserve more, or give it up."""
        if (header_value(response.headers, "content-encoding") or "identity") != "identity":
            return await self._give_up(item, BadFile(reason="encoded"))
        needed = total or 2 * reserved
        if reserved >= self._most or (total or 0) > self._most:
            detail = f"{total or f'more than {self._most}'} bytes, {self._most} are allowed"
            return await self._give_up(item, BadFile(reason="too-large", detail=detail))
        cursor = {**self._run.job.cursor, "total": needed}
        return Again(cursor=cursor, progress=self._progress(total))

    async def _failed(
        self, item: MediaItem, reason: str, detail: str, response: RawResponse
    ) -> JobResult:
        """Another attempt after a while, or none."""
        state, size, job = self._partial.state, self._partial.size_bytes, self._run.job
        can_resume = bool(resume_fields(state, size, boot=self._files.boot))
        if (
            reason not in FINAL_REASONS
            and can_resume
            and size > job.cursor.get("most", 0)
            and job.steps < _MAX_STEPS
        ):
            # What came is kept and the rest is asked for: no attempt is counted while it grows.
            return Again(
                cursor={**job.cursor, "most": size},
                progress=self._progress(state.total if state else None),
                after=timedelta(seconds=min(60, 2 ** min(job.steps, 6))),
            )
        if reason not in FINAL_REASONS and self._run.job.attempts < _MAX_ATTEMPTS:
            return Failed(reason=reason, detail=detail)
        words = f"{reason}: {detail}" if detail else reason
        bad = BadFile(reason="truncated" if reason == "truncated" else "unreachable", detail=words)
        return await self._give_up(replace(item, http_status=response.status), bad)

    async def _finish(self, item: MediaItem, response: RawResponse, total: int | None) -> JobResult:
        """Check a file that is there whole, and store it."""
        partial = self._partial
        verdict = judge_file(
            await partial.head(HEAD_BYTES),
            partial.size_bytes,
            total=total,
            feed_type=item.type,
            sent_type=header_value(response.headers, "content-type"),
        )
        expected = expected_digest(item.integrity)
        if not isinstance(verdict, BadFile) and expected is not None:
            algorithm, digest = expected
            if await partial.digest(algorithm) != digest:
                verdict = BadFile(reason="integrity", detail=f"its {algorithm} is another one")
        if isinstance(verdict, BadFile):
            if verdict.reason == "truncated" and self._run.job.attempts < _MAX_ATTEMPTS:
                self._forget()
                return Failed(reason="truncated", detail=verdict.detail)
            return await self._give_up(item, verdict)
        named = replace(item, media_type=verdict.media_type)
        stored = await store_media(
            named, partial, self._entry, self._feed, self._services, self._run.step({})
        )
        if stored is None:
            return Later(wait=_BUSY_WAIT, reason="deleting")
        return Done(progress={"bytes": stored.size_bytes}, reason="stored")

    async def _give_up(self, item: MediaItem, bad: BadFile) -> JobResult:
        self._partial.remove()
        return await _give_up(self._run, item, bad)

    def _forget(self) -> None:
        """Empty the partial file: what is there is of no use."""
        state = self._partial.state
        if state is not None:
            self._partial.restart(replace(state, etag=None, last_modified=None, total=None))

    def _progress(self, total: int | None) -> dict[str, int | None]:
        return {"bytes": self._partial.size_bytes, "of": total}


async def _give_up(run: JobRun, item: MediaItem, bad: BadFile) -> JobResult:
    """Store why there is no file."""
    now = run.services.clock.now()
    failed = replace(item, state="failed", reason=bad.reason, detail=bad.detail, ended_at=now)
    await run.services.store.save_media(
        failed, events=(event_of_media(failed, at=now),), step=run.step({})
    )
    return Done(reason=bad.reason)


async def _newest_entries(feed: Feed, run: JobRun) -> list[StoredEntry]:
    where, read = EntryFilter(feed_id=feed.id, has_enclosure=True), run.services.store.entries
    found: list[StoredEntry] = []
    async for page in each_page(lambda after: read(where, limit=_LOOK_AT, after=after)):
        found += page.items
        if len(found) >= _MAX_ENTRIES:
            break
    return found


def _known_total(response: RawResponse, size_bytes: int) -> int:
    """The length that a 416 names, else one that the file does not have."""
    value = (header_value(response.headers, "content-range") or "").rpartition("/")[2]
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else size_bytes + 1
