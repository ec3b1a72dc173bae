"""A `feedmill` for shells: a program on their path that is forked from a Python that has imported everything.

The program itself imports nothing of feedmill: it sends its words, environment, folder and streams to the
tests' process, which forks (warm_process.py), and leaves with the exit code that comes back.
"""

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.command_line import COMMAND
from tests.support.warm_process import WarmPopen

_PROGRAM: Final = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
    wire.connect({path!r})
    request = {{"words": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}}
    socket.send_fds(wire, [json.dumps(request).encode()], [0, 1, 2])
    sys.exit(int(wire.recv(32)))
"""


@contextmanager
def warm_command(folder: Path) -> Iterator[Path]:
    """Put `feedmill` into the folder, and run what it is called with in this block."""
    program, path = folder / "feedmill", folder / "requests"
    program.write_text(_PROGRAM.format(python=sys.executable, path=str(path)), "utf-8")
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener,))
        thread.start()
        try:
            yield folder
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # ends `accept`
            thread.join()


def _serve(listener: socket.socket) -> None:
    """Run one command after the other, until nothing can be accepted any more."""
    while True:
        try:
            wire, _ = listener.accept()
        except OSError:
            return
        with wire:
            sent, files, _, _ = socket.recv_fds(wire, 1 << 18, 3)
            request = json.loads(sent)
            stdin, stdout, stderr = files
            with WarmPopen(
                [COMMAND, *request["words"]],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=request["environment"],
                cwd=request["folder"],
            ) as process:
                for file in files:
                    os.close(file)
            wire.send(str(process.returncode).encode())
