"""How sites answer: validators, codings, delays, errors and redirects.

Each function either is a manner (house and request in, answer out) or makes one.
"""

import math

import msgspec

from feedmill.model.fetch import Headers
from feedmill_demo.defects import Defect
from feedmill_demo.server.script import Answer, ContentCoding, Request, document, redirect
from feedmill_demo.site_with_habits import Behaviour, DemoSite


def plain(house: DemoSite, request: Request) -> Answer:  # noqa: ARG001
    """The whole document every time: no validators at all."""
    return document(house.document().body, house.document().content_type)


def validated(house: DemoSite, request: Request) -> Answer:  # noqa: ARG001
    """ETag and Last-Modified, as a good server sends them."""
    now = house.document()
    return document(now.body, now.content_type, etag=now.etag, last_modified=now.last_modified)


def etag_only(house: DemoSite, request: Request) -> Answer:  # noqa: ARG001
    """A strong ETag and nothing else."""
    now = house.document()
    return document(now.body, now.content_type, etag=now.etag)


def weak_etag(house: DemoSite, request: Request) -> Answer:  # noqa: ARG001
    """A weak ETag."""
    now = house.document()
    return document(now.body, now.content_type, etag=f"W/{now.etag}")


def last_modified_only(house: DemoSite, request: Request) -> Answer:  # noqa: ARG001
    """Last-Modified and nothing else."""
    now = house.document()
    return document(now.body, now.content_type, last_modified=now.last_modified)


def with_headers(*headers: tuple[str, str]) -> Behaviour:
    """Validators, and these headers too."""

    def manner(house: DemoSite, request: Request) -> Answer:
        return _more(validated(house, request), headers)

    return manner


def coded(coding: ContentCoding) -> Behaviour:
    """In a content coding, for clients that accept it."""

    def manner(house: DemoSite, request: Request) -> Answer:
        answer = _more(validated(house, request), (("Vary", "Accept-Encoding"),))
        accepted = request.header("accept-encoding") or ""
        return msgspec.structs.replace(answer, codings=(coding,) if coding in accepted else ())

    return manner


def chunked(house: DemoSite, request: Request) -> Answer:
    """In chunks, without a length."""
    answer = validated(house, request)
    return msgspec.structs.replace(answer, framing="chunked", piece_bytes=700)


def slow(house: DemoSite, request: Request) -> Answer:
    """After a second of thought, and then in pieces."""
    answer = validated(house, request)
    return msgspec.structs.replace(answer, delay_sec=1.0, piece_bytes=2048, pause_sec=0.05)


def redirect_to(way: str, status: int = 301) -> Behaviour:
    """A redirect to another path of the house."""

    def manner(house: DemoSite, request: Request) -> Answer:  # noqa: ARG001
        return redirect(f"{house.address}{way}", status)

    return manner


def moved_after(age_sec: float, way: str) -> Behaviour:
    """At home until that age, then for ever at another address."""

    def manner(house: DemoSite, request: Request) -> Answer:
        if house.age_sec < age_sec:
            return validated(house, request)
        if house.feed.address != f"{house.address}{way}":
            house.feed.move(f"{house.address}{way}")
        return redirect(f"{house.address}{way}", 301)

    return manner


def rate_limited(rest_sec: float) -> Behaviour:
    """429 with Retry-After for a client that comes back before that many seconds of demo time."""

    def manner(house: DemoSite, request: Request) -> Answer:
        again = house.memory.get("again", 0.0)
        if house.age_sec < again:
            wait = str(math.ceil((again - house.age_sec) / house.pace))
            return Answer(status=429, headers=(("Retry-After", wait),), body=b"slow down\n")
        house.memory["again"] = house.age_sec + rest_sec
        return validated(house, request)

    return manner


def flapping(up_sec: float, down_sec: float) -> Behaviour:
    """Up for a while, then 503 for a while, and so on."""

    def manner(house: DemoSite, request: Request) -> Answer:
        if house.age_sec % (up_sec + down_sec) < up_sec:
            return validated(house, request)
        return Answer(status=503, headers=(("Content-Type", "text/plain"),), body=b"restarting\n")

    return manner


def refused(status: int, page: bytes = b"", *headers: tuple[str, str]) -> Behaviour:
    """Always this status, with this page."""

    def manner(house: DemoSite, request: Request) -> Answer:  # noqa: ARG001
        fields = (("Content-Type", "text/html; charset=utf-8"), *headers)
        return Answer(status=status, headers=fields, body=page)

    return manner


def broken(defect: Defect) -> Behaviour:
    """The document with a defect."""

    def manner(house: DemoSite, request: Request) -> Answer:
        answer = validated(house, request)
        return msgspec.structs.replace(answer, body=defect(answer.body))

    return manner


def interrupted(house: DemoSite, request: Request) -> Answer:
    """Every other answer breaks off half-way: fewer octets than Content-Length promised."""
    answer = validated(house, request)
    if house.asked % 2 == 0:
        return answer
    half = len(answer.body) // 2
    return msgspec.structs.replace(answer, fault="cut", fault_at=half, conditional=False)


def never_identical(house: DemoSite, request: Request) -> Answer:
    """A comment with a counter in every answer: never the same octets, never a 304."""
    answer = plain(house, request)
    stamp = b"<!-- served %d times -->\n" % house.asked
    return msgspec.structs.replace(answer, body=answer.body + stamp)


def counting_readers(house: DemoSite, request: Request) -> Answer:
    """Every text says how often it was read, so all entries differ in every answer."""
    answer = plain(house, request)
    count = b" Read %d times.</description>" % (1_000 + 7 * house.asked)
    return msgspec.structs.replace(answer, body=answer.body.replace(b"</description>", count))


def _more(answer: Answer, headers: Headers) -> Answer:
    return msgspec.structs.replace(answer, headers=answer.headers + headers)
