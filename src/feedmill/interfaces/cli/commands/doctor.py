"""`feedmill doctor`: check the environment."""
# Tested in tests/integration/interfaces/cli/

import sys
from typing import Any

import click

from feedmill.app.doctor import run_doctor
from feedmill.interfaces.cli.options import context_and_json
from feedmill.interfaces.cli.output import show_json, style_text
from feedmill.interfaces.cli.run_command import config_of, run_async


@click.command()
@context_and_json
def doctor(ctx: click.Context, *, as_json: bool) -> None:
    """Check configuration, clock, disk, name resolution, TLS, permissions, the store and its raw documents."""
    config = config_of(ctx, as_json=as_json)

    async def action() -> list[dict[str, Any]]:
        return await run_doctor(config)

    checks = run_async(action, as_json=as_json)
    if as_json:
        show_json({"items": checks, "next": None})
    else:
        for check in checks:
            mark = style_text("ok  ", fg="green") if check["ok"] else style_text("FAIL", fg="red")
            click.echo(f"{mark} {check['name']:<16}{check['detail']}")
    sys.exit(0 if all(check["ok"] for check in checks) else 1)
