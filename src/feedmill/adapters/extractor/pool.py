"""Processes that extract texts, each page within a deadline and a memory limit (extra `fulltext`).

A page that takes too long, or takes the process down, costs that process and nothing else: the next page gets a new
one. Processes start at the first page and are replaced after some hundred, because parsers keep what they saw.
"""
# Tested in tests/integration/adapters/test_extractor.py

import asyncio
import struct
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import Final

import msgspec

from feedmill.config import FullTextConfig
from feedmill.errors import MissingExtraError
from feedmill.model.derived.fetched import ExtractedText, NoFullText, PageTask

LENGTH: Final = struct.Struct(">I")  # in front of each message
_START_SEC: Final = 60.0  # to import everything, on a machine that is busy
_MOST_PAGES: Final = 300  # of one process
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.decode


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
            "feedmill.adapters.extractor.child",
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
