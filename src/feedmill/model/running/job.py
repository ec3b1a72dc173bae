"""Background jobs: what is queued, what one step of a job results in, and what the store writes."""
# Tested in tests/contracts/store/test_jobs.py

from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from msgspec import field

from feedmill.model.base import Value
from feedmill.model.feed import Lane

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
JOB_STATES: tuple[JobState, ...] = get_args(JobState)

NORMAL_PRIORITY = 50  # the smaller, the earlier


class NewJob(Value):
    """A job to queue. There is one job per kind and key: queueing it again changes nothing."""

    kind: str
    key: str  # what it is about, a feed's id for instance
    url: str | None = None  # the address its first step asks: the job runs under that host's lane
    feed_id: str | None = None  # the job ends with the feed, and follows it in a merge
    payload: dict[str, Any] = field(default_factory=dict)
    not_before: datetime | None = None  # None: now
    priority: int = NORMAL_PRIORITY
    keep: bool = False  # retention leaves its row after the end
    # one that is queued comes forward with this payload; an ended one restarts
    sooner: bool = False


class Job(Value):
    """A job as it is stored."""

    id: int
    kind: str
    key: str
    state: JobState
    created_at: datetime
    updated_at: datetime
    not_before: datetime
    priority: int = NORMAL_PRIORITY
    url: str | None = None
    host: str | None = None
    feed_id: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    cursor: dict[str, Any] = field(default_factory=dict)  # how far it has come; a step begins here
    progress: dict[str, Any] = field(default_factory=dict)  # for people
    attempts: int = 0  # steps begun since the last one that succeeded
    steps: int = 0  # begun altogether
    epoch: int = 0  # fencing token of the lease
    owner: str | None = None
    lease_until: datetime | None = None
    keep: bool = False
    last_error: str = ""
    ended_at: datetime | None = None


class Done(Value):
    """The job is finished."""

    progress: dict[str, Any] | None = None
    reason: str = ""  # why it ended, shown to people


class Again(Value):
    """The step succeeded and another follows."""

    cursor: dict[str, Any] | None = None  # None: as before, or as it was committed with a document
    progress: dict[str, Any] | None = None
    url: str | None = None  # the address of the next step; None: the same
    after: timedelta = timedelta(0)


class Later(Value):
    """The step could not be taken yet, through no fault of the job: no attempt is counted."""

    wait: timedelta
    reason: str = ""


class Failed(Value):
    """The step failed: it is retried with backoff until the attempts of its kind are used up."""

    reason: str
    detail: str = ""
    final: bool = False  # True: a retry would be useless
    retry_after: timedelta | None = None  # the least wait


JobResult = Done | Again | Later | Failed


class JobStep(Value):
    """How far a running job has come, written in the transaction that stores a document."""

    job_id: int
    epoch: int
    cursor: dict[str, Any]
    progress: dict[str, Any] | None = None


class JobSettlement(Value):
    """What becomes of a job after a step."""

    job_id: int
    epoch: int  # another one by now, or a job that was cancelled: nothing is written
    at: datetime
    state: JobState
    not_before: datetime
    attempts: int
    cursor: dict[str, Any] | None = None  # None: as it is
    progress: dict[str, Any] | None = None
    url: str | None = None
    last_error: str = ""


class JobLimit(Value):
    """A kind that may be claimed now, and how many steps of it may begin in a day (UTC)."""

    kind: str
    host_steps: int | None = None  # at one host
    day_steps: int | None = None  # at all hosts together
    max_attempts: int = 8  # of one step; a job whose process died that often has failed
    one_per_host: bool = False  # none is claimed at a host where one runs
    # how many more this process runs at once; None: as many as are asked for
    free: int | None = None


class JobClaim(Value):
    """A job that this process runs until `until`, with the lane of its host."""

    job: Job
    until: datetime
    lane: Lane | None = None


class JobCount(Value):
    """How many jobs of a kind are in a state."""

    kind: str
    state: JobState
    jobs: int


class JobFilter(Value):
    """Which jobs are listed."""

    kind: str | None = None
    state: JobState | None = None
    feed_id: str | None = None


class JobRunRecord(Value):
    """One step as it is reported to listeners."""

    job: Job
    result: Literal["done", "again", "later", "failed", "retry", "lost"]
    reason: str = ""
    detail: str = ""
    elapsed_ms: int = 0
    wait_sec: float = 0.0
