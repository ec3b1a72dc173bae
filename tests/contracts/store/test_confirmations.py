"""What every store promises about questions to a person and the tickets of their answers."""

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import DAY, HOUR, NOON

from feedmill.engine.ports.store import Store
from feedmill.model.candidate import Question

QUESTION = Question(
    code="K7QM3XPD",
    window_id="0123456789abcdef",
    file_digest="d1" * 32,
    candidate_ids=(3, 7, 12),
    asked_by="a program",
    asked_at=NOON,
    expires_at=NOON + DAY,
)
YES = replace(
    QUESTION,
    state="confirmed",
    answered_by="Ada",
    answered_at=NOON + HOUR,
    shown="terminal",
    ticket_expires_at=NOON + 2 * HOUR,
)
HASH, OTHER = "a1" * 32, "b2" * 32


def test_a_question_is_kept_whole_until_it_is_too_old(tell: Tell) -> None:
    async def story(store: Store) -> None:
        assert await store.ask_question(QUESTION) == QUESTION

        assert await store.question(QUESTION.code) == QUESTION
        assert await store.questions(NOON) == (QUESTION,)
        assert await store.questions(NOON + DAY) == ()
        assert await store.question("nobody") is None

    tell(story)


def test_one_selection_is_asked_about_once_while_its_question_is_open(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.ask_question(QUESTION)
        again = replace(QUESTION, code="SECOND", asked_at=NOON + HOUR)
        others = replace(QUESTION, code="THIRD", candidate_ids=(3, 7))
        late = replace(QUESTION, code="FOURTH", asked_at=NOON + DAY, expires_at=NOON + 2 * DAY)

        assert await store.ask_question(again) == QUESTION
        assert await store.ask_question(others) == others
        assert await store.ask_question(late) == late

    tell(story)


def test_a_question_is_answered_once_and_in_time(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.ask_question(QUESTION)

        too_late = replace(YES, answered_at=NOON + DAY)
        assert not await store.answer_question(too_late, ticket_sha256=OTHER)
        assert await store.answer_question(YES, ticket_sha256=HASH)
        assert not await store.answer_question(YES, ticket_sha256=OTHER)
        assert not await store.answer_question(replace(YES, state="declined"))

        assert await store.question(QUESTION.code) == YES
        assert await store.questions(NOON) == ()
        fresh = replace(QUESTION, code="SECOND", asked_at=NOON + HOUR)
        assert await store.ask_question(fresh) == fresh

    tell(story)


def test_a_ticket_is_found_by_its_hash_and_spent_once_before_its_end(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.ask_question(QUESTION)
        await store.answer_question(YES, ticket_sha256=HASH)

        assert await store.ticket(HASH) == YES
        assert await store.ticket(OTHER) is None
        assert not await store.spend_ticket(OTHER, NOON + HOUR)
        assert not await store.spend_ticket(HASH, NOON + 2 * HOUR)
        assert await store.spend_ticket(HASH, NOON + HOUR)
        assert not await store.spend_ticket(HASH, NOON + HOUR)
        assert await store.ticket(HASH) == replace(YES, state="spent")

    tell(story)


def test_a_no_makes_no_ticket(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.ask_question(QUESTION)
        no = replace(YES, state="declined", ticket_expires_at=None)

        assert await store.answer_question(no)

        assert await store.question(QUESTION.code) == no
        assert not await store.spend_ticket(HASH, NOON)

    tell(story)
