"""`feedmill doctor`: check the environment."""
# Tested in tests/integration/interfaces/cli/

from typing import Any

from feedmill.app.doctor import run_doctor
from feedmill.config import Config
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.output import show_line


@command()
async def doctor(config: Config) -> Answer:
    """Check configuration, clock, disk, name resolution, TLS, permissions, the store and its raw documents."""
    checks = await run_doctor(config)
    status = 0 if all(check["ok"] for check in checks) else 1
    return Answer({"items": checks, "next": None}, lambda: _show(checks), status)


def _show(checks: list[dict[str, Any]]) -> None:
    for check in checks:
        advice = check.get("advice")
        mark, colour = ("ok", "green") if check["ok"] else ("FAIL", "red")
        mark, colour = ("set", "yellow") if advice else (mark, colour)
        show_line(f"{mark:<5}{check['name']}", check["detail"], width=21, fg=colour)
        if advice:
            show_line("", advice, width=21)
