"""feedparser's test suite: its cases, and how one of its assertions is put to our parser.

A case is a feed with a comment in front of it: a description, an expected expression over feed,
entries, bozo, encoding and version, and HTTP headers where it needs some. The expression is cut
at its `and`s; each part is one assertion.
"""

import ast
import re
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from tools.feedparser_fields import MODELLED, UNMODELLED
from tools.feedparser_values import Anything, Notes
from tools.feedparser_view import document_view

from feedmill.canonicalise.urls import http_url
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.parse.document import parse_document
from feedmill.parse.input.encoding_labels import encoding_of_label

Outcome = Literal["holds", "fails", "not-modelled", "policy", "no-assertion"]

_SERVER: Final = "http://127.0.0.1:8097/tests/"
_EXPECT: Final = re.compile(rb"Description:\s*(.*?)\s*Expect:\s*(.*)\s*-->")
_HEADER: Final = re.compile(rb"^Header:\s+([^:]+):(.+)$", re.MULTILINE)
_LABEL: Final = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([^"']+)""")
_ROOT: Final = re.compile(rb"<([A-Za-z][\w:.-]*)")
_MARKUP: Final = re.compile(rb"&lt;|<!\[CDATA")
_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)
_WIDE: Final = (
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\x00\x3c", "utf-32-be"),
    (b"\x3c\x00\x00\x00", "utf-32-le"),
    (b"\xfe\xff", "utf-16"),
    (b"\xff\xfe", "utf-16"),
    (b"\x00\x3c\x00\x3f", "utf-16-be"),
    (b"\x3c\x00\x3f\x00", "utf-16-le"),
    (b"\x4c\x6f\xa7\x94", "cp037"),
)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One document of the suite with what is expected of it."""

    path: str
    body: bytes
    plain: bytes  # the body in an ASCII-compatible encoding
    headers: dict[str, str]
    expected: str

    @property
    def folder(self) -> str:
        """Where in the suite the case stands."""
        return self.path.rpartition("/")[0]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one assertion."""

    path: str
    assertion: str
    outcome: Outcome
    reason: str = ""
    ours: str = ""  # what stands on the left-hand side, where it differs


def read_cases(tests: Path) -> list[Case]:
    """Every case of the suite that states an expectation, in the order of their names."""
    found = (_read_case(path, tests) for path in sorted(tests.rglob("*.xml")))
    return [case for case in found if case is not None]


def judge(case: Case) -> list[Verdict]:
    """One verdict per assertion of the case."""
    parsed = parse_document(
        RawDocument(
            body=case.body, url=_address(case), content_type=case.headers.get("content-type")
        )
    )
    parts = _assertions(case.expected)
    if not parts:
        return [_verdict(case, case.expected, "no-assertion", "asserts only that nothing breaks")]
    return [_judge_part(case, part, parsed, alone=len(parts) == 1) for part in parts]


def _read_case(path: Path, tests: Path) -> Case | None:
    body = path.read_bytes()
    plain = body
    for mark, codec in _WIDE:
        if body.startswith(mark):
            plain = body.decode(codec, "replace").lstrip("\ufeff").encode()
            break
    found = _EXPECT.search(plain)
    if found is None:
        return None
    headers = _HEADER.findall(plain)
    return Case(
        path=path.relative_to(tests).as_posix(),
        body=body,
        plain=plain,
        headers={name.decode().strip().lower(): value.decode().strip() for name, value in headers},
        expected=found[2].decode().strip(),
    )


def _address(case: Case) -> str | None:
    """feedparser serves the cases with `http` in their name, and opens the others as files."""
    url = _SERVER + case.path if "http" in case.path else None
    location = case.headers.get("content-location")
    return (http_url(location, url) if location else None) or url


def _assertions(expected: str) -> list[ast.expr]:
    body = ast.parse(expected, mode="eval").body
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    return [part for part in parts if not isinstance(part, ast.Constant)]


def _judge_part(
    case: Case, part: ast.expr, parsed: ParsedFeed | Unreadable, *, alone: bool
) -> Verdict:
    source = ast.unparse(part)
    notes = Notes()
    held = _evaluate(part, parsed, notes)
    reason = _not_modelled(notes, alone=alone) or _not_comparable(case, notes, source)
    if reason is not None:
        return _verdict(case, source, "not-modelled", reason)
    if held:
        return _verdict(case, source, "holds")
    if notes.policy is not None:
        return _verdict(case, source, "policy", notes.policy)
    return Verdict(
        path=case.path,
        assertion=source,
        outcome="fails",
        reason=_explain(case, notes, source, parsed),
        ours=_left_side(part, parsed),
    )


def _left_side(part: ast.expr, parsed: ParsedFeed | Unreadable) -> str:
    left = part.left if isinstance(part, ast.Compare) else part
    return repr(_evaluate(left, parsed, Notes()))


