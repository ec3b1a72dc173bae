"""Print every event of a mill as it happens, and go on where the last run ended.

python examples/follow.py http://127.0.0.1:8642 position.txt   (token in FEEDMILL_TOKEN)
"""

import asyncio
import os
import sys
from pathlib import Path

from feedmill.client import Client


async def follow(address: str, position: Path) -> None:
    """Print one line per event; the position is saved when the line is out."""
    after = int(position.read_text()) if position.exists() else 0
    async with Client(address, token=os.environ.get("FEEDMILL_TOKEN")) as mill:
        async for event in mill.watch(after):
            print(event.seq, event.type, event.entry_uid or event.feed_id, flush=True)
            position.write_text(f"{event.seq}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(follow(sys.argv[1], Path(sys.argv[2])))
