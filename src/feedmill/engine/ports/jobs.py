"""Store protocol: background jobs, their leases, results and budgets."""
# Tested in tests/contracts/store/test_jobs.py

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.page import Page
from feedmill.model.running.job import (
    Job,
    JobClaim,
    JobCount,
    JobFilter,
    JobLimit,
    JobSettlement,
    NewJob,
)


class JobStore(Protocol):
    """One queue for background work of every kind (D42)."""

    async def add_job(
        self,
        new: NewJob,
        *,
        now: datetime,
        restart: bool = False,  # one that has ended begins anew
    ) -> tuple[Job, bool]: ...  # and whether it was queued by this
    async def job(self, job_id: int) -> Job | None: ...
    async def find_job(self, kind: str, key: str) -> Job | None: ...
    async def jobs(
        self, where: JobFilter, *, after: str | None = None, limit: int = 100
    ) -> Page[Job]: ...  # the newest first
    async def job_counts(self) -> tuple[JobCount, ...]: ...
    async def claim_jobs(
        self,
        owner: str,
        limits: Sequence[JobLimit],
        *,
        now: datetime,
        until: datetime,
        max_jobs: int,
    ) -> tuple[JobClaim, ...]: ...  # each with its host's lane, none at a host with a due feed
    async def next_job_at(self, kinds: Sequence[str]) -> datetime | None: ...
    async def renew_job(
        self, claim: JobClaim, *, owner: str, until: datetime
    ) -> bool: ...  # False: it was cancelled, or another process has it
    async def settle_job(self, settlement: JobSettlement) -> bool: ...  # False: overtaken
    async def cancel_job(self, job_id: int, *, now: datetime) -> bool: ...  # False: it had ended
    async def retry_job(self, job_id: int, *, now: datetime) -> bool: ...  # False: it had not ended
