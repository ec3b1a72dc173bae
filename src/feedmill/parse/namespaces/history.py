"""fh: and at: — feed paging and archiving (RFC 5005), and deleted entries (RFC 6721)."""

from typing import Final

from lxml import etree

from feedmill.model.parsed import Tombstone
from feedmill.parse.formats.atom import Handler, read_person
from feedmill.parse.xml.elements import Draft, ElementScope, text_of
from feedmill.parse.xml.names import name_of


def _complete(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft.put("complete", True)  # noqa: FBT003


def _archive(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft.put("archive", True)  # noqa: FBT003


def _deleted(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    ref = (element.get("ref") or "").strip()
    if not ref:
        return
    by, comment = None, None
    for child in element:
        name = name_of(child)
        if name == "at:by":
            by = read_person(child, scope)
        elif name == "at:comment":
            comment = text_of(child)
    tombstone = Tombstone(ref=ref, when=element.get("when"), by=by, comment=comment)
    draft.add("tombstones", tombstone, scope)


FEED: Final[dict[str, Handler]] = {
    "fh:complete": _complete,
    "fh:archive": _archive,
    "at:deleted-entry": _deleted,
}
