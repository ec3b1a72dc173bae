"""The worker that reads attacks: a child process, and one fork of it per attack.

Each line of its input is a JSON request; each line of its output is what happened. The fork has a
ceiling on its address space, and an audit hook that writes down every file and socket which the
interpreter was asked to open while the document was read. What a C library opens behind the
interpreter's back is for the canaries of the parent to notice.
"""

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from feedmill.model.entry import NormalisedFeed
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.normalise.entry import normalise
from feedmill.parse.document import parse_document

_ADDRESS_SPACE: Final = 1024**3
_NEXT: Final = b'<rss version="2.0"><channel><item><title>next</title></item></channel></rss>'
_URL: Final = "https://example.org/feed"


def main() -> None:
    """Answer requests until there are no more."""
    _read(RawDocument(body=_NEXT, url=_URL))  # everything that is imported late is imported now
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_in_a_fork(json.loads(line))) + "\n")
        sys.stdout.flush()


def _in_a_fork(request: dict[str, Any]) -> dict[str, Any]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w", encoding="utf-8") as answer:
            answer.write(json.dumps(_attack(request)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if status == 0 and text else {"crashed": status}


def _attack(request: dict[str, Any]) -> dict[str, Any]:
    case = json.loads(Path(request["case"]).read_text(encoding="utf-8"))
    names: dict[str, Callable[[str, str], bytes]] = {}
    exec(case["generator"]["code"], names)
    body = names["gen"](request["canary_file"], request["canary_url"])
    document = RawDocument(body=body, url=_URL, content_type=case["content_type"])
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    opened = _watch()
    try:
        answer = _told(_read(document))
        answer["next"] = _told(_read(RawDocument(body=_NEXT, url=_URL)))["titles"]
    except BaseException as error:  # noqa: BLE001  # the parent asserts that there was none
        return {"crashed": f"{type(error).__name__}: {error}"[:500]}
    return {**answer, "opened": list(opened), "size": len(body)}


def _watch() -> list[str]:
    """A list that grows with every file or socket opened, but for the imports of Python itself."""
    opened: list[str] = []
    imports = tuple({path for path in sys.path if path} | {sys.prefix, sys.base_prefix})

    def notice(event: str, details: tuple[object, ...]) -> None:
        if event == "open" and not str(details[0]).startswith(imports):
            opened.append(f"{event} {details[0]}")
        elif event.startswith(("socket.", "subprocess.", "urllib.", "ctypes.dlopen")):
            opened.append(event)

    sys.addaudithook(notice)
    return opened


def _read(document: RawDocument) -> NormalisedFeed | Unreadable:
    parsed = parse_document(document)
    return normalise(parsed, url=document.url) if isinstance(parsed, ParsedFeed) else parsed


def _told(feed: NormalisedFeed | Unreadable) -> dict[str, Any]:
    if isinstance(feed, Unreadable):
        return {"unreadable": feed.reason, "titles": [], "stored": "", "longest": 0}
    entries = msgspec.to_builtins(feed.entries)
    return {
        "titles": [entry.title for entry in feed.entries[:10]],
        "entries": len(feed.entries),
        "stored": "\n".join(_texts(entries))[:1_000_000],
        "longest": max(map(len, _texts(entries)), default=0),
    }


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in _texts(part)]
    return []


if __name__ == "__main__":
    main()
