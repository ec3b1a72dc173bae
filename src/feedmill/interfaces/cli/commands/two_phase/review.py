"""`feedmill review`: review candidates in the terminal or as an HTML page."""
# Tested in tests/integration/interfaces/cli/

import sys
import webbrowser
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from msgspec import UnsetType

from feedmill.app.screeners import default_topics
from feedmill.app.settings import current_time, user_name
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.two_phase import sidecar_files
from feedmill.engine.two_phase.candidates import read_candidates, summarise_candidate
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import FILE_TO_WRITE, Number, flag, option
from feedmill.interfaces.cli.output import shorten, style_text
from feedmill.interfaces.cli.review_terminal import HELP, ReviewSession
from feedmill.model.candidate import CandidateFile, WindowCandidate
from feedmill.model.screening import Confirmation, Screening, Topic, TopicSet
from feedmill.screen.topics import choose_topics

ScreeningById = dict[int, Screening]
_SUMMARY: Final = 600  # characters of a candidate on the page
_UNSAFE: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@command()
@click.argument("candidates", type=click.Path(path_type=Path), metavar="CANDIDATES")
@option("--html OUT", "Write an HTML page instead.", type=FILE_TO_WRITE)
@option(
    "--min-score",
    "Only candidates with at least this score.",
    default=0.0,
    show_default=False,
    type=Number(0, 1),
)
@option("--topic TOPIC", "Only candidates suggested for this topic.")
@flag("--all", "everything", "Include dropped and stored candidates.")
async def review(
    candidates: Path, html: Path | None, min_score: float, topic: str | None, *, everything: bool
) -> Answer:
    """Review candidates with their scores and reasons, select and confirm.

    On a terminal it is interactive, otherwise it prints a list. Nothing is inserted: the confirmed
    selection is recorded beside the file, for `feedmill insert-selected`.

    \b
    Examples:
      feedmill review candidates.json
      feedmill review candidates.json --html review.html
      feedmill review candidates.json --topic lca --min-score 0.6 --json
    """

    file = read_candidates(candidates)
    said = {one.candidate_id: one for one in sidecar_files.read_screenings(candidates, file)}
    known = _topics(candidates, file)
    wanted = None if topic is None else choose_topics(known, [topic]).topics[0].id
    names = {one.id: one.name for one in known.topics}
    fitting = [
        one for one in file.candidates if _fits(said.get(one.candidate_id), min_score, wanted)
    ]
    if file.candidates and not fitting and not is_json():
        click.echo("no candidate fits --topic and --min-score; all are shown", err=True)
        fitting = list(file.candidates)
    shown = fitting if everything else [one for one in fitting if _is_open(one, said)]
    if html is not None:
        page = review_page(
            file, fitting, said, save_as=sidecar_files.selection_path(candidates).name, names=names
        )
        write_file(html, page.encode())
        shape = {"out": str(html), "candidates": len(fitting)}
        return Answer(shape, f"{len(fitting)} candidates written to {html}")

    def show() -> None:
        _hint(file, shown, said, candidates)
        session = ReviewSession(shown or fitting, said, names)
        if sys.stdin.isatty() and sys.stdout.isatty():
            _converse(session, file, candidates)
        else:
            click.echo("".join(f"{line}\n" for line in session.listing()), nl=False)

    items = [summarise_candidate(one, said.get(one.candidate_id)) for one in shown]
    return Answer({"items": items, "next": None}, show)


def _hint(
    file: CandidateFile, shown: Sequence[WindowCandidate], said: ScreeningById, path: Path
) -> None:
    """A note for a list without suggestions or an empty one."""
    if not file.candidates:
        click.echo("the window has no candidates", err=True)
    elif not said:
        words = f"not screened yet; run `feedmill screen {path}`"
        click.echo(words, err=True)
    if file.candidates and not shown:
        known = sum(one.is_known for one in file.candidates)
        dropped = sum(one.suggestion == "drop" for one in said.values())
        click.echo(
            f"nothing was kept: of {len(file.candidates)} candidates {dropped} are suggested to be "
            f"dropped and {known} are stored already; all that fit are shown",
            err=True,
        )


def _converse(session: ReviewSession, file: CandidateFile, path: Path) -> None:
    click.echo(HELP)
    reply = session.answer("list")
    while True:
        for line in reply.lines:
            click.echo(style_text(line, bold=line.startswith("== ")))
        if reply.open_url is not None:
            webbrowser.open(reply.open_url)
        if reply.is_over:
            break
        reply = session.answer(click.prompt("review", default="", show_default=False))
    if reply.is_confirmed:
        _confirmed(session, file, path)


