"""`feedmill confirm`: a person confirms or declines what agents want to insert.

It needs a terminal: there is no option that says yes, and neither the question nor the ticket goes
through standard input or output of another program; a pipe is refused. (A program under the same
account can open a pseudo-terminal and press keys; run agents that must not do that under an
account of their own.)
"""

import sys
from typing import Any

import click
from msgspec import to_builtins

from feedmill.app.settings import user_name
from feedmill.engine.run.services import Services
from feedmill.engine.two_phase import confirmation
from feedmill.engine.two_phase.review import PendingQuestion, pending_questions
from feedmill.engine.two_phase.sidecar_files import WindowLibrary
from feedmill.errors import ConflictError
from feedmill.interfaces.cli import output
from feedmill.interfaces.cli.exit import exit_with_error, is_json
from feedmill.interfaces.cli.options import flag, list_options, option
from feedmill.interfaces.cli.run_command import with_services
from feedmill.model.base import fields_of

_TITLE_CHARS = 100


@click.command()
@option("--code CODE", "Answer only this question.")
@flag("--list", "only_list", "List open questions without asking.")
@list_options()
def confirm(code: str | None, *, only_list: bool) -> None:
    """Confirm or decline the insertion of candidates that agents selected.

    Each confirmation shows a ticket that is valid once, for that selection, for a few minutes. Give
    it to the agent that asked.

    \b
    Examples:
      feedmill confirm
      feedmill confirm --code K7QM3XPD
      feedmill confirm --list --json
    """

    found = with_services(lambda services: _asked(code, services))
    if is_json() or only_list:
        _show(found)
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        words = "not a terminal: only a person at a terminal can confirm"
        exit_with_error("no-terminal", words, "run it in an interactive terminal", as_json=False)
    if not found:
        click.echo("no open questions")
    for asked in found:
        _answer(asked)


async def _asked(code: str | None, services: Services) -> list[PendingQuestion]:
    now = services.clock.now()
    if code is None:
        questions = list(await services.store.questions(now))
    else:
        question = await confirmation.get_question(code, services.store)
        if question.state != "pending" or now >= question.expires_at:
            message = f"the question {question.code} was already answered or has expired"
            raise ConflictError(message, reason="not-open", hint="have the agent ask again")
        questions = [question]
    return await pending_questions(questions, WindowLibrary(services.config))


def _show(found: list[PendingQuestion]) -> None:
    items = [_wire(asked) for asked in found]

    def describe() -> None:
        for asked in found:
            _describe(asked)

    output.show_list(items, (), (), empty="no open questions", show=describe)


def _describe(asked: PendingQuestion) -> None:
    question = asked.question
    by, count = output.shorten(question.asked_by, 80), len(question.candidate_ids)
    click.echo(
        output.style_text(f"{question.code}  {by} asks to insert {count} entries", bold=True)
    )
    for one in asked.candidates:
        day = "undated   " if one.published_at is None else f"{one.published_at:%Y-%m-%d}"
        known = "  (stored already)" if one.is_known else ""
        title = output.shorten(one.title or "(no title)", _TITLE_CHARS)
        click.echo(f"  {one.candidate_id:>5}  {day}  {title}{known}")
        click.echo(
            f"         {output.shorten(one.feed_title or '', 60)}  {output.shorten(one.url or '', 200)}"
        )
        if one.candidate_id in asked.suspicious:
            click.echo("         WARNING: this text tries to steer its reader")
    if asked.problem:
        click.echo(f"  cannot be confirmed: {output.shorten(asked.problem, 300)}")


def _answer(asked: PendingQuestion) -> None:
    """Ask on the terminal; the ticket is shown there and nowhere else."""
    _describe(asked)
    if asked.problem:
        return
    is_yes = click.confirm(
        f"Insert {output.format_count(len(asked.candidates), 'entry', 'entries')}?", default=False
    )
    code, by = asked.question.code, user_name()

    async def answer(services: Services) -> confirmation.Ticket | None:
        if is_yes:
            return await confirmation.accept_question(
                code, services.store, services.clock, services.config.mcp, by=by, shown="terminal"
            )
        await confirmation.decline_question(
            code, services.store, services.clock, by=by, shown="terminal"
        )
        return None

    made = with_services(answer)
    if made is None:
        click.echo("declined; nothing will be inserted")
        return
    until = made.question.ticket_expires_at
    assert until is not None
    assert made.question.answered_at is not None
    click.echo(f"give this ticket to {output.shorten(made.question.asked_by, 80)}:")
    click.echo(f"  {output.style_text(made.ticket, bold=True)}")
    click.echo(f"valid once, within {output.format_duration(until - made.question.answered_at)}")


def _wire(asked: PendingQuestion) -> dict[str, Any]:
    """A question as JSON, without its ticket."""
    shown = "candidate_id title published_at feed_title url"
    rows = [
        fields_of(one, shown, is_suspicious=one.candidate_id in asked.suspicious)
        for one in asked.candidates
    ]
    facts: dict[str, Any] = to_builtins(asked.question)
    return {**facts, "candidates": rows, "problem": asked.problem or None}
