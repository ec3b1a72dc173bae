"""Which hosts a list shows."""
# Tested in tests/contracts/store/test_host_lanes.py

from feedmill.model.base import Value


class HostFilter(Value):
    """Which hosts a list shows."""

    text: str | None = None  # part of the name
    host: str | None = None  # exactly this one, with all its lanes
    troubled: bool = False  # only those that pause or fail
    resting: bool = (
        False  # only those that are left alone now; those with the most feeds come first
    )
