"""The demonstration package is loaded when it is opened, and by nothing else."""

import subprocess
import sys

IMPORT_ALL = """
import importlib, pkgutil, sys
import feedmill.app, feedmill.interfaces.cli.commands as commands, feedmill.interfaces.cli.main
for package in (feedmill.app, commands):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
print(sorted(name for name in sys.modules if name.partition(".")[0] == "feedmill_demo"))
"""


def test_importing_app_and_every_command_loads_nothing_of_the_demo() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=True
    ).stdout

    assert loaded.strip() == "[]"
