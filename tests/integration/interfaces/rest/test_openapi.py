"""The document says what the server does: an outside program reads it and tries everything."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks
from tests.integration.interfaces.rest.conftest import HASTY, fill
from tests.support.engine_harness import Stage
from tests.support.rest_client import RestMill
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.config import ServeConfig
from feedmill.interfaces.rest.problems import PROBLEM_KINDS

ROOT = Path(__file__).parents[4]
WANTED = {
    "get /feeds", "post /feeds", "get /feeds/{feed_id}", "patch /feeds/{feed_id}",
    "delete /feeds/{feed_id}", "post /feeds/{feed_id}/refetch", "get /feeds/{feed_id}/entries",
    "get /feeds/{feed_id}/schedule", "get /feeds/{feed_id}/health", "get /entries",
    "get /entries/{entry_uid}", "get /entries/{entry_uid}/revisions",
    "get /entries/{entry_uid}/raw", "get /raw/{fetch_id}", "get /raw/{fetch_id}/headers",
    "get /articles", "get /events", "get /events/stream", "post /import", "get /export.opml",
    "post /canonicalize", "get /webhooks", "post /webhooks", "get /webhooks/{webhook_id}",
    "patch /webhooks/{webhook_id}", "delete /webhooks/{webhook_id}",
    "get /webhooks/{webhook_id}/dead", "get /healthz", "get /readyz", "get /metrics", "get /stats",
    "get /stats/top", "get /service-levels", "get /status", "get /feeds/{feed_id}/stats",
    "get /openapi.json", "get /docs", "get /problems/{code}",
}  # fmt: skip
# A stream has no end, so nobody can wait for it; its rules are tested beside this.
ENDLESS = "/events/stream"
CHECKS = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
)


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestMill]:
    """A mill with entries and a token, which anything may be done to."""
    serve = ServeConfig(body_bytes=100_000, import_bytes=100_000)
    with RestMill(tmp_path_factory.mktemp("tried"), access=HASTY, serve=serve) as mill:
        mill.tell(fill)
        mill.token = mill.issue("admin")
        yield mill


@pytest.fixture(scope="module")
def document(library: RestMill) -> Any:
    return library.ask("/openapi.json").json


def operations(document: Any) -> dict[str, Any]:
    return {
        f"{method} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_every_route_of_the_interface_is_in_the_document(document: Any) -> None:
    assert document["openapi"] == "3.1.0"
    assert set(operations(document)) >= WANTED


def test_every_route_says_who_may_call_it_and_what_can_go_wrong(document: Any) -> None:
    for name, operation in operations(document).items():
        scope, security = operation.get("x-scope"), operation["security"]
        statuses = set(operation["responses"])

        assert (scope is None) == (security == []), name
        assert {"400", "421", "500", "503"} <= statuses, name
        if scope is not None:
            assert {"token": []} in security, name
            assert {"401", "403", "429"} <= statuses, name
        if "requestBody" in operation:
            assert {"408", "413", "415"} <= statuses, name


def test_every_reference_in_the_document_leads_somewhere(document: Any) -> None:
    named = set(re.findall(r"#/components/schemas/(\w+)", str(document)))

    assert named <= set(document["components"]["schemas"])
    assert "Problem" in named


def test_every_kind_of_problem_is_said_somewhere(document: Any) -> None:
    said = set(re.findall(r"`([a-z-]+)`: ", str(document["paths"])))

    # What no route can help: another method, and a crowd.
    assert set(PROBLEM_KINDS) - said == {"method-not-allowed", "too-many-connections"}


def test_the_page_for_people_loads_nothing_from_anywhere(library: RestMill) -> None:
    page = library.ask("/docs")

    html = page.body.decode()
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "script" not in page.headers["content-security-policy"]
    assert not re.search(r"<script|<img|<link|src=|@import|url\(", html)
    assert set(re.findall(r'href="([^"#]+)', html)) == {"/openapi.json"}
    for name in WANTED:
        method, path = name.split()
        assert f"<b>{method.upper()}</b> <code>{path}</code>" in html


def test_an_outside_program_finds_nothing_that_the_document_does_not_say(tried: RestMill) -> None:
    """schemathesis: no 5xx, no undocumented status, no schema violation, with a token."""
    document = tried.ask("/openapi.json").json
    document["paths"].pop(ENDLESS)
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=tried.base)
    paper = tried.tell(_address)
    tries = 0
    for found in schema.get_all_operations():
        _try(found.ok(), tried, paper)  # type: ignore[union-attr]  # an operation that is none is raised
        tries += 1

    assert tries >= len(WANTED) - 1
    assert tried.ask("/healthz").status == 200


async def _address(stage: Stage) -> str:
    return stage.publisher.url("/feed", host="127.0.0.1")


def _try(operation: Any, mill: RestMill, paper: str) -> None:
    """Call one operation in many ways, the same ones every time."""

    def attempt(case: Any) -> None:
        case.query.pop("wait", None)  # an answer after a minute is as right, but slow
        if (
            isinstance(case.body, dict)
            and isinstance(case.body.get("url"), str)
            and case.body["url"]
        ):
            case.body["url"] = paper  # nobody outside this machine is asked anything
        headers = {"Authorization": f"Bearer {mill.token}"}
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=HANG_GUARD_SEC)

    bounds = settings(
        max_examples=max(4, settings().max_examples // 20),  # a hundred with `explore`
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    bounds(given(case=operation.as_strategy())(attempt))()


def test_the_reference_lists_every_route_with_its_scope(document: Any) -> None:
    page = (ROOT / "docs" / "reference" / "rest.md").read_text("utf-8")
    expected = [
        [
            f"`{name.split()[0].upper()} {name.split()[1]}`",
            one.get("x-scope", "open"),
            one["summary"],
        ]
        for name, one in operations(document).items()
    ]

    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]

    assert sorted(rows) == sorted(expected)


def test_the_curl_examples_of_the_how_to_work(mill: RestMill) -> None:
    page = (ROOT / "docs" / "how-to" / "serve.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if line.startswith("curl")]

    for command in commands:
        ours = command.replace("http://127.0.0.1:8642", mill.base).replace(
            "curl -s", "curl -sfS", 1
        )
        said = subprocess.run(["sh", "-c", ours], capture_output=True, timeout=HANG_GUARD_SEC)

        assert said.returncode == 0, (command, said.stderr)
        assert said.stdout or "/entries" in command, command

    assert len(commands) == 11