def _evaluate(part: ast.expr, parsed: ParsedFeed | Unreadable, notes: Notes) -> object:
    """What the expression is of our values; it may call no function but a few plain ones."""
    for node in ast.walk(part):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            return None
    code = compile(ast.Expression(part), "expectation", "eval")
    try:
        return eval(code, {"__builtins__": {}}, _Names(document_view(parsed, notes)))
    except (KeyError, IndexError, AttributeError, TypeError, NameError, ValueError):
        return None


class _Names(dict[str, Any]):
    """The names of an expression: the document's own, then the few functions it may call."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__()
        self._document = document

    def __missing__(self, name: str) -> Anything:
        return _FUNCTIONS[name] if name in _FUNCTIONS else self._document[name]


_FUNCTIONS: Final[dict[str, Any]] = {
    "len": len,
    "str": str,
    "ord": ord,
    "isinstance": isinstance,
    "all": all,
    "any": any,
    "list": list,
    "dict": dict,
    "tuple": tuple,
    "map": map,
}


def _not_modelled(notes: Notes, *, alone: bool) -> str | None:
    for key in notes.touched:
        kind, _, name = key.partition(".")
        if name not in MODELLED[kind]:
            return UNMODELLED.get(key, f"{key}: feedmill has no such field")
    if "document.bozo" in notes.touched and not alone:
        return "bozo beside another assertion is a guard; it counts where it stands alone"
    return None


def _not_comparable(case: Case, notes: Notes, source: str) -> str | None:
    """Differences that were decided, found by rule and not by the name of a case."""
    label = _declared_label(case)
    if label is not None and encoding_of_label(label) is None:
        return "a label that the web does not know is never obeyed (D15)"
    root = _ROOT.search(_COMMENT.sub(b"", case.plain))
    if root is not None and root[1].lower() == b"channel" and b"xmlns" not in case.plain:
        return "CDF is no format of ours (D17)"
    if "content-language" in case.headers and any("language" in key for key in notes.touched):
        return "the parser is handed the content type only; headers belong to fetch/"
    if "document.bozo" in notes.touched and "content-type" in case.headers:
        return "feedparser doubts documents by their Content-Type; we read the bytes (R01)"
    if "us-ascii" in source and b"us-ascii" not in case.plain.split(b"-->", 1)[-1]:
        return "RFC 7303 dropped the us-ascii default of text/xml"
    return None


def _declared_label(case: Case) -> str | None:
    header = re.search(r"charset=[\"']?([\w-]+)", case.headers.get("content-type", ""))
    if header is not None:
        return header[1]
    found = _LABEL.search(case.plain)
    return found[1].decode("ascii", "replace") if found else None


def _explain(case: Case, notes: Notes, source: str, parsed: ParsedFeed | Unreadable) -> str:
    """Why it does not hold; "gap" where feedparser is right and we are not there yet."""
    if isinstance(parsed, Unreadable):
        return f"gap: unreadable, {parsed.reason}"
    for touched, needle, reason in _DELIBERATE:
        if any(key.endswith(touched) for key in notes.touched) and needle in case.plain:
            return reason
    if "ord(" in source:
        return "text that was encoded twice is not guessed at"
    if "\ufffd" in case.body.decode("utf-8", "replace"):
        return "a few damaged bytes are replaced; the rest stays the UTF-8 it is"
    return notes.reason if notes.reason and _MARKUP.search(case.plain) else "gap"


# The end of a key that was touched, bytes that stand in the case, and what was decided.
_DELIBERATE: Final = (
    (".itunes_block", b"", "Apple writes Yes, and means it in any case"),
    (".itunes_explicit", b"", "Apple writes true and false; feedparser knows yes and clean only"),
    (".id", b"<!ENTITY", "entities that a DOCTYPE declares are never expanded (D16)"),
    (".id", b"", "an id is compared as it was written and never resolved (RFC 4287 4.2.6.1)"),
    ("_parsed", b"", "of two dates the first counts"),
    (".where", b"srs", "other systems than WGS 84 and elevations are left out"),
    (".encoding", b"", "a guess below a confidence of 0.8 is no answer (D15)"),
    (".version", b"", "an RSS without a version is read as 2.0"),
    (".tags", b"<tags>", "no format has an element of that name; its text is in ext"),
    (".rel", b"<enclosure", "links and enclosures are two lists; their common order is not kept"),
    ("link.type", b"", "a type that the publisher did not give is not invented"),
    ("link.href", b'href=""', "an empty reference is no address"),
    (".links", b'href=""', "an empty reference is no address"),
    ("entry.content", b"<summary>", "a second description is not made a content"),
    ("entry.summary", b"<summary>", "the description is the summary, whatever stands beside it"),
    ("feed.title", b"rang;", "HTML 5 has other characters for lang and rang than HTML 4"),
    ("feed.title", b"&lang;", "HTML 5 has other characters for lang and rang than HTML 4"),
)


def _verdict(case: Case, assertion: str, outcome: Outcome, reason: str = "") -> Verdict:
    return Verdict(path=case.path, assertion=assertion, outcome=outcome, reason=reason)
