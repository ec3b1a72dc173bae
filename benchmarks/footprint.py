"""What a PostgreSQL server costs: CPU time of all its processes, bytes of its tables."""

import os
from pathlib import Path
from typing import Final

from tests.support.servers.postgres import PostgresServer

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def server_cpu_sec(server: PostgresServer) -> float:
    """Of the server, of every process that it has now, and of those that have ended."""
    own = _times(server.pid)
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return (sum(own) + sum(sum(_times(int(child))[:2]) for child in children)) / _TICKS


def process_cpu_sec(pid: int) -> float:
    """Of one process with all its threads, not of its children."""
    return sum(_times(pid)[:2]) / _TICKS


def table_bytes(server: PostgresServer, dsn: str, *tables: str) -> int:
    """With indexes, long values and all partitions."""
    names = ", ".join(f"'{table}'" for table in tables)
    told = server.run_sql(
        "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c"
        f" WHERE c.relnamespace = 'public'::regnamespace AND (c.relname IN ({names})"
        " OR c.oid IN (SELECT i.inhrelid FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent"
        f" WHERE p.relname IN ({names})))",
        dsn=dsn,
    )
    return int(told)


def _times(pid: int) -> tuple[int, int, int, int]:
    """User, system, and both of the children that were waited for; zeros for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0, 0, 0
    user, system, old_user, old_system = (int(field) for field in fields[11:15])
    return user, system, old_user, old_system
