"""All store protocols together: what SQLite and PostgreSQL implement."""
# Tested in tests/contracts/

from typing import Protocol

from feedmill.engine.ports.blobs import RawIndex
from feedmill.engine.ports.entries import (
    ArrivalStore,
    ClusterStore,
    CommitStore,
    EntryStore,
    ExportStore,
    FetchStore,
    SearchStore,
)
from feedmill.engine.ports.events import EventLog, WebhookStore
from feedmill.engine.ports.feeds import FeedStore, ImportStore, MoveStore, PushStore
from feedmill.engine.ports.figures import FigureStore
from feedmill.engine.ports.full_texts import FullTextStore
from feedmill.engine.ports.jobs import JobStore
from feedmill.engine.ports.maintenance import (
    LeaseStore,
    MaintenanceStore,
    SecretStore,
    TokenStore,
    WorkerStore,
)
from feedmill.engine.ports.media import MediaStore
from feedmill.engine.ports.schedule import HostStore, ScheduleStore
from feedmill.engine.ports.two_phase import ConfirmationStore, ScreenStore


class Store(
    FeedStore,
    MoveStore,
    ImportStore,
    HostStore,
    ScheduleStore,
    CommitStore,
    ArrivalStore,
    EntryStore,
    SearchStore,
    FetchStore,
    ExportStore,
    FigureStore,
    EventLog,
    RawIndex,
    TokenStore,
    ConfirmationStore,
    WebhookStore,
    ScreenStore,
    JobStore,
    PushStore,
    FullTextStore,
    ClusterStore,
    MediaStore,
    WorkerStore,
    LeaseStore,
    MaintenanceStore,
    SecretStore,
    Protocol,
):
    """Everything that is remembered. Reads never wait for writes; writes are grouped into transactions."""

    async def close(self) -> None: ...
