"""Processes that extract texts, each page within a deadline and a memory limit (extra `fulltext`).

A page that takes too long, or takes the process down, costs that process and nothing else: the next page gets a new
one. Processes start at the first page and are replaced after some hundred, because parsers keep what they saw.

Such a process (`main`) reads one page after the other from standard input and answers each on standard output. It has a memory
limit of its own and no network to talk to. Messages are MessagePack behind their length in four octets.
"""
# Tested in tests/integration/adapters/test_extractor.py

import asyncio
import struct
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec.structs import replace

from feedmill.config import FullTextConfig
from feedmill.errors import MissingExtraError
from feedmill.model.derived.fetched import ExtractedText, NoFullText, PageTask

LENGTH: Final = struct.Struct(">I")  # in front of each message
_START_SEC: Final = 60.0  # to import everything, on a machine that is busy
_MOST_PAGES: Final = 300  # of one process
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.decode
_task: Final = msgspec.msgpack.Decoder(PageTask)


class ExtractorPool:
    """Up to `processes` of them; made for one event loop, closed by its creator."""

    def __init__(self, config: FullTextConfig) -> None:
        self._config = config
        self._places = asyncio.Semaphore(config.processes)
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()

    async def extract(self, task: PageTask) -> ExtractedText | NoFullText:
        """The text of a page, sanitised; NoFullText also for a page that breaks the extractor."""
        if find_spec("trafilatura") is None:
            extra, part = "fulltext", "extracting full texts"
            raise MissingExtraError(extra, part)
        async with self._places:
            child = self._idle.pop() if self._idle else await self._start()
            try:
                async with asyncio.timeout(self._config.deadline_sec):
                    found = await child.ask(task)
            except TimeoutError:
                limit = f"{self._config.deadline_sec:g} s"
                return await self._give_up(child, NoFullText(reason="deadline", detail=limit))
            except (EOFError, OSError):
                return await self._give_up(child, NoFullText(reason="extractor-crashed"))
            except BaseException:
                await self._end(child)
                raise
            if child.pages < _MOST_PAGES and not _is_spent(found):
                self._idle.append(child)
            else:
                await self._end(child)
            return found

    async def close(self) -> None:
        """End all processes."""
        for child in tuple(self._all):
            await self._end(child)
        self._idle.clear()

    async def _start(self) -> "_Child":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "feedmill.adapters.extractor",
            str(self._config.memory_mb),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us: a page under way is finished
        )
        child = _Child(process)
        self._all.add(child)
        try:
            async with asyncio.timeout(_START_SEC):
                await child.receive()
        except BaseException:
            await self._end(child)
            raise
        return child

    async def _give_up(self, child: "_Child", answer: NoFullText) -> NoFullText:
        await self._end(child)
        return answer

    async def _end(self, child: "_Child") -> None:
        self._all.discard(child)
        await child.kill()


class _Child:
    """One process and the pipe to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pages = 0

    async def ask(self, task: PageTask) -> ExtractedText | NoFullText:
        self.pages += 1
        message, pipe = _encode(task), self._process.stdin
        assert pipe is not None
        pipe.write(LENGTH.pack(len(message)) + message)
        await pipe.drain()
        is_text, found = _decode(await self.receive())
        kind: type[ExtractedText | NoFullText] = ExtractedText if is_text else NoFullText
        return msgspec.convert(found, kind)

    async def receive(self) -> bytes:
        pipe = self._process.stdout
        assert pipe is not None
        head = await pipe.readexactly(LENGTH.size)
        return await pipe.readexactly(LENGTH.unpack(head)[0])

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


def _is_spent(found: ExtractedText | NoFullText) -> bool:
    return isinstance(found, NoFullText) and found.reason == "out-of-memory"


def main() -> None:
    """Answer until the input ends."""
    import feedmill.normalise.html.sanitise  # noqa: F401, PLC0415  # of this process alone, before its limit
    from feedmill.extract import VERSION  # noqa: PLC0415

    _limit_memory(int(sys.argv[1]))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    _send(target, VERSION)  # ready
    while (message := _receive(source)) is not None:
        try:
            answer = answer_of(_task.decode(message))
        except MemoryError:
            answer = NoFullText(reason="out-of-memory")
        _send(target, (isinstance(answer, ExtractedText), answer))
        if isinstance(answer, NoFullText) and answer.reason == "out-of-memory":
            return  # what is left of the heap is not worth keeping


def answer_of(task: PageTask) -> ExtractedText | NoFullText:
    """The text of a page, sanitised."""
    from feedmill.extract import count_words, extract_page  # noqa: PLC0415  # as above
    from feedmill.normalise.html.sanitise import clean_html  # noqa: PLC0415

    found = extract_page(task)
    if isinstance(found, NoFullText):
        return found
    html = clean_html(found.html, base=task.url, max_chars=task.max_chars, max_depth=task.max_depth)
    words = count_words(html)
    return replace(found, html=html, words=words) if words else NoFullText(reason="no-text")


def _limit_memory(more_mb: int) -> None:
    """So much beyond what the interpreter and the libraries take."""
    import resource  # noqa: PLC0415  # not on every platform

    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    most = pages * resource.getpagesize() + more_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _receive(source: BinaryIO) -> bytes | None:
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return source.read(LENGTH.unpack(head)[0])


def _send(target: BinaryIO, value: object) -> None:
    message = _encode(value)
    target.write(LENGTH.pack(len(message)) + message)
    target.flush()


if __name__ == "__main__":
    main()
