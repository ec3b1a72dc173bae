"""`feedmill purge`: delete what retention no longer keeps."""
# Tested in tests/integration/interfaces/cli/

import click

from feedmill.engine.maintain.retention import purge as purge_old
from feedmill.interfaces.cli.options import json_option
from feedmill.interfaces.cli.output import show_result
from feedmill.interfaces.cli.run_command import with_services


@click.command()
@json_option
def purge() -> None:
    """Delete what retention no longer keeps; entries still in a feed's document stay."""

    result = with_services(purge_old)
    show_result(
        result, ", ".join(f"{value:,} {key}" for key, value in result.items()) or "nothing to do"
    )
