"""Table `store_identity`: the id of this store, and the raw store that is known to carry it (D36)."""
# Tested in tests/contracts/store/test_raw_owner.py

from feedmill.adapters.store.statements import Query, row, write
from feedmill.model.running.storage import StoreIdentity


def store_identity() -> Query[StoreIdentity | None]:
    """The id of this store; None before the first time that it was asked for."""
    found = yield from row(
        "SELECT id, raw_place, EXISTS (SELECT 1 FROM blobs) FROM store_identity WHERE one = 1"
    )
    if found is None:
        return None
    store_id, raw_place, has_blobs = found
    return StoreIdentity(id=store_id, raw_place=raw_place, has_blobs=bool(has_blobs))


def save_identity(store_id: str) -> Query[None]:
    """Store the id, unless another process has stored one."""
    yield from write(
        "INSERT INTO store_identity (one, id) VALUES (1, $1) ON CONFLICT DO NOTHING", store_id
    )


def confirm_raw_place(place: str) -> Query[None]:
    """Store that the raw store at `place` carries the id of this store."""
    yield from write("UPDATE store_identity SET raw_place = $1", place)
