"""No webhook reaches what is not on the public internet: not by its URL, its name or a redirect."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.support.webhook_harness import happen, opened, telling, until_webhook
from tests.support.webhook_receiver import receiving

from feedmill.engine.deliver.to_webhooks import deliver_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.webhooks import add_webhook, send_test_delivery, validate_webhook_url
from feedmill.errors import AddressError
from feedmill.fetch.guard import check_address
from feedmill.model.fetch import RefusalReason

VECTORS = Path(__file__).parents[3] / "vectors" / "ssrf_urls.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text("utf-8"))["cases"]
# Redirects are not followed at all, so what they lead to is a story of its own below; the vectors
# begin such chains at a public server, and no test dials one.
FORBIDDEN = [case for case in CASES if not case["allowed"] and "redirect_to" not in case]


def addresses(case: dict[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """What each name leads to in the end."""
    sequences = {host: answers[-1] for host, answers in case.get("dns_sequence", {}).items()}
    table = {**case.get("dns", {}), **sequences}
    return {host: [tuple(found)] for host, found in table.items()}


def leads_inside(case: dict[str, Any]) -> bool:
    """A name that is out of bounds for what it resolves to, not for how the URL is spelt."""
    answers = [found for (found,) in addresses(case).values()]
    return any(not found or any(map(check_address, found)) for found in answers)


BY_NAME = [case for case in FORBIDDEN if leads_inside(case)]
BY_URL = [case for case in FORBIDDEN if case not in BY_NAME]


@pytest.mark.parametrize("case", BY_URL, ids=lambda case: case["id"])
def test_an_address_out_of_bounds_is_refused_when_it_is_added(case: dict[str, Any]) -> None:
    with pytest.raises(AddressError) as refused:
        validate_webhook_url(case["url"])

    assert refused.value.reason in get_args(RefusalReason)


@pytest.mark.parametrize("case", BY_NAME, ids=lambda case: case["id"])
async def test_a_name_that_leads_out_of_bounds_is_not_dialled(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    async with opened(tmp_path, names=addresses(case), allow_cidrs=()) as services:
        try:
            hook = await add_webhook(case["url"], services)
        except AddressError:
            return
        delivery = await send_test_delivery(hook.id, services)

        assert delivery.status is None
        assert delivery.result in (*get_args(RefusalReason), "dns-failure")


async def test_nothing_is_kept_of_a_webhook_that_was_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as services:
        with pytest.raises(AddressError):
            await add_webhook("http://169.254.169.254/latest/meta-data/", services)

        assert await services.store.webhooks() == ()


@pytest.mark.parametrize(
    "url",
    ["https://user:hush@hook.example/", "https://user@hook.example/", "https://:h@hook.example/"],
)
def test_credentials_do_not_stand_in_an_address(url: str) -> None:
    with pytest.raises(AddressError) as refused:
        validate_webhook_url(url)

    assert refused.value.reason == "credentials"
    assert "hush" not in str(refused.value)


def test_a_fragment_leaves_the_address() -> None:
    assert validate_webhook_url("https://hook.example/a?b=1#c") == "https://hook.example/a?b=1"


async def test_a_name_that_changes_its_address_between_deliveries_is_not_followed_inside(
    tmp_path: Path,
) -> None:
    """DNS rebinding: the name was good when it was added, and good at the first delivery."""
    rebinding = {"hook.example": [("127.0.0.1",), ("10.0.0.1",)]}

    async with receiving() as receiver, opened(tmp_path, names=rebinding) as services:
        hook = await add_webhook(receiver.url(host="hook.example"), services)
        await happen(services, 1)
        await deliver_once(services, Lifecycle("first"))
        await happen(services, 1)
        await deliver_once(services, Lifecycle("second"))
        after = await services.store.webhook(hook.id)

        assert receiver.told() == [1]
        assert after is not None
        assert (after.last_result, after.cursor) == ("private-address", 1)


async def test_one_private_address_among_public_ones_refuses_all(tmp_path: Path) -> None:
    mixed = {"hook.example": [("127.0.0.1", "93.184.216.34")]}

    async with receiving() as receiver, opened(tmp_path, names=mixed, allow_cidrs=()) as services:
        hook = await add_webhook(receiver.url(host="hook.example"), services)
        delivery = await send_test_delivery(hook.id, services)

        assert (delivery.result, delivery.status) == ("private-address", None)
        assert receiver.taken == []


async def test_a_redirect_inside_is_not_followed(tmp_path: Path) -> None:
    async with receiving() as receiver, opened(tmp_path) as services:
        inside = receiver.url("/inside")
        receiver.say("/hook", 307, 204, headers=(f"Location: {inside}",))
        hook = await add_webhook(receiver.url(), services)
        await happen(services, 1)
        async with telling(services) as told:
            await until_webhook(services, hook.id, lambda one: one.cursor == 1)

        assert told.deliveries[0].result == "redirect-not-followed"
        assert receiver.to("/inside") == []


def test_a_port_of_another_protocol_is_refused() -> None:
    with pytest.raises(AddressError) as refused:
        validate_webhook_url("http://hook.example:25/")

    assert refused.value.reason == "bad-port"


def test_headers_cannot_be_smuggled_in_through_an_address() -> None:
    with pytest.raises(AddressError):
        validate_webhook_url("https://hook.example/\r\nX-Evil: 1")
