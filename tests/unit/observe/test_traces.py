"""The seam of traces: spans in their order, what is exported and what is dropped, no trace at all."""

import asyncio

import pytest

from feedmill.observe import log
from feedmill.observe.traces import (
    Parent,
    Trace,
    Traces,
    current_trace,
    kept_trace_id,
    read_traceparent,
    recorded_trace,
    span,
)


def traces(ratio: float = 1.0) -> tuple[Traces, list[Trace]]:
    exported: list[Trace] = []
    return Traces(exported.append, ratio=ratio), exported


def test_span_without_a_trace_does_nothing() -> None:
    with span("parse") as one:
        one.describe(dict)
        one.requested("timeout", dict)

    assert (one.trace, current_trace(), kept_trace_id()) == (None, None, None)


def test_spans_nest_and_end_in_the_order_of_the_poll() -> None:
    begun, exported = traces()

    with begun.begin("poll") as trace:
        with span("http") as sending:
            trace.add("connect", 1, 2, net__peer="x")
            sending.requested("timeout", dict)
        trace.describe(dict, {"feedmill.outcome": "fresh"})
        with span("store") as storing:
            storing.describe(lambda n: {"feedmill.events": n, "feedmill.none": None}, 2)

    assert exported == [trace]
    assert [(one.name, one.parent) for one in trace.spans()] == [
        ("poll", -1),
        ("http", 0),
        ("connect", 1),
        ("store", 0),
    ]
    assert trace.spans()[3].facts == {"feedmill.events": 2}
    assert all(one.end_ns >= one.start_ns for one in trace.spans())
    http, connect = trace.spans()[1:3]
    assert (http.is_request, http.error, connect.facts) == (True, "timeout", {"net.peer": "x"})
    assert trace.spans()[0].facts == {"feedmill.outcome": "fresh"}
    assert current_trace() is None


def test_spans_that_are_added_later_belong_where_they_were_promised() -> None:
    begun, exported = traces()

    with begun.begin("poll") as trace, span("http"):
        trace.add_later(lambda it, end: it.add("body", 1, end), 5)

    assert exported == [trace]
    assert [(one.name, one.parent, one.end_ns) for one in trace.spans()[2:]] == [("body", 1, 5)]


def test_ratio_zero_drops_what_went_well_and_keeps_what_failed() -> None:
    begun, exported = traces(0.0)

    with begun.begin("poll"):
        assert kept_trace_id() is None
    with begun.begin("poll") as failed:
        failed.fail("timeout")
        assert kept_trace_id() == failed.hex_id

    assert exported == [failed]
    assert failed.spans()[0].error == "timeout"


def test_settled_trace_collects_no_further_steps_unless_it_is_exported() -> None:
    for ratio, steps in ((0.0, ["poll", "http"]), (1.0, ["poll", "http", "store"])):
        with traces(ratio)[0].begin("poll") as trace:
            with span("http"):
                pass
            trace.settle()
            assert recorded_trace() is (trace if ratio else None)
            with span("store"):
                pass

        assert [one.name for one in trace.spans()] == steps


def test_error_after_a_trace_was_settled_is_exported_with_the_steps_before_and_after() -> None:
    begun, exported = traces(0.0)

    with begun.begin("poll") as trace:
        with span("http"):
            trace.settle()
        with span("decide"):
            trace.fail("KeyError")
        with span("store"):
            trace.settle()

    assert exported == [trace]
    assert [one.name for one in trace.spans()] == ["poll", "http", "store"]
    assert trace.spans()[0].error == "KeyError"


def test_exception_keeps_the_trace_and_marks_the_span() -> None:
    begun, exported = traces(0.0)

    with pytest.raises(KeyError), begun.begin("poll") as trace, span("parse"):
        raise KeyError

    assert exported == [trace]
    assert (trace.spans()[0].error, trace.spans()[1].error) == ("KeyError", "KeyError")


def test_ratio_is_about_the_share_that_is_exported() -> None:
    begun, exported = traces(0.25)

    for _ in range(2_000):
        with begun.begin("poll"):
            pass

    assert 350 < len(exported) < 650  # 500 expected; ten standard deviations to either side


def test_tasks_have_traces_of_their_own() -> None:
    begun, exported = traces()

    async def poll(name: str) -> None:
        with begun.begin(name):
            await asyncio.sleep(0)
            with span(f"{name} http"):
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(poll("a"), poll("b"))

    asyncio.run(both())

    assert sorted([one.name for one in trace.spans()] for trace in exported) == [
        ["a", "a http"],
        ["b", "b http"],
    ]


def test_joined_trace_continues_the_first_parent_and_links_the_others() -> None:
    begun, exported = traces(0.0)
    first, second = Parent(1, 2), Parent(3, 4)

    with begun.join("deliver", (first, second)) as trace:
        pass

    assert exported == [trace]
    assert (trace.trace_id, trace.remote_parent, trace.links) == (1, first, (second,))
    assert read_traceparent(trace.traceparent) == Parent(1, trace.first_id)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="nothing"),
        pytest.param(7, id="no text"),
        pytest.param("01-" + "a" * 32 + "-" + "b" * 16 + "-01", id="another version"),
        pytest.param("00-" + "0" * 32 + "-" + "b" * 16 + "-01", id="trace id of zeros"),
        pytest.param("00-" + "a" * 32 + "-" + "0" * 16 + "-01", id="span id of zeros"),
        pytest.param("00-" + "A" * 32 + "-" + "b" * 16 + "-01", id="capitals"),
        pytest.param("00-" + "a" * 32 + "-" + "b" * 16 + "-01\n", id="a line end"),
    ],
)
def test_what_is_no_trace_context_is_ignored(text: object) -> None:
    assert read_traceparent(text) is None


def test_log_lines_name_a_trace_that_is_exported(capsys: pytest.CaptureFixture[str]) -> None:
    log.set_up("info")
    begun, _ = traces(0.0)

    with begun.begin("poll") as trace:
        log.logger("engine").info("before")
        trace.fail("timeout")
        log.logger("engine").info("after")

    before, after = capsys.readouterr().err.splitlines()
    assert "trace_id" not in before
    assert f"trace_id={trace.hex_id}" in after
