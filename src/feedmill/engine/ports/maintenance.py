"""Store protocols: retention and consistency, leases by name, heartbeats of workers, API tokens, figures of polls, background jobs."""
# Tested in tests/contracts/

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from feedmill.model.event import NewEvent
from feedmill.model.page import Page
from feedmill.model.running import figures
from feedmill.model.running.job import (
    Job,
    JobClaim,
    JobCount,
    JobFilter,
    JobLimit,
    JobSettlement,
    NewJob,
)
from feedmill.model.running.webhook import Token, TokenSecret
from feedmill.model.running.worker import CheckedRows, PurgeCuts, Worker, WorkerView


class MaintenanceStore(Protocol):
    """Retention, consistency checks and row counts."""

    async def purge(
        self, *, before: datetime, now: datetime, cuts: PurgeCuts | None = None
    ) -> dict[str, int]: ...
    async def thin_decisions(self, feed_ids: Sequence[str], keep: int) -> int: ...
    async def feeds_over_identities(
        self, most: int
    ) -> tuple[tuple[str, int], ...]: ...  # and by how many deleted entries
    async def oldest_tombstones(self, feed_id: str, limit: int) -> list[int]: ...
    async def forget_tombstones(self, entry_ids: Sequence[int]) -> int: ...
    async def tell_quota(self, event: NewEvent) -> None: ...
    async def problems(self, *, quick: bool = False) -> tuple[str, ...]: ...
    def tables_to_check(self, *, large: bool = True) -> tuple[str, ...]: ...
    async def check_rows(
        self, name: str, after: tuple[Any, ...] | None = None
    ) -> CheckedRows: ...  # of a table, after a key
    async def counts(self) -> dict[str, int]: ...


class LeaseStore(Protocol):
    """Leases by name, for work that one process does at a time."""

    async def take_lease(
        self, name: str, owner: str, *, now: datetime, until: datetime
    ) -> bool: ...  # False: another process has it
    async def release_lease(self, name: str, owner: str) -> None: ...


class SecretStore(Protocol):
    """Stored secrets: which key the store needs, and rewriting them in place."""

    async def secret_key(self) -> str | None: ...  # the id of a key; None: it never had one
    async def save_secret_key(self, name: str | None) -> None: ...
    async def count_secrets(self) -> dict[str, int]: ...  # by id of the key, or "plain"
    async def encrypt_secrets(self) -> int: ...
    async def decrypt_secrets(self) -> int: ...


class WorkerStore(Protocol):
    """Heartbeats of workers; for people and for affinity, no decision relies on them."""

    async def save_worker(self, worker: Worker) -> None: ...  # a sign of life
    async def delete_worker(self, name: str) -> None: ...
    async def workers(self) -> tuple[WorkerView, ...]: ...  # with the lanes they hold, by name


class TokenStore(Protocol):
    """API tokens and the hashes of their secrets."""

    async def add_token(self, token: Token, sha256: str) -> None: ...
    async def tokens(self) -> tuple[Token, ...]: ...
    async def token_secrets(self, prefix: str) -> tuple[TokenSecret, ...]: ...  # by their hash
    async def rotate_token(
        self, token_id: str, sha256: str, *, old_until: datetime
    ) -> Token | None: ...  # the secret before lives until then, any older one ends now
    async def revoke_token(self, token_id: str, at: datetime) -> bool: ...
    async def touch_token(self, token_id: str, at: datetime) -> None: ...
    async def open_session(
        self, token_id: str, sha256: str, *, until: datetime, now: datetime
    ) -> None: ...  # one more secret of the token, which expires
    async def close_session(self, sha256: str) -> None: ...


class FigureStore(Protocol):
    """Figures that were committed with the polls; spans without polls are left out."""

    async def feed_days(
        self, feed_id: str, *, since: datetime, until: datetime
    ) -> tuple[figures.FiguresAt, ...]: ...
    async def feed_hours(
        self, feed_id: str, *, since: datetime, until: datetime
    ) -> tuple[figures.FiguresAt, ...]: ...  # as far back as fetches are kept
    async def feed_failures(
        self, feed_id: str, *, since: datetime, until: datetime
    ) -> tuple[figures.FailureCount, ...]: ...  # of whole days
    async def host_failures(
        self, *, since: datetime, until: datetime, limit: int = 20
    ) -> tuple[figures.FailureCount, ...]: ...
    async def poll_totals(
        self, *, since: datetime, until: datetime
    ) -> tuple[figures.TotalsAt, ...]: ...  # by the hour; by the day where hours were compacted
    async def top_feeds(
        self, by: figures.TopBy, *, since: datetime, until: datetime, limit: int = 20
    ) -> tuple[figures.FeedRank, ...]: ...
    async def feed_counts(self, now: datetime) -> figures.FeedCounts: ...
    async def budget_counts(self, day: datetime, *, target: float) -> figures.BudgetCounts: ...
    async def freshness(
        self, day: datetime, *, now: datetime | None, initial_interval_sec: float
    ) -> figures.Freshness: ...  # None: only what was late on that day, not what is overdue
    async def store_sizes(self) -> figures.StoreSizes: ...
    async def compact_figures(
        self, *, now: datetime, hours_until: datetime, days_until: datetime
    ) -> int: ...


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