def _confirmed(session: ReviewSession, file: CandidateFile, path: Path) -> None:
    ids = tuple(sorted(session.chosen))
    confirmation = Confirmation(
        confirmed_by=user_name(),
        confirmed_at=current_time(),
        file_digest=file.digest,
        candidate_ids=ids,
        shown="terminal",
    )
    sidecar_files.record_confirmation(path, confirmation)
    selection = sidecar_files.selection_path(path)
    write_file(selection, sidecar_files.encode_selection(file, ids, "terminal"))
    click.echo(f"{len(ids)} confirmed by {confirmation.confirmed_by}, written to {selection}")
    click.echo(
        f"next: feedmill insert-selected --candidates {path} --selected-ids-file {selection}"
    )


def _topics(path: Path, file: CandidateFile) -> TopicSet:
    """The bundled topics, those that travelled with the file, and those that it was screened by."""
    own = () if isinstance(file.topic_set, UnsetType) else file.topic_set
    names = sidecar_files.read_topic_names(path, file).items()
    known = {one.id: one for one in (*default_topics().topics, *own)}
    known |= {key: Topic(id=key, name=name) for key, name in names if key not in known}
    return TopicSet(name="review", topics=tuple(known.values()))


def _fits(said: Screening | None, min_score: float, topic: str | None) -> bool:
    if topic is not None and (said is None or said.topic != topic):
        return False
    return min_score <= 0 or (said is not None and said.score >= min_score)


def _is_open(one: WindowCandidate, said: ScreeningById) -> bool:
    """True when it still has to be decided: not stored, and not suggested to be dropped."""
    screening = said.get(one.candidate_id)
    return not one.is_known and (screening is None or screening.suggestion != "drop")


def review_page(
    file: CandidateFile,
    candidates: Sequence[WindowCandidate],
    screenings: Mapping[int, Screening],
    *,
    save_as: str,
    names: Mapping[str, str] | None = None,
) -> str:
    """A page that works offline for these candidates; `save_as` is the file name of the downloaded selection.

    The page has no outside asset and may not load one: its policy names its own script and style by
    their hashes and forbids the rest. Candidates lie in it as data; what a feed wrote is set as text.
    """
    style, script = _asset("review.css"), _asset("review.js")
    data = {
        "digest": file.digest,
        "save_as": save_as,
        "candidates": [
            _shape(one, screenings.get(one.candidate_id), names or {}) for one in candidates
        ],
    }
    return _asset("review.html").format(
        policy=_policy(style, script),
        style=style,
        script=script,
        data=_inert(data),
        span=escape(f"{file.window.start:%Y-%m-%d %H:%M} to {file.window.end:%Y-%m-%d %H:%M} UTC"),
        prompt=escape(shorten(file.prompt, 200)),
    )


def _shape(
    one: WindowCandidate, said: Screening | None, names: Mapping[str, str]
) -> dict[str, Any]:
    topic = "" if said is None else said.topic or ""
    return {
        "id": one.candidate_id,
        "title": shorten(one.title or "", 300),
        "published": "" if one.published_at is None else one.published_at.isoformat(),
        "feed": shorten(one.feed_title or "", 120),
        "url": shorten(one.url or "", 2_000),
        "summary": shorten(one.summary or "", _SUMMARY),
        "categories": [shorten(name, 60) for name in one.categories[:10]],
        "known": one.is_known,
        "elsewhere": one.is_known_elsewhere,
        "suggestion": "" if said is None else said.suggestion,
        "topic": shorten(names.get(topic, topic), 80),
        "score": 0.0 if said is None else said.score,
        "reason": "" if said is None else shorten(said.reason, 300),
        "evidence": [] if said is None else [shorten(word, 80) for word in said.evidence[:10]],
        "suspicious": said is not None and said.is_suspicious,
    }


def _inert(data: object) -> str:
    """JSON that cannot end the element it stands in, whatever a feed wrote."""
    text = msgspec.json.encode(data).decode()
    for character, instead in _UNSAFE.items():
        text = text.replace(character, instead)
    return text


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _asset(name: str) -> str:
    return (files("feedmill.interfaces.cli") / "page" / name).read_text("utf-8")
