"""Print every event from a topic of Kafka once, and go on where the last run ended.

python examples/bus_kafka.py 127.0.0.1:9092 feedmill my-group
"""

import json
import sys

from confluent_kafka import Consumer


def follow(hosts: str, topic: str, group: str) -> None:
    """Kafka has repetitions; a feed's events are in order, so a number that is not new is one."""
    reader = Consumer(
        {
            "bootstrap.servers": hosts,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    reader.subscribe([topic])
    seen: dict[str, int] = {}  # the last number of each feed; keep it with what you make of them
    while True:
        message = reader.poll(5)
        if message is None or message.error():
            continue
        about = {name: value.decode() for name, value in message.headers()}
        seq, feed = int(about["ce_sequence"]), about["ce_feedid"]
        if seq > seen.get(feed, 0):
            seen[feed] = seq
            title = json.loads(message.value() or b"{}").get("title")
            print(seq, about["ce_type"], about["ce_id"], title, flush=True)
        reader.commit(message)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    follow(*sys.argv[1:])
