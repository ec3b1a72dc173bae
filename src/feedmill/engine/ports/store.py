"""All store protocols together: what SQLite and PostgreSQL implement."""
# Tested in tests/contracts/

from typing import Protocol

from feedmill.engine.ports import entries, maintenance
from feedmill.engine.ports.entries import EventLog, FullTextStore, WebhookStore
from feedmill.engine.ports.feeds import (
    ConfirmationStore,
    FeedStore,
    HostStore,
    ImportStore,
    MoveStore,
    PushStore,
    ScheduleStore,
    ScreenStore,
)
from feedmill.engine.ports.io import RawIndex
from feedmill.engine.ports.maintenance import FigureStore, JobStore
from feedmill.engine.ports.media import MediaStore


class Store(
    FeedStore,
    MoveStore,
    ImportStore,
    HostStore,
    ScheduleStore,
    entries.CommitStore,
    entries.ArrivalStore,
    entries.EntryStore,
    entries.SearchStore,
    entries.FetchStore,
    entries.ExportStore,
    FigureStore,
    EventLog,
    RawIndex,
    maintenance.TokenStore,
    ConfirmationStore,
    WebhookStore,
    ScreenStore,
    JobStore,
    PushStore,
    FullTextStore,
    entries.ClusterStore,
    MediaStore,
    maintenance.WorkerStore,
    maintenance.LeaseStore,
    maintenance.MaintenanceStore,
    maintenance.SecretStore,
    Protocol,
):
    """Everything that is remembered. Reads never wait for writes; writes are grouped into transactions."""

    async def close(self) -> None: ...
