"""The real command line in a process whose disk can be made full and free again.

SIGUSR1 forbids every file to grow, as a full disk does; SIGUSR2 lets them grow again. SIGRTMIN makes
every sync last for ever.
"""

import os
import resource
import signal
import sys
import threading

from feedmill.adapters import files as durable_files
from feedmill.interfaces.cli.main import main

_FREE = resource.getrlimit(resource.RLIMIT_FSIZE)


def _fill(_: int, __: object) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, _FREE[1]))


def _free(_: int, __: object) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, _FREE)


def _hang(_: int, __: object) -> None:
    def sync(_: object) -> None:
        os.write(2, b'{"event":"a sync hangs"}\n')
        threading.Event().wait()

    for module, name in ((os, "fsync"), (durable_files, "sync_data")):
        setattr(module, name, sync)


if __name__ == "__main__":
    signal.signal(signal.SIGRTMIN, _hang)
    signal.signal(signal.SIGUSR1, _fill)
    signal.signal(signal.SIGUSR2, _free)
    sys.argv[0] = "feedmill"
    main()
