"""Sites: they answer requests by a function, or prebuilt and fast."""

from feedmill_demo.server.http1 import header_of, not_modified_answer, render_answer
from feedmill_demo.server.script import Answer, Request, Script


class Site:
    """Something with answers. A site that knows nothing about a path returns None."""

    def opened(self, origin: str) -> None:
        """Told once where the site is to be found, such as http://127.0.0.1:8080."""

    def prebuilt(self, target: bytes, head: bytes) -> bytes | None:  # noqa: ARG002
        """The whole answer to a GET, ready to be written: the hot path of load tests."""
        return None

    def answer(self, request: Request) -> Answer | None:  # noqa: ARG002
        """What to answer to a request."""
        return None


class FixedAnswer:
    """One answer that never changes, with its 304, both built once."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        etag = header_of(answer.headers, "etag") if answer.conditional else None
        modified = header_of(answer.headers, "last-modified") if answer.conditional else None
        self._etag = etag.encode("latin-1") if etag is not None else None
        self._modified = modified.encode("latin-1") if modified is not None else None
        self._whole = render_answer(answer)
        self._unchanged = render_answer(not_modified_answer(answer))

    def octets(self, head: bytes) -> bytes:
        """The 304 when the head carries the validator byte for byte, the whole answer otherwise."""
        tag = field(head, b"if-none-match")
        if tag is not None:
            return self._unchanged if tag == self._etag else self._whole
        since = field(head, b"if-modified-since")
        if since is not None and since == self._modified:
            return self._unchanged
        return self._whole


class ScriptedSite(Site):
    """The scripts that a test has put up: by host and target, by target, or by path alone."""

    def __init__(self) -> None:
        self._scripts: dict[tuple[str | None, str], Script] = {}
        self._steady: dict[bytes, FixedAnswer] = {}

    def put(self, target: str, script: Script, host: str | None) -> None:
        """Answer this target by this script from now on."""
        self._scripts[host, target] = script
        self._steady.pop(target.encode("latin-1"), None)

    def put_steady(self, target: str, steady: FixedAnswer) -> None:
        """Answer this target with the same octets from now on, as fast as we can."""
        self._steady[target.encode("latin-1")] = steady

    def prebuilt(self, target: bytes, head: bytes) -> bytes | None:
        steady = self._steady.get(target)
        return None if steady is None else steady.octets(head)

    def answer(self, request: Request) -> Answer | None:
        host = (request.header("host") or "").lower()
        hosts = (host, host.rpartition(":")[0] or host, None)
        for target in (request.target, request.path):
            for name in hosts:
                script = self._scripts.get((name, target))
                if script is not None:
                    return script.answer(request)
        steady = self._steady.get(request.target.encode("latin-1"))
        return None if steady is None else steady.answer


def field(head: bytes, lower_name: bytes) -> bytes | None:
    """The value of a header in an unparsed head, or None: for the hot path only."""
    start = head.lower().find(b"\r\n" + lower_name + b":")
    if start < 0:
        return None
    start += len(lower_name) + 3
    return head[start : head.index(b"\r\n", start)].strip(b" \t")
