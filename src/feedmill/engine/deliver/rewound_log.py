"""Recognises a log that went back: a restored backup, a promoted standby, another database (D37).

What was delivered is compared with the log by number and id. When the log does not have it, one event
`log.rewound` is appended to it, whose number leaps over every number that readers may have seen. So no number is
used twice, and every reader's next event says what happened, wherever its cursor stands.
"""
# Tested in tests/contracts/store/test_rewound_log.py

from datetime import datetime

from feedmill.engine.ports.events import EventLog, NewestEvent


async def tell_if_rewound(log: EventLog, delivered: NewestEvent | None, now: datetime) -> bool:
    """Append `log.rewound` unless the log has this event, had it, or says so already."""
    if delivered is None or not delivered.seq:
        return False
    found = await log.events(after=delivered.seq - 1, limit=1)
    if found and (
        found[0].seq > delivered.seq or delivered.id is None or found[0].id == delivered.id
    ):
        return False  # it is there, or retention took it
    return await log.append_rewound(delivered, now)
