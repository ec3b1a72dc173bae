"""Recognises a log that went back: a restored backup, a promoted standby, another database (D37).

What was told is compared with the log by number and id. When the log does not have it, one event
`log.rewound` is appended to it, whose number leaps over every number that readers may have seen. So no number is
used twice, and every reader's next event says what happened, wherever its cursor stands.
"""
# Tested in tests/contracts/store/test_rewound_log.py

from datetime import datetime

from feedmill.engine.ports.events import EventLog, NewestEvent


async def tell_if_rewound(log: EventLog, told: NewestEvent | None, now: datetime) -> bool:
    """Append `log.rewound` unless the log has this event, had it, or says so already."""
    if told is None or not told.seq:
        return False
    found = await log.events(after=told.seq - 1, limit=1)
    if found and (found[0].seq > told.seq or told.id is None or found[0].id == told.id):
        return False  # it is there, or retention took it
    return await log.append_rewound(told, now)
