"""The real command line in a process whose disk can be made full and free again.

SIGUSR1 forbids every file to grow, as a full disk does; SIGUSR2 lets them grow again.
"""

import resource
import signal
import sys

from feedmill.interfaces.cli.main import main

_FREE = resource.getrlimit(resource.RLIMIT_FSIZE)


def _fill(_: int, __: object) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, _FREE[1]))


def _free(_: int, __: object) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, _FREE)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _fill)
    signal.signal(signal.SIGUSR2, _free)
    sys.argv[0] = "feedmill"
    main()
