"""Polls as traces at a real collector: the spans, the record, the log, the exemplar, the context that goes on."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.support.engine_harness import Stage, opened
from tests.support.feed_documents import paper
from tests.support.job_kinds import run_due
from tests.support.media_publisher import episode, media_file, mp3, podcast
from tests.support.otlp_receiver import OtlpReceiver, facts_of, receiving_traces
from tests.support.waiting import hang_guard
from tests.support.web_pages import extracting_here, page, served
from tests.support.webhook_receiver import receiving

from feedmill.config import ObserveConfig
from feedmill.engine.deliver.to_webhooks import deliver_once
from feedmill.engine.jobs import fulltext, media
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.report import RefreshReport
from feedmill.engine.service.webhooks import add_webhook
from feedmill.errors import MissingExtraError
from feedmill.observe import log
from feedmill.observe.metrics import OPENMETRICS_TYPE, Metrics
from feedmill.observe.traces import read_traceparent
from feedmill.publish.cloudevents import bus_message
from feedmill_demo.server.script import Answer

Story = Callable[[Stage], Awaitable[None]]


@pytest.fixture
def collector() -> Iterator[OtlpReceiver]:
    with receiving_traces() as receiver:
        yield receiver


def play(home: Path, story: Story, endpoint: str, *, ratio: float = 1.0) -> None:
    """Run the story with traces on; when it returns, everything was exported."""
    observe = ObserveConfig(otlp_endpoint=endpoint, trace_ratio=ratio, service_name="mill")

    async def run() -> None:
        async with hang_guard(), opened(home, observe=observe) as stage:
            await story(stage)

    asyncio.run(run())


def test_one_poll_is_one_trace_with_its_steps(tmp_path: Path, collector: OtlpReceiver) -> None:
    fetch_trace: list[str | None] = []

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1, 2))
        await stage.poll(feed)
        fetch_trace.append((await stage.fetches(feed))[-1].trace_id)

    play(tmp_path, story, collector.url)

    ((trace_id, spans),) = collector.traces().items()
    assert trace_id == fetch_trace[0]
    assert set(spans) == {
        "poll", "schedule", "http", "dns", "connect", "first byte", "body", "keep", "parse",
        "normalise", "identify", "compare", "decide", "events", "store",
    }  # fmt: skip
    poll, http = spans["poll"], spans["http"]
    assert {spans[name].parent_span_id for name in ("dns", "connect", "body")} == {http.span_id}
    assert {spans[name].parent_span_id for name in ("schedule", "http", "parse", "store")} == {
        poll.span_id
    }
    assert not poll.parent_span_id
    assert all(
        poll.start_time_unix_nano <= one.start_time_unix_nano <= one.end_time_unix_nano
        for one in spans.values()
    )
    assert facts_of(http)["http.response.status_code"] == 200
    assert facts_of(poll)["feedmill.entries_new"] == 2
    assert collector.paths[0] == "/v1/traces"
    assert collector.resources[0]["service.name"] == "mill"


def test_steps_of_jobs_are_traces_with_their_requests(
    tmp_path: Path, collector: OtlpReceiver
) -> None:
    async def story(stage: Stage) -> None:
        stage.publisher.script("/1.mp3", media_file(mp3(1)), host="127.0.0.1")
        stage.publisher.script("/robots.txt", Answer(status=404), host="127.0.0.1")
        stage.publisher.script("/story", served(page(1)), host="127.0.0.1")
        item = episode(1, stage.publisher.url("/1.mp3")).replace(
            "</item>", f"<link>{stage.publisher.url('/story')}</link></item>"
        )
        await stage.add("/feed", podcast(item), media=True, full_text=True)
        await stage.pass_once()
        await run_due(extracting_here(stage.services), *media.KINDS, fulltext.KIND)

    play(tmp_path, story, collector.url)

    jobs = {
        facts_of(spans["job"])["feedmill.job.kind"]: set(spans)
        for spans in collector.traces().values()
        if "job" in spans
    }
    assert {"http", "keep", "store"} <= jobs["media"]
    assert {"http", "extract", "store"} <= jobs["fulltext"]


def test_ratio_zero_exports_failures_only(tmp_path: Path, collector: OtlpReceiver) -> None:
    ids: list[str | None] = []

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1), Answer(status=500))
        await stage.poll(feed, times=2)
        ids.extend(fetch.trace_id for fetch in await stage.fetches(feed))

    play(tmp_path, story, collector.url, ratio=0.0)

    ((trace_id, spans),) = collector.traces().items()
    assert ids == [None, trace_id]
    assert spans["poll"].status.message == "server-error"
    assert {"schedule", "http", "dns", "first byte", "body", "decide", "store"} <= set(spans)
    assert facts_of(spans["http"])["http.response.status_code"] == 500
    assert facts_of(spans["poll"])["feedmill.outcome"] == "server-error"
    assert facts_of(spans["poll"])["url.full"].endswith("/feed")


def test_log_line_exemplar_and_events_carry_the_trace(
    tmp_path: Path, collector: OtlpReceiver, capsys: pytest.CaptureFixture[str]
) -> None:
    log.set_up("info")
    metrics = Metrics()

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        watch = stage.watch()
        watch.listeners += (RefreshReport(log.logger("engine"), metrics).refreshed,)
        await run_once(stage.services, watch)
        (event,) = await stage.events("new_entry")
        parent = read_traceparent(event.data["traceparent"])
        assert parent is not None
        assert dict(bus_message(event, "urn:x").headers)["traceparent"] == event.data["traceparent"]
        assert (await stage.fetches(feed))[-1].trace_id == f"{parent.trace_id:032x}"

    play(tmp_path, story, collector.url)

    (trace_id,) = collector.traces()
    assert f"trace_id={trace_id}" in capsys.readouterr().err
    page, kind = metrics.page_for("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert kind == OPENMETRICS_TYPE
    assert f'trace_id="{trace_id}"'.encode() in page
    assert b"trace_id" not in metrics.page_for("text/plain")[0]


def test_webhook_request_continues_the_trace_of_its_first_event(
    tmp_path: Path, collector: OtlpReceiver
) -> None:
    async def story(stage: Stage) -> None:
        async with receiving() as receiver:
            receiver.say("/hook", 204)
            await add_webhook(receiver.url(), stage.services)
            feed = await stage.add("/feed", paper(1))
            await stage.poll(feed)
            await deliver_once(stage.services, stage.watch())
            given = [one.headers.get("traceparent") for one in receiver.to("/hook")]
            parent = read_traceparent(given[-1])
            assert parent is not None
            (event,) = await stage.events("new_entry")
            assert f"{parent.trace_id:032x}" in event.data["traceparent"]

    play(tmp_path, story, collector.url)

    (spans,) = collector.traces().values()
    assert spans["deliver"].parent_span_id == spans["poll"].span_id
    assert facts_of(spans["deliver"])["feedmill.result"] == "delivered"


def test_collector_that_is_away_costs_no_poll(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log.set_up("warning")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")

    async def story(stage: Stage) -> None:
        feed = await stage.add("/feed", paper(1))
        assert (await stage.poll(feed)).last_result == "fresh"

    play(tmp_path, story, "http://127.0.0.1:9")

    assert "traces were not exported" in capsys.readouterr().err


def test_missing_extra_is_reported_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedmill.app.services.find_spec", lambda _: None)

    async def story(_: Stage) -> None:
        raise AssertionError

    with pytest.raises(MissingExtraError) as caught:
        play(tmp_path, story, "http://127.0.0.1:9")

    assert "feedmill[otel]" in caught.value.hint
