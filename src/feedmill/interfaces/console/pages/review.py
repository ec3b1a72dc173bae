"""Review: questions of agents, held entries and collected windows, chosen and confirmed by a person (001, D38).

Everybody who may read sees what waits. An answer needs the scope admin, which no agent should hold, and a
form of this console; a bearer token alone confirms nothing.
"""
# Tested in tests/integration/interfaces/console/test_review.py

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from litestar import Response, post
from litestar.datastructures import FormMultiDict

from feedmill.engine.two_phase import confirmation
from feedmill.engine.two_phase.candidates import select_candidates
from feedmill.engine.two_phase.review import (
    insert_from_window,
    insert_held,
    pending_questions,
    suspicious_ids,
)
from feedmill.engine.two_phase.sidecar_files import SavedWindow, WindowLibrary, read_screenings
from feedmill.errors import AccessError, ConflictError, FeedmillError, UsageError
from feedmill.interfaces.console.render import go_to, page, secret_page, view
from feedmill.interfaces.console.session import (
    SCOPE,
    digest_of,
    known_caller,
    number_field,
    read_form,
    text_field,
)
from feedmill.interfaces.request_auth import is_anonymous
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.addresses import mask_address
from feedmill.model.screening import HeldEntry, InsertResult
from feedmill.publish.to_json import read_cursor, write_cursor

HERE: Final = "/console/review"
_PER_PAGE: Final = 100
_MOST_WINDOWS: Final = 20


class ShownRow(NamedTuple):
    """One entry as the question before an insertion shows it."""

    title: str
    url: str
    is_suspicious: bool


@view("/console/review", "review.html", "Review")
async def review(request: AnyRequest) -> dict[str, Any]:
    """Everything that waits for a person."""
    services = services_of(request)
    library = WindowLibrary(services.config)
    questions = await services.store.questions(services.clock.now())
    cursor = read_cursor("console-held", request.query_params.get("cursor"))
    held = await services.store.held(after=cursor, limit=_PER_PAGE)
    feeds = {one.feed_id: await services.store.feed(one.feed_id) for one in held.items}
    return {
        "questions": await pending_questions(questions, library),
        "held": held.items,
        "feeds": {
            key: (feed.title or mask_address(feed.url)) if feed else ""
            for key, feed in feeds.items()
        },
        "next": write_cursor("console-held", held.next),
        "windows": await _windows(library),
        "name": _default_name(request),
    }


@post("/console/review/questions/{code:str}", status_code=200, opt={SCOPE: "admin"})
async def answer(request: AnyRequest) -> Response[bytes]:
    """Accept or decline what an agent asks; the ticket is shown to the person alone."""
    form, services = await read_form(request), services_of(request)
    code, by = str(request.path_params["code"]), _name(form, request)
    if form.get("answer") != "yes":
        await confirmation.decline_question(
            code, services.store, services.clock, by=by, shown="page"
        )
        return go_to(request, HERE, "Declined; nothing will be inserted.")
    _check_login(request)
    (asked,) = await pending_questions(
        [await confirmation.get_question(code, services.store)], WindowLibrary(services.config)
    )
    _check_shown(form, "" if asked.problem else asked.question.file_digest)
    made = await confirmation.accept_question(
        code, services.store, services.clock, services.config.mcp, by=by, shown="page"
    )
    return secret_page(
        request,
        title="Confirmed",
        here=HERE,
        words=f"Give this ticket to {made.question.asked_by}. It is valid once, for this selection, "
        f"for {services.config.mcp.ticket_minutes} minutes.",
        secret=made.ticket,
    )


@post("/console/review/held", status_code=200, opt={SCOPE: "admin"})
async def decide_held(request: AnyRequest) -> Response[bytes]:
    """Insert or drop held entries, after a question."""
    form, services = await read_form(request), services_of(request)
    uids = {str(one) for one in form.getall("entry", [])}
    chosen = await _held(uids, request)
    action = text_field(form, "action")
    if not chosen or action not in ("insert", "drop"):
        message = "select entries, and say whether they are to be inserted or dropped"
        raise UsageError(message)
    digest = digest_of(f"{one.entry_uid} {one.content_hash}" for one in chosen)
    if form.get("confirmed") != "1":
        rows = [_row_of_held(one) for one in chosen]
        fields = {"entry": sorted(uids), "digest": [digest]}
        return _ask(request, f"{HERE}/held", action, rows, fields, form)
    _check_shown(form, digest)
    if action == "drop":
        count = await services.store.reject_held([one.entry_uid for one in chosen])
        return go_to(request, HERE, f"{count} dropped; later polls skip them too.")
    _check_login(request)
    done = await insert_held(chosen, services, by=_name(form, request))
    return go_to(request, HERE, _inserted(done))


