"""A POST leaves through the same guard and the same connections as a GET."""

import msgspec
from tests.support.loopback_fetcher import LOOPBACK, fetching, get
from tests.support.webhook_receiver import receiving

from feedmill.fetch.plan import plan_fetch
from feedmill.model.fetch import Post

LIMITS = plan_fetch("http://127.0.0.1/", None, LOOPBACK).limits


def post(url: str, body: bytes = b"[]", **limits: int) -> Post:
    return Post(
        url=url,
        headers=(("Content-Type", "application/json"), ("X-Own", "1")),
        body=body,
        limits=msgspec.structs.replace(LIMITS, **limits),
    )


async def test_a_body_arrives_as_it_was_given_with_its_headers() -> None:
    body = bytes(range(256)) * 8_192  # two MiB: libcurl would ask for a 100 first

    async with receiving() as receiver, fetching() as fetcher:
        response = await fetcher.post(post(receiver.url(), body))

    (taken,) = receiver.taken
    assert (response.status, response.error) == (204, None)
    assert (taken.method, taken.body == body) == ("POST", True)
    assert (taken.headers["content-type"], taken.headers["x-own"]) == ("application/json", "1")
    assert "expect" not in taken.headers
    assert "user-agent" not in taken.headers


async def test_an_empty_body_is_a_body() -> None:
    async with receiving() as receiver, fetching() as fetcher:
        await fetcher.post(post(receiver.url(), b""))

    assert (receiver.taken[0].method, receiver.taken[0].headers["content-length"]) == ("POST", "0")


async def test_a_get_after_a_post_is_a_get_again_and_carries_nothing_of_it() -> None:
    async with receiving() as receiver, fetching() as fetcher:
        receiver.say("/hook", 200)
        for _ in range(2):
            await fetcher.post(post(receiver.url(), b"secret body"))
            await get(fetcher, receiver.url())

    assert [one.method for one in receiver.taken] == ["POST", "GET", "POST", "GET"]
    for got in receiver.taken[1::2]:
        assert got.body == b""
        assert not {"content-length", "content-type", "x-own"} & set(got.headers)


async def test_a_redirect_is_an_answer_and_no_way_to_go() -> None:
    async with receiving() as receiver, fetching() as fetcher:
        receiver.say("/hook", 307, headers=(f"Location: {receiver.url('/there')}",))
        response = await fetcher.post(post(receiver.url()))

    assert (response.status, response.hops) == (307, ())
    assert [one.path for one in receiver.taken] == ["/hook"]


async def test_the_guard_looks_at_the_address_that_is_dialled() -> None:
    table = {"hook.example": [("10.0.0.1",)]}

    async with receiving() as receiver, fetching(table) as fetcher:
        named = await fetcher.post(post(receiver.url(host="hook.example")))
        literal = await fetcher.post(post("http://192.168.0.1/hook"))
        scheme = await fetcher.post(post("ftp://hook.example/"))

    assert [one.error for one in (named, literal, scheme)] == [
        "private-address",
        "private-address",
        "scheme",
    ]
    assert receiver.taken == []
