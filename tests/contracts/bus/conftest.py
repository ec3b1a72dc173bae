from tests.support.bus_fixtures import bench, exact, unused_port

__all__ = ["bench", "exact", "unused_port"]
