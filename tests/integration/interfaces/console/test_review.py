"""Review: questions of agents, held entries and windows, chosen and confirmed by a person (001, D38)."""

import re

import pytest
from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage
from tests.support.rest_client import Answer
from tests.support.two_phase_steps import answer, collect, on

from feedmill.config import McpConfig
from feedmill.engine.two_phase.confirmation import ask_confirmation
from feedmill.engine.two_phase.sidecar_files import WindowLibrary
from feedmill.model.screening import LiveScreen


@pytest.fixture
def browser(mill: ConsoleMill) -> Browser:
    """The browser of a person who has logged in."""
    own = mill.browser()
    own.send("/console/login", {"token": mill.issue("admin"), "next": "/"})
    return own


def keep_window(mill: ConsoleMill) -> str:
    """Collect a window of two candidates; its id."""

    async def story(stage: Stage) -> str:
        stage.publisher.script("/feed", answer(on(1, 1), on(2, 2)))
        file = await collect(stage, "/feed")
        return (await WindowLibrary(stage.services.config).save(file)).id

    return mill.tell(story)


def hold(mill: ConsoleMill) -> None:
    """Let a live screen hold the entries of a feed."""

    async def story(stage: Stage) -> None:
        feed = await stage.add("/held", answer(on(1, 7), on(2, 8)))
        screen = LiveScreen(
            id="all", created_at=stage.clock.now(), feed_id=feed.id, method="lexical"
        )
        await stage.services.store.add_screen(screen)
        await stage.poll(feed)

    mill.tell(story)


def titles(mill: ConsoleMill) -> list[str]:
    async def story(stage: Stage) -> list[str]:
        return sorted(entry.title or "" for entry in await stage.entries())

    return mill.tell(story)


def digest_on(page: Answer) -> str:
    """What a page names as shown; the answer has to name the same."""
    (digest,) = re.findall(r'name="digest" value="([0-9a-f]+)"', page.body.decode())
    return str(digest)


def test_candidates_of_a_window_are_chosen_and_confirmed(
    mill: ConsoleMill, browser: Browser
) -> None:
    page = f"/console/review/windows/{keep_window(mill)}"
    assert "2 candidates from 1 source" in text_of(browser.open("/console/review"))
    assert "Title 1" in text_of(browser.open(page))

    asked = browser.send(page, {"candidate": ["1"], "name": "Ada"}, page=page)
    assert "Insert 1 entry?" in text_of(asked)
    assert "Confirmed by Ada (" in text_of(asked)
    assert titles(mill) == []

    unshown = browser.send(page, {"candidate": ["1"], "confirmed": "1"}, page=page)
    assert (unshown.status, titles(mill)) == (409, [])
    fields = {"candidate": ["1"], "name": "Ada", "confirmed": "1", "digest": digest_on(asked)}
    done = browser.send(page, fields, page=page)
    assert "1 inserted" in text_of(done)
    assert titles(mill) == ["Title 2"]  # the newest is the first


def test_a_window_that_changed_since_is_not_inserted(mill: ConsoleMill, browser: Browser) -> None:
    page = f"/console/review/windows/{keep_window(mill)}"

    refused = browser.send(
        page, {"candidate": ["1"], "confirmed": "1", "digest": "another"}, page=page
    )

    assert refused.status == 409
    assert titles(mill) == []
    assert browser.send(page, {"confirmed": "1"}, page=page).status == 422
    assert browser.open("/console/review/windows/nothing").status == 404


def test_held_entries_are_inserted_or_dropped(mill: ConsoleMill, browser: Browser) -> None:
    hold(mill)
    page = browser.open("/console/review")
    uids = re.findall(r'name="entry" value="([^"]+)"', page.body.decode())
    assert "Title 7" in text_of(page)
    assert len(uids) == 2

    def decide(action: str, uid: str, **more: str) -> Answer:
        fields = {"action": action, "entry": uid, **more}
        return browser.send("/console/review/held", fields, page="/console/feeds")

    asked = decide("insert", uids[0])
    assert "Insert 1 entry?" in text_of(asked)
    assert decide("insert", uids[0], confirmed="1").status == 409
    assert titles(mill) == []
    done = decide("insert", uids[0], confirmed="1", digest=digest_on(asked))
    assert "1 inserted" in text_of(done)
    assert len(titles(mill)) == 1
    asked = decide("drop", uids[1])
    assert "Drop 1 entry?" in text_of(asked)
    done = decide("drop", uids[1], confirmed="1", digest=digest_on(asked))
    assert "1 dropped" in text_of(done)
    assert "select entries" in text_of(decide("insert", uids[1]))
    assert len(titles(mill)) == 1


def test_a_question_of_an_agent_is_answered_with_a_ticket_or_declined(
    mill: ConsoleMill, browser: Browser
) -> None:
    window_id = keep_window(mill)

    async def ask(stage: Stage, *ids: int) -> str:
        kept = await WindowLibrary(stage.services.config).window(window_id)
        services = stage.services
        question = await ask_confirmation(
            kept.id,
            kept.file.digest,
            ids,
            services.store,
            services.clock,
            McpConfig(),
            asked_by="an agent",
        )
        return question.code

    first = mill.tell(lambda stage: ask(stage, 1))
    shown = browser.open("/console/review")
    digest = digest_on(shown)
    assert "an agent asks to insert 1 entry" in text_of(shown)

    def reply(code: str, said: str) -> str:
        path = f"/console/review/questions/{code}"
        fields = {"answer": said, "name": "Ada", "digest": digest}
        return text_of(browser.send(path, fields, page="/console/feeds"))

    yes = reply(first, "yes")
    assert re.search("Give this ticket to an agent.*[A-Z2-7]{5}-[A-Z2-7]{5}", yes)
    assert "was answered before" in reply(first, "yes")
    assert "Declined" in reply(mill.tell(lambda stage: ask(stage, 2)), "no")


def test_who_may_only_write_confirms_nothing(mill: ConsoleMill, browser: Browser) -> None:
    page = f"/console/review/windows/{keep_window(mill)}"
    browser.send("/console/login", {"token": mill.issue("write"), "next": "/"})

    shown = browser.open(page)
    refused = browser.send(page, {"candidate": ["1"], "confirmed": "1"}, page="/")

    assert b'name="candidate"' not in shown.body
    assert refused.status == 403
    assert titles(mill) == []


@pytest.mark.parametrize("cookies", [{}, {"feedmill_session": "made-up"}], ids=["none", "made up"])
def test_without_a_login_nothing_is_inserted_even_on_loopback(
    mill: ConsoleMill, cookies: dict[str, str]
) -> None:
    page, anyone = f"/console/review/windows/{keep_window(mill)}", mill.browser()
    anyone.cookies |= cookies
    asked = anyone.send(page, {"candidate": ["1"]}, page=page)

    fields = {"candidate": ["1"], "confirmed": "1", "digest": digest_on(asked)}
    refused = anyone.send(page, fields, page=page)

    assert "log in with a token" in text_of(refused)
    assert titles(mill) == []
