"""Tokens end to end: who gets in, for how long, and what is kept of them."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.engine_harness import NOON, SteppedClock
from tests.support.waiting import hang_guard

from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.ports.store import Store
from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import (
    authenticate,
    check_binding,
    issue_token,
    revoke_token,
    rotate_token,
)
from feedmill.errors import NotFoundError, StoreError, UsageError

DAY = timedelta(days=1)


class Entrance:
    """A world whose clock the test moves."""

    def __init__(self, services: Services, clock: SteppedClock) -> None:
        self.services, self.clock = services, clock


def tell(home: Path, story: object) -> None:
    async def told() -> None:
        clock = SteppedClock()
        config = Config(store=StoreConfig(home=str(home)))
        async with hang_guard(), open_services(config, clock=clock) as services:
            await story(Entrance(services, clock))  # type: ignore[operator]

    asyncio.run(told())


def test_whoever_presents_the_secret_is_known_by_name_and_scope(tmp_path: Path) -> None:
    async def story(at: Entrance) -> None:
        issued = await issue_token(
            "my reader", ["write", "read"], at.services.store, at.services.clock
        )

        caller = await authenticate(issued.secret, at.services.store, at.services.clock)

        assert caller is not None
        assert (caller.name, caller.scopes) == ("my reader", ("read", "write"))
        assert caller.token_id == issued.token.id
        assert issued.secret.startswith("fm_")
        assert len(issued.secret) == 46  # 256 bits

    tell(tmp_path, story)


def test_nobody_else_gets_in(tmp_path: Path) -> None:
    async def story(at: Entrance) -> None:
        secret = (
            await issue_token("reader", ["read"], at.services.store, at.services.clock)
        ).secret
        other = "A" if secret[-2] != "A" else "B"
        wrong = [
            None, "", "fm_", secret[:-1], secret + "A", secret[3:], f" {secret}", secret.upper(),
            secret[:-2] + other + secret[-1], "fm_" + "A" * 43, "fm_" + "ö" * 43, "fm_" + "A" * 9_999,
            "fm_\x00", "fm_%", "' OR 1=1 --",
        ]  # fmt: skip

        assert [await authenticate(one, at.services.store, at.services.clock) for one in wrong] == [
            None
        ] * len(wrong)

    tell(tmp_path, story)


def test_a_token_ends_when_it_expires_and_at_once_when_it_is_revoked(tmp_path: Path) -> None:
    async def story(at: Entrance) -> None:
        short = await issue_token(
            "short", ["read"], at.services.store, at.services.clock, expires_in=DAY
        )
        long = await issue_token("long", ["read"], at.services.store, at.services.clock)

        at.clock.move(DAY)
        assert await authenticate(short.secret, at.services.store, at.services.clock) is None
        assert await authenticate(long.secret, at.services.store, at.services.clock) is not None
        revoked = await revoke_token(long.token.id, at.services.store, at.services.clock)
        assert await authenticate(long.secret, at.services.store, at.services.clock) is None
        assert revoked.revoked_at == at.clock.now()

    tell(tmp_path, story)


def test_during_a_rotation_both_secrets_are_good_and_then_only_the_new_one(tmp_path: Path) -> None:
    async def story(at: Entrance) -> None:
        old = await issue_token("reader", ["read"], at.services.store, at.services.clock)
        new = await rotate_token(old.token.id, DAY, at.services.store, at.services.clock)

        during = [
            await authenticate(one.secret, at.services.store, at.services.clock)
            for one in (old, new)
        ]
        at.clock.move(DAY)
        after = [
            await authenticate(one.secret, at.services.store, at.services.clock)
            for one in (old, new)
        ]

        assert during[0] == during[1] is not None  # one caller, one rate limit
        assert after[0] is None
        assert after[1] is not None

    tell(tmp_path, story)


def test_a_rotation_without_overlap_ends_the_old_secret_now(tmp_path: Path) -> None:
    async def story(at: Entrance) -> None:
        old = await issue_token("reader", ["read"], at.services.store, at.services.clock)

        await rotate_token(old.token.id, timedelta(0), at.services.store, at.services.clock)

        assert await authenticate(old.secret, at.services.store, at.services.clock) is None

    tell(tmp_path, story)


def test_a_token_that_has_ended_cannot_be_rotated_back_to_life(tmp_path: Path) -> None:
    async def story(at: Entrance) -> None:
        expired = await issue_token(
            "expired", ["read"], at.services.store, at.services.clock, expires_in=DAY
        )
        revoked = await issue_token("revoked", ["admin"], at.services.store, at.services.clock)
        await revoke_token(revoked.token.id, at.services.store, at.services.clock)
        at.clock.move(DAY)

        for one in (expired, revoked):
            with pytest.raises(UsageError):
                await rotate_token(one.token.id, DAY, at.services.store, at.services.clock)

    tell(tmp_path, story)


def test_the_last_use_is_noted_once_a_minute(tmp_path: Path) -> None:
    async def story(at: Entrance) -> None:
        secret = (
            await issue_token("reader", ["read"], at.services.store, at.services.clock)
        ).secret

        uses = []
        for _ in range(3):
            await authenticate(secret, at.services.store, at.services.clock)
            uses.append((await at.services.store.tokens())[0].last_used_at)
            at.clock.move(timedelta(seconds=40))

        assert uses[0] == uses[1] == NOON
        assert uses[2] == NOON + timedelta(seconds=80)

    tell(tmp_path, story)


def test_a_store_that_cannot_write_keeps_nobody_out(tmp_path: Path) -> None:
    class ReadOnly:
        def __init__(self, store: Store) -> None:
            self._store = store

        def __getattr__(self, name: str) -> object:
            return getattr(self._store, name)

        async def touch_token(self, *_: object) -> None:
            message = "the disk is full"
            raise StoreError(message, reason="disk-full")

    async def story(at: Entrance) -> None:
        secret = (
            await issue_token("reader", ["read"], at.services.store, at.services.clock)
        ).secret
        services = at.services._replace(store=ReadOnly(at.services.store))  # type: ignore[arg-type]

        assert await authenticate(secret, services.store, services.clock) is not None

    tell(tmp_path, story)


def test_the_files_of_the_store_hold_no_secret_of_a_token(tmp_path: Path) -> None:
    secrets: list[str] = []

    async def story(at: Entrance) -> None:
        issued = await issue_token("reader", ["admin"], at.services.store, at.services.clock)
        secrets.extend(
            [
                issued.secret,
                (
                    await rotate_token(issued.token.id, DAY, at.services.store, at.services.clock)
                ).secret,
            ]
        )
        await authenticate(secrets[0], at.services.store, at.services.clock)

    tell(tmp_path, story)

    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"reader" in kept
    for secret in secrets:
        assert secret.removeprefix("fm_").encode() not in kept


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "mill.example"])
def test_beyond_loopback_nothing_is_bound_without_a_token_that_holds(
    tmp_path: Path, host: str
) -> None:
    async def story(at: Entrance) -> None:
        await check_binding("127.0.0.1", at.services.store, at.services.clock)
        with pytest.raises(UsageError, match="no token"):
            await check_binding(host, at.services.store, at.services.clock)
        issued = await issue_token("reader", ["read"], at.services.store, at.services.clock)
        await check_binding(host, at.services.store, at.services.clock)
        await revoke_token(issued.token.id, at.services.store, at.services.clock)
        with pytest.raises(UsageError, match="no token"):
            await check_binding(host, at.services.store, at.services.clock)

    tell(tmp_path, story)


def test_nonsense_is_refused_with_its_reason(tmp_path: Path) -> None:
    async def story(at: Entrance) -> None:
        for name in ("", "  ", "x" * 101, "two\nlines"):
            with pytest.raises(UsageError, match="name"):
                await issue_token(name, ["read"], at.services.store, at.services.clock)
        with pytest.raises(UsageError, match="scope"):
            await issue_token("reader", [], at.services.store, at.services.clock)
        with pytest.raises(UsageError, match="expire"):
            await issue_token(
                "reader", ["read"], at.services.store, at.services.clock, expires_in=timedelta(0)
            )
        with pytest.raises(NotFoundError):
            await revoke_token("nobody", at.services.store, at.services.clock)
        with pytest.raises(NotFoundError):
            await rotate_token("nobody", DAY, at.services.store, at.services.clock)
        issued = await issue_token("reader", ["read"], at.services.store, at.services.clock)
        with pytest.raises(UsageError, match="overlap"):
            await rotate_token(issued.token.id, -DAY, at.services.store, at.services.clock)

        assert len(await at.services.store.tokens()) == 1

    tell(tmp_path, story)
