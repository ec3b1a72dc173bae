"""Jobs: background work, cancel and retry."""

from tests.support.console_client import Browser, ConsoleMill, text_of
from tests.support.engine_harness import Stage

from feedmill.model.running.job import NewJob


def test_a_job_is_listed_cancelled_and_queued_again(mill: ConsoleMill, browser: Browser) -> None:
    async def queue(stage: Stage) -> int:
        new = NewJob(kind="backfill", key="some feed")
        job, _ = await stage.services.store.add_job(new, now=stage.clock.now())
        return job.id

    job_id = mill.tell(queue)
    change = f"/console/jobs/{job_id}/change"

    def act(action: str) -> str:
        return text_of(browser.send(change, {"action": action}, page="/console/jobs"))

    assert "some feed" in text_of(browser.open("/console/jobs?state=queued&kind=backfill"))
    assert f"Job {job_id} is cancelled." in act("cancel")
    assert "has ended already" in act("cancel")
    assert f"Job {job_id} is queued again." in act("retry")
    assert "unknown action" in act("dance")
    assert "some feed" not in text_of(browser.open("/console/jobs?state=done"))


def test_a_job_that_is_not_there_is_not_found(browser: Browser) -> None:
    answer = browser.send("/console/jobs/x/change", {"action": "cancel"}, page="/console/feeds")

    assert answer.status == 404
