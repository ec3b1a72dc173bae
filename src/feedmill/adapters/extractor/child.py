"""The process that extracts texts: one page after the other from standard input, each answered on standard output.

It has a memory limit of its own and no network to talk to; the process that started it ends it when a page takes too long.
Messages are MessagePack behind their length in four octets.
"""
# Tested in tests/integration/adapters/test_extractor.py

import resource
import sys
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec.structs import replace

from feedmill.adapters.extractor.pool import LENGTH
from feedmill.extract import VERSION, count_words, extract_page
from feedmill.model.derived.fetched import ExtractedText, NoFullText, PageTask
from feedmill.normalise.html.sanitise import clean_html

_task: Final = msgspec.msgpack.Decoder(PageTask)
_encode: Final = msgspec.msgpack.Encoder().encode


def main() -> None:
    """Answer until the input ends."""
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
    found = extract_page(task)
    if isinstance(found, NoFullText):
        return found
    html = clean_html(found.html, base=task.url, max_chars=task.max_chars, max_depth=task.max_depth)
    words = count_words(html)
    return replace(found, html=html, words=words) if words else NoFullText(reason="no-text")


def _limit_memory(more_mb: int) -> None:
    """So much beyond what the interpreter and the libraries take."""
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
