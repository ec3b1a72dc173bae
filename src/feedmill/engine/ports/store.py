"""All store protocols together: what SQLite and PostgreSQL implement."""

from typing import Protocol

from feedmill.engine.ports.commit import CommitStore
from feedmill.engine.ports.confirmations import ConfirmationStore
from feedmill.engine.ports.entries import EntryStore
from feedmill.engine.ports.events import EventLog
from feedmill.engine.ports.feeds import FeedStore
from feedmill.engine.ports.fetches import FetchStore
from feedmill.engine.ports.hosts import HostStore
from feedmill.engine.ports.imports import ImportStore
from feedmill.engine.ports.leases import LeaseStore
from feedmill.engine.ports.maintenance import MaintenanceStore
from feedmill.engine.ports.moves import MoveStore
from feedmill.engine.ports.raw_index import RawIndex
from feedmill.engine.ports.schedule import ScheduleStore
from feedmill.engine.ports.screens import ScreenStore
from feedmill.engine.ports.tokens import TokenStore
from feedmill.engine.ports.webhooks import WebhookStore
from feedmill.engine.ports.workers import WorkerStore


class Store(
    FeedStore,
    MoveStore,
    ImportStore,
    HostStore,
    ScheduleStore,
    CommitStore,
    EntryStore,
    FetchStore,
    EventLog,
    RawIndex,
    TokenStore,
    ConfirmationStore,
    WebhookStore,
    ScreenStore,
    WorkerStore,
    LeaseStore,
    MaintenanceStore,
    Protocol,
):
    """Everything that is remembered. Reads never wait for writes; writes are grouped into transactions."""

    async def close(self) -> None: ...