@view("/console/review/windows/{window_id:str}", "window.html", "Window", here=HERE)
async def window(request: AnyRequest) -> dict[str, Any]:
    """The candidates of a window with their suggestions."""
    kept = await _window(request)
    said = {one.candidate_id: one for one in read_screenings(kept.path, kept.file)}
    wanted = str(request.query_params.get("show") or "open")
    rows = [
        (one, said.get(one.candidate_id))
        for one in kept.file.candidates
        if wanted == "all"
        or (
            not one.is_known
            and ((found := said.get(one.candidate_id)) is None or found.suggestion != "drop")
        )
    ]
    first = number_field(request.query_params, "first", 0)
    return {
        "kept": kept,
        "rows": rows[first : first + _PER_PAGE],
        "total": len(rows),
        "first": first,
        "after": first + _PER_PAGE,
        "show": wanted,
        "screened": len(said),
        "name": _default_name(request),
    }


@post("/console/review/windows/{window_id:str}", status_code=200, opt={SCOPE: "admin"})
async def decide_window(request: AnyRequest) -> Response[bytes]:
    """Insert the chosen candidates of a window, after a question."""
    form, services = await read_form(request), services_of(request)
    kept = await _window(request, checked=True)
    ids = sorted({int(str(one)) for one in form.getall("candidate", []) if str(one).isdecimal()})
    chosen = select_candidates(kept.file, ids)
    if not chosen:
        message = "select candidates first"
        raise UsageError(message)
    here = f"{HERE}/windows/{kept.id}"
    if form.get("confirmed") != "1":
        suspicious = suspicious_ids(kept, chosen)
        rows = [
            ShownRow(
                one.title or str(one.candidate_id),
                one.url or "",
                is_suspicious=one.candidate_id in suspicious,
            )
            for one in chosen
        ]
        fields = {"candidate": ids, "digest": [kept.file.digest]}
        return _ask(request, here, "insert", rows, fields, form)
    _check_login(request)
    _check_shown(form, kept.file.digest)
    done = await insert_from_window(kept, ids, services, by=_name(form, request))
    return go_to(request, here, _inserted(done))


def _ask(
    request: AnyRequest,
    path: str,
    action: str,
    rows: Sequence[ShownRow],
    fields: dict[str, Any],
    form: FormMultiDict,
) -> Response[bytes]:
    count = f"{len(rows):,} {'entry' if len(rows) == 1 else 'entries'}"
    return page(
        request,
        "confirm_review.html",
        title=f"{'Insert' if action == 'insert' else 'Drop'} {count}?",
        here=HERE,
        path=path,
        action=action,
        rows=rows,
        fields=fields,
        name=_name(form, request),
        back=path if "windows" in path else HERE,
    )


async def _windows(library: WindowLibrary) -> list[tuple[str, SavedWindow | None, str]]:
    """The newest windows; one that cannot be read says why."""
    found: list[tuple[str, SavedWindow | None, str]] = []
    for window_id in (await library.ids())[:_MOST_WINDOWS]:
        try:
            found.append((window_id, await library.window(window_id), ""))
        except FeedmillError as problem:
            found.append((window_id, None, str(problem)))
    return found


async def _window(request: AnyRequest, *, checked: bool = False) -> SavedWindow:
    library = WindowLibrary(services_of(request).config)
    return await library.window(str(request.path_params["window_id"]), checked=checked)


async def _held(uids: set[str], request: AnyRequest) -> list[HeldEntry]:
    """The held entries of these ids."""
    store, found = services_of(request).store, list[HeldEntry]()
    after: str | None = None
    while len(found) < len(uids):
        some = await store.held(after=after, limit=1_000)
        found += [one for one in some.items if one.entry_uid in uids]
        if some.next is None:
            break
        after = some.next
    return found


def _check_login(request: AnyRequest) -> None:
    """AccessError without a login: on loopback any program may open the console, an agent too (D38)."""
    if is_anonymous(known_caller(request)):  # a cookie may be made up
        message = "to insert, log in with a token that only you hold"
        hint = "`feedmill token create NAME --scope admin` makes one"
        raise AccessError(message, reason="forbidden", hint=hint)


def _check_shown(form: FormMultiDict, digest: str) -> None:
    """ConflictError unless the form names what was shown, and that is still the same."""
    if not digest or form.get("digest") != digest:
        message = "this is not what was shown; nothing was inserted"
        raise ConflictError(message, reason="other-file", hint="open the page again and repeat")


def _row_of_held(one: HeldEntry) -> ShownRow:
    is_suspicious = one.screening is not None and one.screening.is_suspicious
    return ShownRow(one.title or one.entry_uid, "", is_suspicious=is_suspicious)


def _name(form: FormMultiDict, request: AnyRequest) -> str:
    """Who confirms, for the record: a typed name always with the token that it came with."""
    typed, known = text_field(form, "name", 100), _default_name(request)
    is_whole = not typed or typed == known or typed.endswith(f"({known})")
    return (typed or known) if is_whole else f"{typed} ({known})"


def _default_name(request: AnyRequest) -> str:
    caller = known_caller(request)
    return "the console" if caller is None else caller.name


def _inserted(done: InsertResult) -> str:
    return (
        f"{done.new} inserted, {done.updated} updated, {done.unchanged} unchanged, "
        f"{done.skipped} skipped."
    )
