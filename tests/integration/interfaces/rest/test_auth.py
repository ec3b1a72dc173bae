"""Who may come in: nobody without a token once there is one, and each only as far as its scope."""

from base64 import b64encode

import pytest
from tests.integration.interfaces.rest.conftest import OpenMill
from tests.support.engine_harness import Stage
from tests.support.rest_client import JSON, RestMill, lines_of

from feedmill.config import AccessConfig, ServeConfig
from feedmill.engine.service.auth import revoke_token

RANKS = ("read", "write", "admin")
# A route of each scope, and what it answers to who may call it.
ROUTES = [
    ("GET", "/feeds", "read", 200),
    ("GET", "/feeds/nobody", "read", 404),
    ("GET", "/feeds/nobody/entries", "read", 404),
    ("GET", "/feeds/nobody/schedule", "read", 404),
    ("GET", "/feeds/nobody/health", "read", 404),
    ("GET", "/feeds/nobody/diff", "read", 404),
    ("GET", "/entries/nobody/full-text", "read", 404),
    ("GET", "/entries", "read", 200),
    ("GET", "/entries/nobody", "read", 404),
    ("GET", "/entries/nobody/revisions", "read", 404),
    ("GET", "/entries/nobody/raw", "read", 404),
    ("GET", "/raw/nobody", "read", 404),
    ("GET", "/articles", "read", 200),
    ("GET", "/events", "read", 200),
    ("GET", "/export.opml", "read", 200),
    ("GET", "/metrics", "read", 200),
    ("GET", "/stats", "read", 200),
    ("GET", "/stats/top", "read", 200),
    ("GET", "/service-levels", "read", 200),
    ("GET", "/status", "read", 200),
    ("GET", "/feeds/nobody/stats", "read", 404),
    ("POST", "/feeds", "write", 422),
    ("PATCH", "/feeds/nobody", "write", 404),
    ("DELETE", "/feeds/nobody", "write", 404),
    ("POST", "/feeds/nobody/refetch", "write", 404),
    ("POST", "/import", "write", 422),
    ("POST", "/canonicalize", "write", 422),
    ("GET", "/discover?url=http://10.0.0.1/", "write", 422),
    ("GET", "/webhooks", "admin", 200),
    ("POST", "/webhooks", "admin", 422),
    ("GET", "/webhooks/nobody", "admin", 404),
    ("PATCH", "/webhooks/nobody", "admin", 404),
    ("DELETE", "/webhooks/nobody", "admin", 404),
    ("GET", "/webhooks/nobody/dead", "admin", 404),
]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A mill with a token of each scope."""
    with RestMill(
        tmp_path_factory.mktemp("guarded"), access=AccessConfig(requests_per_sec=0)
    ) as mill:
        secrets = {scope: mill.issue(scope) for scope in RANKS}  # type: ignore[arg-type]  # the three scopes
        yield mill, secrets


@pytest.mark.parametrize(("method", "path", "needed", "status"), ROUTES)
def test_every_route_wants_a_token_of_its_scope(
    guarded: tuple[RestMill, dict[str, str]], method: str, path: str, needed: str, status: int
) -> None:
    mill, secrets = guarded
    body = b"{}" if method in ("POST", "PATCH") else None

    def ask(token: str | None) -> int:
        own = {} if token is None else {"Authorization": f"Bearer {token}"}
        return mill.ask(path, method=method, body=body, headers={**JSON, **own}).status

    allowed = RANKS[RANKS.index(needed) :]
    expected = {scope: status if scope in allowed else 403 for scope in RANKS}

    assert {scope: ask(secrets[scope]) for scope in RANKS} == expected
    assert ask(None) == ask("fm_" + "x" * 43) == ask("nonsense") == 401


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/openapi.json", "/docs", "/problems/surprise"]
)
def test_some_routes_are_open_and_tell_nothing(
    guarded: tuple[RestMill, dict[str, str]], path: str
) -> None:
    mill, _ = guarded

    assert mill.ask(path).status == 200


def test_a_refused_caller_learns_how_to_come_in(guarded: tuple[RestMill, dict[str, str]]) -> None:
    mill, secrets = guarded

    unknown = mill.ask("/feeds")
    narrow = mill.ask("/webhooks", headers={"Authorization": f"Bearer {secrets['read']}"})

    assert (unknown.problem, unknown.headers["www-authenticate"]) == (
        "unauthenticated",
        'Bearer realm="feedmill"',
    )
    assert (narrow.status, narrow.problem) == (403, "forbidden")
    assert secrets["read"].encode() not in narrow.body


def test_a_token_is_read_from_nowhere_but_its_header(
    guarded: tuple[RestMill, dict[str, str]],
) -> None:
    mill, secrets = guarded
    token = secrets["read"]
    basic = b64encode(f"reader:{token}".encode()).decode()

    assert mill.ask(f"/feeds?token={token}").status == 401
    assert mill.ask(f"/feeds?access_token={token}").status == 401
    assert mill.ask("/feeds", headers={"Cookie": f"token={token}"}).status == 401
    assert mill.ask("/feeds", headers={"Authorization": f"Basic {basic}"}).status == 401
    assert mill.ask("/feeds", headers={"Authorization": f"bearer {token}"}).status == 200
    feed = mill.ask("/collections/feed.atom", headers={"Authorization": f"Basic {basic}"})
    assert feed.status == 200


def test_without_any_token_this_machine_may_do_everything_until_there_is_one(
    mill: RestMill,
) -> None:
    before = mill.ask("/webhooks").status
    mill.token = mill.issue("read")

    async def revoke(stage: Stage) -> None:
        (token,) = await stage.services.store.tokens()
        await revoke_token(token.id, stage.services.store, stage.services.clock)

    during = (mill.ask("/feeds").status, mill.ask("/webhooks").status)
    mill.tell(revoke)

    assert (before, during) == (200, (200, 403))
    # A token that was taken back does not open the door again for everybody.
    assert mill.ask("/feeds").status == 401


def test_who_asks_too_often_is_told_when_to_come_again(open_mill: OpenMill) -> None:
    mill = open_mill(access=AccessConfig(requests_per_sec=0.001, burst=3))
    first, second = mill.issue("read"), mill.issue("read")

    def statuses(token: str, times: int) -> list[int]:
        own = {"Authorization": f"Bearer {token}"}
        return [mill.ask("/feeds", headers=own).status for _ in range(times)]

    assert statuses(first, 4) == [200, 200, 200, 429]
    assert statuses(second, 1) == [200]
    refused = mill.ask("/feeds", headers={"Authorization": f"Bearer {first}"})
    assert refused.problem == "rate-limited"
    assert 1 <= int(refused.headers["retry-after"]) <= 1_000
    assert [mill.ask("/feeds").status for _ in range(4)] == [401, 401, 401, 429]
    assert mill.ask("/healthz").status == 200


def test_a_stream_ends_when_its_token_is_taken_back(open_mill: OpenMill) -> None:
    mill = open_mill(serve=ServeConfig(heartbeat_sec=0.05))
    mill.token = mill.issue("read")

    async def revoke(stage: Stage) -> None:
        (token,) = await stage.services.store.tokens()
        await revoke_token(token.id, stage.services.store, stage.services.clock)

    with lines_of(mill, "/events/stream") as lines:
        assert next(lines) == b"retry: 2000\n"
        mill.tell(revoke)

        assert set(lines) <= {b"\n", b": still here\n"}  # to its end
