"""Secrets stay where they belong: not in logs, not in metrics, not in events, not in listings."""

import asyncio
import os
import re
import signal
from pathlib import Path
from subprocess import PIPE

import msgspec
from tests.support.command_line import COMMAND
from tests.support.warm_process import WarmPopen
from tests.support.webhook_harness import happen, opened, telling, until_webhook
from tests.support.webhook_receiver import receiving

from feedmill.engine.run.report import RefreshReport
from feedmill.engine.service.auth import issue_token
from feedmill.engine.service.webhooks import add_webhook
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics
from feedmill.publish.to_json import token_wire, webhook_wire


async def test_everything_that_a_run_says_is_without_secrets(tmp_path: Path) -> None:
    async with receiving() as receiver:
        receiver.say("/hook-hush", 500, 204)
        async with opened(tmp_path) as services:
            hook = await add_webhook(receiver.url("/hook-hush"), services)
            token = await issue_token("reader", ["admin"], services.store, services.clock)
            await happen(services, 2)
        own = {
            "FEEDMILL_HOME": str(tmp_path),
            "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
            "FEEDMILL_WEBHOOK_BACKOFF_BASE_SEC": "0.02",
            "FEEDMILL_WEBHOOK_LOOK_SEC": "0.05",
        }
        command = [str(COMMAND), "-vv", "run", "--stdout"]
        process = WarmPopen(command, env=os.environ | own, stdout=PIPE, stderr=PIPE)
        said_all = asyncio.create_task(asyncio.to_thread(process.communicate))
        async with opened(tmp_path) as services:
            await until_webhook(services, hook.id, lambda one: one.cursor == 2)
        process.send_signal(signal.SIGTERM)
        out, err = await said_all

    said = (out + err).decode()
    assert process.returncode == 0, said
    assert len(receiver.to("/hook-hush")) == 2
    assert re.search(r"event=told .*result=server-error .*http_status=500", said), said
    assert re.search(r"event=told .*result=delivered", said)
    assert hook.secrets[0].value not in said
    assert token.secret not in said
    assert "hook-hush" not in said  # the path may be a secret by itself
    assert "Feedmill-Signature" not in said
    assert hook.secrets[0].value.encode() not in b"".join(t.body for t in receiver.taken)


async def test_metrics_count_results_and_name_nobody(tmp_path: Path) -> None:
    metrics = Metrics()
    report = RefreshReport(logger("engine"), metrics)
    async with receiving() as receiver, opened(tmp_path, max_attempts=2) as services:
        receiver.say("/hook", 500, 503, 204)
        hook = await add_webhook(receiver.url(), services)
        async with telling(services, report.delivered):
            await happen(services, 1)
            await until_webhook(services, hook.id, lambda one: one.cursor == 1)
            await happen(services, 1)
            await until_webhook(services, hook.id, lambda one: one.cursor == 2)

    page = metrics.page().decode()
    for result in ("server-error", "unavailable", "delivered"):
        assert f'feedmill_webhook_deliveries_total{{result="{result}"}} 1.0' in page
    assert "feedmill_webhook_dead_letters_total 1.0" in page
    assert "127.0.0.1" not in page
    assert hook.id not in page


async def test_what_is_shown_of_webhooks_and_tokens_holds_no_secret(tmp_path: Path) -> None:
    async with opened(tmp_path) as services:
        hook = await add_webhook("https://hook.example/", services)
        token = await issue_token("reader", ["read"], services.store, services.clock)
        shown = msgspec.json.encode(
            [webhook_wire(hook), token_wire(token.token), repr(hook), repr(token)]
        ).decode()

        assert hook.id in shown
        assert token.token.id in shown
        assert hook.secrets[0].value not in shown
        assert token.secret not in shown
