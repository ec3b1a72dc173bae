"""Free TCP ports of the loopback that a server can keep through stops and starts."""

import os
import socket

# Below Linux's ephemeral range (32768 and up): while a server is down, no client's own end can
# land on its port, and nobody who dials it again and again ends up connected to himself.
_FIRST = 15_000
_COUNT = 17_000
_given: set[int] = set()


def free_port() -> int:
    """A port that nobody listens on and that this process has not given away before."""
    # Test processes run side by side and have neighbouring numbers: each looks somewhere else
    # first, thousands of ports away (the golden section of the range).
    start = os.getpid() * 10_507
    for step in range(_COUNT):
        port = _FIRST + (start + step) % _COUNT
        if port not in _given and _is_free(port):
            _given.add(port)
            return port
    msg = "every port from 15000 to 31999 is taken"
    raise RuntimeError(msg)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
