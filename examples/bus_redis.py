"""Print every event from a stream of Redis or Valkey, and go on where the last run ended.

python examples/bus_redis.py redis://127.0.0.1:6379/0 feedmill my-group reader-1
"""

import json
import sys

import redis


def follow(url: str, stream: str, group: str, reader: str) -> None:
    """The group keeps its place; what a reader took and did not acknowledge, it gets again first."""
    client = redis.Redis.from_url(url)
    try:
        client.xgroup_create(stream, group, id="0", mkstream=False)
    except redis.ResponseError as problem:
        if "BUSYGROUP" not in str(problem):
            raise
    after = "0"  # of what was taken and not acknowledged; ">" is what nobody took yet
    while True:
        found = client.xreadgroup(group, reader, {stream: after}, count=100, block=5_000)
        entries = found[0][1] if found else []
        for entry_id, about in entries:
            title = json.loads(about.get(b"data", b"{}")).get("title")
            kind, event_id = about[b"ce-type"].decode(), about[b"ce-id"].decode()
            print(int(about[b"ce-sequence"]), kind, event_id, title, flush=True)
            client.xack(stream, group, entry_id)
        if not entries:
            after = ">"


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    follow(*sys.argv[1:])
