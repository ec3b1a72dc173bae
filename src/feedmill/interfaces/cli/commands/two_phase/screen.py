"""`feedmill screen`: score candidates by topics, and evaluate the methods."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import click
import msgspec

from feedmill.app import screeners
from feedmill.app.settings import current_time
from feedmill.config import Config
from feedmill.engine.run.atomic_file import write_file
from feedmill.engine.two_phase import candidates, sidecar_files
from feedmill.engine.two_phase.screen import Evaluation, evaluate, screen_texts
from feedmill.errors import TopicError, UsageError
from feedmill.interfaces.cli.command import Answer, command
from feedmill.interfaces.cli.options import FILE_TO_READ, FILE_TO_WRITE, flag, option
from feedmill.interfaces.cli.output import progress, shorten, show_table, style_text
from feedmill.model.candidate import CandidateFile
from feedmill.model.screening import (
    Calibration,
    EvaluationEntry,
    EvaluationSet,
    Label,
    Screening,
    Suggestion,
    TopicSet,
)
from feedmill.screen import topics as topic_sets
from feedmill.screen.calibration import labels_of, learn
from feedmill.screen.evaluate import ANY, Quality, about_only, read_gold
from feedmill.screen.language import screen_text_of

_ORDER: Final[dict[Suggestion, int]] = {"keep": 0, "unsure": 1, "drop": 2}
_HONEST: Final[dict[EvaluationSet, str]] = {
    "sustainability": "this set was written by the authors of the bundled topics: expect less on "
    "other texts, as with --set independent",
    "independent": "this set was written without a look at the bundled topics; mistakes in its "
    "tuning part were mended afterwards, and nothing was changed for those in its held-out part",
}


class _Options(NamedTuple):
    """The options of the command."""

    candidates: Path | None
    topic_file: Path | None
    no_defaults: bool
    names: tuple[str, ...]
    method: screeners.ScreenMethod
    reviewed: tuple[Path, ...]
    out: Path | None
    is_evaluation: bool
    set_name: EvaluationSet | None


class _Screened(NamedTuple):
    screenings: tuple[Screening, ...]
    path: Path
    warnings: list[str]
    learnt: Calibration | None
    titles: dict[int, str]
    topics: TopicSet


@command()
@click.argument("candidates", type=FILE_TO_READ, required=False)
@option(
    "--topics",
    "topic_file",
    "A file with topics that extend or override the bundled ones.",
    type=FILE_TO_READ,
)
@flag("--no-defaults", "Only the topics of --topics.")
@option("--topic NAME", "names", "Only this topic; repeatable.", multiple=True)
@option(
    "--method",
    "Screening method; llm asks a language model about unclear candidates.",
    choices=("lexical", "embedding", "hybrid", "llm"),
    default="hybrid",
)
@option(
    "--learn-from",
    "reviewed",
    "A screened and confirmed candidate file to learn from; repeatable.",
    type=FILE_TO_READ,
    multiple=True,
)
@option("--out", "Output file for the suggestions [beside the candidate file].", type=FILE_TO_WRITE)
@flag("--evaluate", "is_evaluation", "Evaluate the methods on a labelled set [the bundled one].")
@option(
    "--set",
    "set_name",
    "Which bundled set to evaluate on [sustainability].",
    choices=get_args(EvaluationSet),
)
async def screen(config: Config, **given: Any) -> Answer:  # noqa: ANN401  # as click parsed them
    """Suggest keep, unsure or drop for each candidate of a file; nothing is inserted.

    \b
    Examples:
      feedmill screen candidates.json
      feedmill screen candidates.json --topics mine.toml --topic lca
      feedmill screen --evaluate --set independent
    """
    asked = _Options(**given)
    path, ours = asked.candidates, asked.set_name or "sustainability"
    if asked.no_defaults and asked.topic_file is None:
        raise TopicError(["--no-defaults needs a topic file: pass --topics"])
    if asked.set_name is not None and (path is not None or not asked.is_evaluation):
        message = "--set needs --evaluate without a file"
        raise UsageError(message)
    if asked.is_evaluation:
        text = screeners.evaluation_set(ours) if path is None else _text(path)
        found = await _evaluate(text, _known(asked, screeners.default_topics()), asked, config)
        return _evaluated_answer(found, ours if path is None else None)
    if path is None:
        message = "give a candidate file written by `feedmill collect-window`"
        raise UsageError(message)
    return _screened_answer(await _screen(path, asked, config), path)


async def _screen(path: Path, asked: _Options, config: Config) -> _Screened:
    file = candidates.read_candidates(path)
    topics, warnings = _chosen(asked, file)
    warnings += topic_sets.weaknesses(topics)
    if file.prompt and asked.method != "llm":
        warnings.append("the prompt of the window is used by --method llm only")
    texts = [screen_text_of(one) for one in file.candidates]
    with progress(len(texts), "screening") as step:
        async with screeners.open_screeners(config, asked.method) as opened:
            warnings += opened.warnings
            methods = [one.name for one in opened.screeners]
            learnt = learn(_labels(asked.reviewed), methods, topics.version)
            if asked.reviewed and learnt is None:
                warnings.append(
                    "too few confirmations to learn from: at least 20 of this topic set are needed"
                )
            screenings = await screen_texts(
                texts,
                topics,
                opened.screeners,
                config.screen,
                asked=opened.asked,
                learnt=learnt,
                progress=partial(_advance, step),
                warn=warnings.append,
            )
    at = current_time()
    titles = {text.ref: text.title for text in texts}
    if asked.out is None:
        beside = sidecar_files.write_screenings(path, file, screenings, at=at, topics=topics.topics)
        return _Screened(screenings, beside, warnings, learnt, titles, topics)
    record = sidecar_files.Screenings(
        schema=sidecar_files.SCREENING_SCHEMA,
        file_digest=file.digest,
        screened_at=at,
        screenings=screenings,
        topic_names={one.id: one.name for one in topics.topics},
    )
    write_file(asked.out, candidates.encode_canonical(record))
    return _Screened(screenings, asked.out, warnings, learnt, titles, topics)


async def _evaluate(text: str, known: TopicSet, asked: _Options, config: Config) -> Evaluation:
    file = asked.topic_file
    own = [] if file is None else [one.id for one in screeners.read_topic_file(file).topics]
    labelled = read_gold(text, known)
    topics = _evaluated(known, asked.names, own, labelled)
    gold = about_only(labelled, topics)
    with progress(None, "evaluating") as step:
        async with screeners.open_screeners(config, asked.method) as opened:
            return await evaluate(
                gold,
                topics,
                opened.screeners,
                config.screen,
                warnings=opened.warnings,
                progress=lambda _: step(),
            )


def _evaluated(
    known: TopicSet, names: Sequence[str], own: Sequence[str], gold: Sequence[EvaluationEntry]
) -> TopicSet:
    """The topics to measure: the named ones; else those of the file and those that the labels name."""
    if names or not own:
        return topic_sets.choose_topics(known, names)
    labels = {topic for one in gold for topic in one.topics}
    return topic_sets.choose_topics(
        known, [one.id for one in known.topics if one.id in labels or one.id in own]
    )


def _advance(step: Callable[[], None], done: int) -> None:
    for _ in range(done):
        step()


def _known(asked: _Options, base: TopicSet) -> TopicSet:
    """The base extended by the topics of --topics, or these alone."""
    if asked.topic_file is None:
        return base
    own = screeners.read_topic_file(asked.topic_file)
    return (
        screeners.with_background(own) if asked.no_defaults else topic_sets.merge_topics(base, own)
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise TopicError([f"{path} is not UTF-8 text"]) from problem


def _chosen(asked: _Options, file: CandidateFile) -> tuple[TopicSet, list[str]]:
    """The topics given as options, else those that the window was collected for."""
    known = topic_sets.with_topics_of_window(screeners.default_topics(), file)
    if asked.names or asked.topic_file is not None:
        chosen = topic_sets.choose_topics(_known(asked, known), asked.names)
        return topic_sets.with_digest(msgspec.structs.replace(chosen, prompt=file.prompt)), []
    chosen, unknown = topic_sets.topics_of_window(known, file)
    return chosen, [
        f"the window was collected for {name!r}, which is not a known topic"
        for name in sorted(unknown)
    ]


def _labels(paths: Sequence[Path]) -> list[Label]:
    """Training examples from reviews: the reviewer saw every candidate not suggested as drop."""
    found: list[Label] = []
    for path in paths:
        file = candidates.read_candidates(path)
        screenings = sidecar_files.read_screenings(path, file)
        confirmed = {
            number
            for one in sidecar_files.read_confirmations(path)
            if one.file_digest == file.digest
            for number in one.candidate_ids
        }
        shown = {one.candidate_id for one in screenings if one.suggestion != "drop"} | confirmed
        found += labels_of(screenings, confirmed, shown) if confirmed else ()
    return found


def _screened_answer(done: _Screened, candidates: Path) -> Answer:
    found = Counter(one.suggestion for one in done.screenings)
    counts = {name: found.get(name, 0) for name in _ORDER}
    shape = {
        "path": str(done.path),
        "counts": counts,
        "is_degraded": any(one.is_degraded for one in done.screenings),
        "learnt_from": 0 if done.learnt is None else done.learnt.labels,
        "topics": [one.id for one in done.topics.topics],
        "warnings": done.warnings,
        "screenings": [_slim(one) for one in done.screenings],
    }
    return Answer(shape, lambda: _show_screened(done, counts, candidates))


def _show_screened(done: _Screened, counts: dict[Suggestion, int], candidates: Path) -> None:
    for words in done.warnings:
        click.echo(style_text(f"warning: {shorten(words, 300)}", fg="yellow"), err=True)
    ranked = sorted(done.screenings, key=lambda one: (_ORDER[one.suggestion], -one.score))
    rows = [
        (
            str(one.candidate_id),
            one.suggestion,
            f"{one.score:.2f}",
            one.topic or "",
            done.titles[one.candidate_id] or "(without a title)",
            one.reason,
        )
        for one in ranked
        if one.suggestion != "drop"
    ]
    show_table(("id", "suggestion", "score", "topic", "title", "reason"), rows)
    ids = ", ".join(one.id for one in done.topics.topics)
    click.echo(f"topics: {shorten(ids, 300)}", err=True)
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    click.echo(f"{said}; written to {done.path}; next: feedmill review {candidates}", err=True)


def _slim(screening: Screening) -> dict[str, Any]:
    shape: dict[str, Any] = msgspec.to_builtins(screening)
    return {name: value for name, value in shape.items() if name != "scores"}


def _evaluated_answer(found: Evaluation, ours: EvaluationSet | None) -> Answer:
    shape = {"is_our_own_set": ours is not None, "set": ours, "methods": _by_method(found)}
    whole = {**msgspec.to_builtins(found), **shape}
    return Answer(whole, lambda: _show_evaluation(found, ours))


def _show_evaluation(found: Evaluation, ours: EvaluationSet | None) -> None:
    head = ("method", "topic", "texts", "relevant", "P", "R", "F1", "AUC", "F1 cross", "unsure")
    rows = [_quality_row(one, one.topic) for one in found.qualities]
    for part, qualities in found.splits.items():
        rows += [
            _quality_row(one, f"{one.topic} ({part})") for one in qualities if one.topic == "any"
        ]
    show_table(head, rows)
    for words in (*found.warnings, *([_HONEST[ours]] if ours else [])):
        click.echo(style_text(f"note: {words}", fg="yellow"), err=True)
    for wrong in found.confusions[:20]:
        gold = ",".join(wrong.gold) or "nothing"
        click.echo(
            f"  {wrong.id}  {wrong.score:.2f}  is {gold}: {shorten(wrong.title, 80)}", err=True
        )


def _by_method(found: Evaluation) -> dict[str, Any]:
    """The figures of each method for any topic, and under `topics` those for each."""
    shape: dict[str, Any] = {}
    for one in found.qualities:
        figures = msgspec.to_builtins(one)
        if one.topic == ANY:
            shape[one.method] = {**figures, "topics": {}}
        else:
            shape[one.method]["topics"][one.topic] = figures
    return shape


def _quality_row(one: Quality, topic: str) -> tuple[str, ...]:
    figures = (one.precision, one.recall, one.f1, one.auc, one.f1_cross, one.unsure)
    counts = (str(one.texts), str(one.relevant))
    return (one.method, topic, *counts, *(f"{figure:.3f}" for figure in figures))
