"""`feedmill doctor`: check the environment."""
# Tested in tests/integration/interfaces/cli/

import sys
from typing import Any

import click

from feedmill.app.doctor import run_doctor
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_json, show_line
from feedmill.interfaces.cli.run_command import config_of, run_async


@click.command()
@json_option
def doctor() -> None:
    """Check configuration, clock, disk, name resolution, TLS, permissions, the store and its raw documents."""
    config = config_of()

    async def action() -> list[dict[str, Any]]:
        return await run_doctor(config)

    checks = run_async(action)
    if is_json():
        show_json({"items": checks, "next": None})
    else:
        for check in checks:
            advice = check.get("advice")
            mark, colour = ("ok", "green") if check["ok"] else ("FAIL", "red")
            mark, colour = ("set", "yellow") if advice else (mark, colour)
            show_line(f"{mark:<5}{check['name']}", check["detail"], width=21, fg=colour)
            if advice:
                show_line("", advice, width=21)
    sys.exit(0 if all(check["ok"] for check in checks) else 1)
