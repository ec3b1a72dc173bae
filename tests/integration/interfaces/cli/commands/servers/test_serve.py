"""`feedmill serve` as a process: it opens, answers, refuses to be reckless, and ends cleanly."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.command_line import COMMAND, Mill
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import WarmPopen


@contextmanager
def serving(home: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, str]]]:
    """The process, and where its doors are; it is told to end with the block."""
    process = WarmPopen(
        [COMMAND, "serve", "--port", "0", "--json", *options],
        env={**os.environ, **Mill.environment(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(HANG_GUARD_SEC)


def feedmill(home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **Mill.environment(home)}
    pipe = subprocess.PIPE
    with WarmPopen([COMMAND, *words], env=environment, stdout=pipe, stderr=pipe) as process:
        out, err = process.communicate(timeout=HANG_GUARD_SEC)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def connect(base: str) -> http.client.HTTPConnection:
    host, _, port = base.removeprefix("http://").rpartition(":")
    return http.client.HTTPConnection(host, int(port), timeout=HANG_GUARD_SEC)


@pytest.mark.parametrize("mill", [(), ("--with-mill",)])
def test_a_server_answers_until_it_is_told_to_end_and_then_finishes(
    tmp_path: Path, mill: tuple[str, ...]
) -> None:
    with serving(tmp_path, *mill) as (process, places):
        asking, waiting = connect(places["rest"]), connect(places["rest"])
        asking.request("GET", "/healthz")
        alive = asking.getresponse().read()
        waiting.request("GET", "/events?wait=60")  # under way when the signal comes
        asking.request("GET", "/readyz")
        asking.getresponse().read()

        process.send_signal(signal.SIGTERM)
        answer = waiting.getresponse()
        body = answer.read()
        status = process.wait(HANG_GUARD_SEC)
        asking.close()
        waiting.close()

    assert (alive, answer.status, json.loads(body)["items"], status) == (b"ok\n", 200, [], 0)


def test_what_one_process_writes_another_serves(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, places):
        waiting = connect(places["rest"])
        waiting.request("GET", "/events?wait=60")

        feedmill(tmp_path, "add", "--as-is", "https://paper.example/feed")
        page = json.loads(waiting.getresponse().read())
        waiting.close()

    assert [event["type"] for event in page["items"]] == ["feed.added"]


def test_an_address_that_others_reach_wants_a_token_first(tmp_path: Path) -> None:
    refused = feedmill(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0", "--json")
    made = feedmill(tmp_path, "token", "create", "all", "--scope", "read", "--json")
    secret = json.loads(made.stdout)["secret"]

    with serving(tmp_path, "--host", "0.0.0.0") as (_, places):
        connection = connect(places["rest"])
        connection.request("GET", "/feeds", headers={"Host": "mill.example"})
        without = connection.getresponse()
        without.read()
        own = {"Host": "mill.example", "Authorization": f"Bearer {secret}"}
        connection.request("GET", "/feeds", headers=own)
        granted = connection.getresponse()
        granted.read()
        connection.close()

    assert refused.returncode == 2
    assert "feedmill token create" in json.loads(refused.stderr.splitlines()[-1])["error"]["hint"]
    assert (without.status, granted.status) == (401, 200)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, places):
        port = places["rest"].rpartition(":")[2]
        refused = feedmill(tmp_path, "serve", "--port", port, "--json")

    error = json.loads(refused.stderr.splitlines()[-1])["error"]
    assert (refused.returncode, "choose another" in error["message"]) == (2, True)


def test_the_log_has_one_line_for_each_request_and_no_secret_in_it(tmp_path: Path) -> None:
    made = feedmill(tmp_path, "token", "create", "all", "--scope", "admin", "--json")
    secret = json.loads(made.stdout)["secret"]
    environment = {**os.environ, **Mill.environment(tmp_path), "FEEDMILL_LOG": "debug"}
    with WarmPopen(
        [COMMAND, "--log-json", "serve", "--port", "0", "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        connection = connect(json.loads(process.stdout.readline())["rest"])
        path = f"/feeds?token={secret}&text=%0aforged"
        for own in ({}, {"Authorization": f"Bearer {secret}"}):
            connection.request("GET", path, headers=own)
            connection.getresponse().read()
        body = json.dumps({"url": "https://hook.example/in"}).encode()
        own = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        connection.request("POST", "/webhooks", body=body, headers=own)
        hook = json.loads(connection.getresponse().read())
        connection.close()
        process.terminate()
        _, err = process.communicate(timeout=HANG_GUARD_SEC)

    lines = [json.loads(line) for line in err.decode().splitlines()]
    answered = [line for line in lines if line["event"] == "answered"]
    assert [(one["method"], one["path"], one["status"]) for one in answered] == [
        ("GET", "/feeds", 401),
        ("GET", "/feeds", 400),  # token is no parameter of it
        ("POST", "/webhooks", 201),
    ]
    assert answered[1]["caller"] == json.loads(made.stdout)["id"]
    assert secret.encode() not in err
    assert hook["secret"].encode() not in err


def test_help_does_not_load_the_web_stack() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from feedmill.interfaces.cli.main import cli;"
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0;"
        "assert CliRunner().invoke(cli, ['serve', '--help']).exit_code == 0;"
        "print([n for n in ('litestar', 'uvicorn', 'grpc') if n in sys.modules])"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=HANG_GUARD_SEC)

    assert said.stdout.strip() == b"[]"
