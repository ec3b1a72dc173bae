"""A Python that has imported feedmill and forks for each script it is given: see warm_process.py.

It reads requests from the socket that is its standard input. The process that runs a script has no
parent here: the one between forks and ends, so that the tests' own process becomes its parent.
"""

import gc
import io
import json
import os
import runpy
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from feedmill.adapters import failpoints

PRELOADED = (
    "feedmill.adapters.http.curl_loop",
    "feedmill.adapters.http.decoders",
    "feedmill.adapters.http.fetcher",
    "feedmill.adapters.http.resolver",
    "feedmill.adapters.store.postgres.store",
    "feedmill.adapters.store.sqlite.store",
    "feedmill.app.services",
    "feedmill.interfaces.cli.main",
    "feedmill.interfaces.cli.commands.servers.run",
    "feedmill.interfaces.cli.commands.servers.sync",
    "feedmill.interfaces.cli.commands.servers.worker",
    "feedmill.interfaces.cli.commands.feeds.add",
    "idna",
)
WHERE_AVAILABLE = "uvloop"
PRELOADED_FOR = {  # when a command is first asked for
    "api": "feedmill.interfaces.rest.server",
    "mcp": "feedmill.interfaces.mcp.server",
    "serve": "feedmill.interfaces.rest.server",
}


def next_script(requests: socket.socket) -> list[str]:
    """Fork for every request; only the forked process returns, with its streams and environment."""
    while True:
        sent, files, _, _ = socket.recv_fds(requests, 1 << 18, 3)
        if not sent:
            os._exit(0)
        request = json.loads(sent)
        for command in PRELOADED_FOR.keys() & set(request["words"][1:2]):
            import_module(PRELOADED_FOR[command])
        gc.freeze()  # what was imported is not looked at again: its memory stays shared
        forked, tell = os.pipe()
        if (between := os.fork()) == 0:
            if child := os.fork():
                os.write(tell, str(child).encode())
                os._exit(0)
            return become(request, files)
        os.waitpid(between, 0)
        requests.send(os.read(forked, 32))
        for number in (forked, tell, *files):
            os.close(number)


def become(request: dict[str, Any], files: list[int]) -> list[str]:
    """Take over what a process of its own would have got: streams, environment, folder."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, max(files) + 64)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # as the interpreter has it: never closed
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(open(number, "wb", closefd=False), "utf-8", line_buffering=True)  # noqa: SIM115
        for number in (1, 2)
    )
    arm_failpoint()
    words: list[str] = request["words"]
    return words


def arm_failpoint() -> None:
    """Do what importing the adapters in this environment would have done."""
    unarmed, armed = failpoints.reach, failpoints.make_failpoint(os.environ)
    for module in tuple(sys.modules.values()):
        if vars(module).get("reach") is unarmed:
            vars(module)["reach"] = armed


if __name__ == "__main__":
    for name in PRELOADED:
        import_module(name)
    with suppress(ImportError):
        import_module(WHERE_AVAILABLE)
    wire = socket.socket(fileno=os.dup(0))
    wire.send(b"ready")
    sys.argv = next_script(wire)
    runpy.run_path(sys.argv[0], run_name="__main__")
