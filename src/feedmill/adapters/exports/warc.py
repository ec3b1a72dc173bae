"""WARC 1.1 by warcio (an extra): the requests and responses of fetches, for web archives.

A 304 is a revisit (server-not-modified), and so is a body that the feed served before (identical-payload-
digest). Bodies are kept decoded: the headers that described their coding are renamed to X-Orig-…, and
Content-Length is that of the record.
"""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_export_tables.py

import io
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from feedmill.adapters.exports.plain import open_file
from feedmill.model.running.export import ExportRow, Field
from feedmill.version import __version__

LoadBody = Callable[[str], Awaitable[bytes | None]]

_PROFILES: Final = "http://netpreserve.org/warc/1.1/revisit/"
_CODED: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_headers: Final = msgspec.json.Decoder(list[tuple[str, str]]).decode


class WarcWriter:
    """One gzip member per record, so that a file can be cut behind any of them and continued."""

    def __init__(
        self, path: Path, fields: Sequence[Field], load: LoadBody, *, resume_at: int = 0
    ) -> None:
        self._names = [field.name for field in fields]
        self._load = load
        self._file = open_file(path, resume_at)
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        self._feed_id = ""
        # Bodies of this feed: digest to what refers to it.
        self._served: dict[str, dict[str, str]] = {}
        self._last: dict[str, str] = {}  # the same of its last response
        if not resume_at:
            info = {"software": f"feedmill {__version__}", "format": "WARC File Format 1.1"}
            self._writer.write_record(self._writer.create_warcinfo_record(path.name, info))

    async def write(self, rows: Sequence[ExportRow]) -> None:
        """Write a request and what answered it for each fetch; without an answer, the request alone."""
        for row in rows:
            await self._write(dict(zip(self._names, row, strict=True)))

    def flush(self) -> int:
        """Hand everything to the system; the size of the file."""
        self._file.flush()
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    async def _write(self, fetch: dict[str, Any]) -> None:
        # Rows come feed by feed: what is remembered stays small.
        if fetch["feed_id"] != self._feed_id:
            self._feed_id, self._served, self._last = fetch["feed_id"], {}, {}
        made = {"WARC-Date": _second(fetch["fetched_at"])}
        answer = await self._answer(fetch, made)
        if answer is not None:
            self._writer.write_record(answer)
            made["WARC-Concurrent-To"] = answer.rec_headers.get_header("WARC-Record-ID")
        if fetch["request_headers"] != "[]":
            self._writer.write_record(self._request(fetch, made))

    async def _answer(self, fetch: dict[str, Any], made: dict[str, str]) -> Any:  # noqa: ANN401  # warcio has no types
        status, digest = fetch["http_status"], fetch["body_sha256"]
        if status == HTTPStatus.NOT_MODIFIED:
            return self._revisit(fetch, made, "server-not-modified", self._last)
        if digest is not None and digest in self._served:
            self._last = self._served[digest]
            return self._revisit(fetch, made, "identical-payload-digest", self._last)
        body = b"" if digest is None else await self._load(digest)
        if status is None or body is None:  # there was no answer, or retention took its body
            return None
        headers = {**made, "WARC-Payload-Digest": f"sha256:{digest}"} if digest else made
        record = self._writer.create_warc_record(
            fetch["final_url"],
            "response",
            payload=io.BytesIO(body),
            length=len(body),
            http_headers=_http(fetch, len(body)),
            warc_headers_dict=headers,
        )
        if digest is not None:
            self._last = self._served[digest] = {
                "WARC-Refers-To": record.rec_headers.get_header("WARC-Record-ID"),
                "WARC-Refers-To-Target-URI": fetch["final_url"],
                "WARC-Refers-To-Date": made["WARC-Date"],
                "WARC-Payload-Digest": f"sha256:{digest}",
            }
        return record

    def _revisit(
        self, fetch: dict[str, Any], made: dict[str, str], profile: str, before: dict[str, str]
    ) -> Any:  # noqa: ANN401  # warcio has no types
        headers = {**made, "WARC-Profile": _PROFILES + profile, **before}
        return self._writer.create_warc_record(
            fetch["final_url"], "revisit", http_headers=_http(fetch), warc_headers_dict=headers
        )

    def _request(self, fetch: dict[str, Any], made: dict[str, str]) -> Any:  # noqa: ANN401  # warcio has no types
        """The request that was answered: the last one, where redirects led, or of a page of an archive."""
        host, slash, path = fetch["final_url"].partition("://")[2].partition("/")
        stored = _headers(fetch["request_headers"])
        sent = [(name, value) for name, value in stored if not name.startswith(":")]
        if len(sent) == len(stored):  # earlier versions stored neither :version nor Host
            sent.insert(0, ("Host", host.rpartition("@")[2]))
        line = StatusAndHeaders(f"GET {slash + path or '/'} HTTP/1.1", sent, is_http_request=True)
        return self._writer.create_warc_record(
            fetch["final_url"], "request", http_headers=line, warc_headers_dict=made
        )


def _http(fetch: dict[str, Any], length: int | None = None) -> StatusAndHeaders:
    """The status line and the headers; with a length, those of a body that is kept decoded."""
    status = fetch["http_status"] or 200
    phrase = HTTPStatus(status).phrase if status in _KNOWN else ""
    sent = _headers(fetch["response_headers"])
    if length is not None:
        sent = [
            (f"X-Orig-{name}" if name.lower() in _CODED else name, value) for name, value in sent
        ]
        sent.append(("Content-Length", str(length)))
    return StatusAndHeaders(f"{status} {phrase}".rstrip(), sent, protocol="HTTP/1.1")


_KNOWN: Final = frozenset(int(one) for one in HTTPStatus)


def _second(at: str) -> str:
    """WARC 1.1 allows fractions, but older readers do not."""
    return f"{datetime.fromisoformat(at):%Y-%m-%dT%H:%M:%SZ}"
