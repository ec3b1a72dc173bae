"""`feedmill insert-selected`: store confirmed candidates as entries."""
# Tested in tests/integration/interfaces/cli/

import sys
from pathlib import Path

import click
from msgspec.structs import replace

from feedmill.app.settings import user_name
from feedmill.engine.two_phase import sidecar_files
from feedmill.engine.two_phase.candidates import (
    raise_candidate_error,
    read_candidates,
    select_candidates,
)
from feedmill.engine.two_phase.insert_selected import insert_selected as insert_candidates
from feedmill.interfaces.cli.command import Answer, OpenServices, command
from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt, exit_with_error, is_json
from feedmill.interfaces.cli.options import flag, option, usage_error
from feedmill.interfaces.cli.output import format_count, shorten
from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import Confirmation, InsertResult
from feedmill.screen.injection_signs import signs_of_candidate

_SHOWN = 50
_NOT_REVIEWED = "the window was neither screened nor reviewed; nothing was written"
_REVIEW = "run `feedmill screen {path}` or `feedmill review {path}` first, or add --unreviewed"


@command("insert-selected")
@option(
    "--candidates FILE",
    "path",
    "A candidate file written by `collect-window`.",
    required=True,
    type=click.Path(path_type=Path),
)
@option("--selected-ids IDS", "Ids of the selected candidates, such as 3,7,12 or 3-9.")
@option(
    "--selected-ids-file FILE",
    "A file of ids: written by `review` or its page, or one id per line.",
    type=click.Path(path_type=Path),
)
@flag("--select-all", "Every candidate of the file.")
@flag("--confirm", "Confirm without asking; otherwise the terminal is asked.")
@flag(
    "--unreviewed",
    "With --confirm: insert the whole of a window that was neither screened nor reviewed.",
)
@option("--confirmed-by NAME", "Name of the person who confirms [the current user].")
async def insert_selected(
    open_services: OpenServices,
    path: Path,
    selected_ids: str | None,
    selected_ids_file: Path | None,
    confirmed_by: str | None,
    *,
    select_all: bool,
    confirm: bool,
    unreviewed: bool,
) -> Answer:
    """Store selected and confirmed candidates, exactly as polling would.

    Everything is checked before anything is written: the file, every id and every document.
    Running it again inserts nothing. Who confirmed what is recorded beside the file.

    \b
    Examples:
      feedmill insert-selected --candidates week.json --selected-ids 3,7 --confirm
      feedmill insert-selected --candidates week.json --selected-ids-file ids.txt
    """
    if sum((selected_ids is not None, selected_ids_file is not None, select_all)) != 1:
        usage_error("give exactly one of --selected-ids, --selected-ids-file and --select-all")

    file = read_candidates(path)
    everything = tuple(one.candidate_id for one in file.candidates)
    selection = sidecar_files.Selection(ids=everything, shown="command-line")
    if selected_ids_file is not None:
        selection = sidecar_files.read_selection(selected_ids_file, file)
    elif selected_ids is not None:
        selection = replace(selection, ids=sidecar_files.parse_ids(selected_ids))
    # Naming all of several is --select-all in other words.
    is_all = select_all or (len(everything) > 1 and set(selection.ids) == set(everything))
    is_seen = selection.shown != "command-line" or sidecar_files.was_reviewed(path, file)
    is_unseen = is_all and confirm and not is_seen
    if is_unseen and not unreviewed:
        raise_candidate_error("not-reviewed", _NOT_REVIEWED, _REVIEW.format(path=path))
    shown = "unreviewed" if is_unseen else selection.shown
    wanted = select_candidates(file, selection.ids)
    if not confirm:
        _ask(wanted)
    services = await open_services()
    confirmation = Confirmation(
        confirmed_by=_confirmed_by(confirmed_by),
        confirmed_at=services.clock.now(),
        file_digest=file.digest,
        candidate_ids=tuple(one.candidate_id for one in wanted),
        shown=shown,
    )
    done = await insert_candidates(
        file, confirmation.candidate_ids, confirmation, services, path=path
    )
    return Answer(done, lambda: _say(done))


def _say(done: InsertResult) -> None:
    for number, reason in done.skipped_reasons.items():
        click.echo(f"candidate {number} skipped: {reason}", err=True)
    click.echo(
        f"{done.selected} selected: {done.new} new, {done.updated} updated, "
        f"{done.unchanged} unchanged, {done.skipped} skipped"
    )
    if done.feeds_added:
        click.echo(
            f"{format_count(done.feeds_added, 'feed')} added as paused; `feedmill resume` starts polling"
        )


def _confirmed_by(given: str | None) -> str:
    """The given name with the account that gave it: a name alone proves nothing."""
    account = user_name()
    return account if given is None or given == account else f"{given} (account {account})"


def _ask(wanted: tuple[WindowCandidate, ...]) -> None:
    """Ask on the terminal; without a terminal the answer is no."""
    if is_json() or not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "pass --confirm after a person has reviewed them; see `feedmill review`"
        exit_with_error("not-confirmed", "not confirmed: nothing was written", hint)
    for one in wanted[:_SHOWN]:
        day = "undated   " if one.published_at is None else f"{one.published_at:%Y-%m-%d}"
        words = shorten(f"{one.title or '-'} ({one.feed_title or '-'}) {one.url or ''}", 200)
        click.echo(f"{one.candidate_id:>6}  {day}  {words}")
        if signs_of_candidate(one):
            click.echo("        WARNING: this text tries to steer its reader")
    if len(wanted) > _SHOWN:
        click.echo(f"        and {len(wanted) - _SHOWN} more")
    question = f"Insert {format_count(len(wanted), 'entry', 'entries')}?"
    with ctrl_c_ends_prompt():
        if not click.confirm(question, default=False):
            exit_with_error("not-confirmed", "nothing was written", as_json=False)
