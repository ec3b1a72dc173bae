"""What waits for a person: questions of agents, held entries, collected windows; and their insertion (001, D38)."""
# Tested in tests/integration/interfaces/console/test_review.py

from collections.abc import Sequence
from typing import NamedTuple

from feedmill.engine.run.services import Services
from feedmill.engine.two_phase.candidates import select_candidates
from feedmill.engine.two_phase.held_window import document_position_of, held_window
from feedmill.engine.two_phase.insert_selected import insert_selected
from feedmill.engine.two_phase.sidecar_files import SavedWindow, WindowLibrary, read_screenings
from feedmill.errors import ConflictError, FeedmillError
from feedmill.model.candidate import CandidateFile, Question, WindowCandidate
from feedmill.model.screening import Confirmation, HeldEntry, InsertResult
from feedmill.screen.injection_signs import signs_of_candidate


class PendingQuestion(NamedTuple):
    """A question with what it is about; `problem` when the window cannot be shown."""

    question: Question
    candidates: tuple[WindowCandidate, ...]
    problem: str = ""
    suspicious: frozenset[int] = frozenset()  # candidates whose text tries to steer its reader


async def pending_questions(
    questions: Sequence[Question], library: WindowLibrary
) -> list[PendingQuestion]:
    """Questions with their candidates, each window read and checked again."""
    return [await _with_candidates(one, library) for one in questions]


def suspicious_ids(kept: SavedWindow, candidates: Sequence[WindowCandidate]) -> frozenset[int]:
    """Candidates that a screening flagged, or whose text shows signs of prompt injection itself."""
    flagged = {
        one.candidate_id for one in read_screenings(kept.path, kept.file) if one.is_suspicious
    }
    return frozenset(
        one.candidate_id
        for one in candidates
        if one.candidate_id in flagged or signs_of_candidate(one)
    )


async def insert_from_window(
    kept: SavedWindow, ids: Sequence[int], services: Services, *, by: str
) -> InsertResult:
    """Insert candidates that a person chose on a page; who did it is recorded beside the window."""
    confirmation = _confirmation(kept.file, ids, services, by)
    return await insert_selected(kept.file, ids, confirmation, services, path=kept.path)


async def insert_held(held: Sequence[HeldEntry], services: Services, *, by: str) -> InsertResult:
    """Insert held entries that a person chose; ConflictError when one is not held any more."""
    feeds = [await services.store.feed(one) for one in dict.fromkeys(one.feed_id for one in held)]
    file = (await held_window(services, feeds=[feed for feed in feeds if feed is not None])).file
    places = {
        (
            file.sources[one.source].feed_id,
            file.documents[one.document].body_sha256,
            document_position_of(one),
        ): one.candidate_id
        for one in file.candidates
    }
    ids = [places.get((one.feed_id, one.body_sha256, document_position_of(one))) for one in held]
    found = [one for one in ids if one is not None]
    if len(found) < len(held):
        message = f"{len(held) - len(found)} of {len(held)} entries are not held any more"
        raise ConflictError(message, reason="not-held", hint="open the page again and repeat")
    return await insert_selected(file, found, _confirmation(file, found, services, by), services)


def _confirmation(
    file: CandidateFile, ids: Sequence[int], services: Services, by: str
) -> Confirmation:
    return Confirmation(
        confirmed_by=by,
        confirmed_at=services.clock.now(),
        file_digest=file.digest,
        candidate_ids=tuple(sorted(ids)),
        shown="page",
    )


async def _with_candidates(question: Question, library: WindowLibrary) -> PendingQuestion:
    try:
        kept = await library.window(question.window_id, checked=True)
        if kept.file.digest != question.file_digest:
            return PendingQuestion(question, (), "the window has changed since")
        found = select_candidates(kept.file, question.candidate_ids)
        return PendingQuestion(question, found, suspicious=suspicious_ids(kept, found))
    except FeedmillError as problem:
        return PendingQuestion(question, (), str(problem))
