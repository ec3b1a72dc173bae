"""Software bill of materials (CycloneDX 1.5) and licence list of every locked package.

    python tools/sbom.py sbom dist/feedmill.cdx.json
    python tools/sbom.py licences docs/reference/licences.md

Names, versions and hashes come from requirements.txt, licences from the metadata of the installed packages. The same lock file
gives the same bytes: no time and no random number is in them.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5

ROOT: Final = Path(__file__).parents[1]
LOCK: Final = ROOT / "requirements.txt"
_PACKAGE: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_CLASSIFIER: Final = "License :: "
_UNKNOWN: Final = "not stated"
_PAGE: Final = """# Licences of all dependencies

Every package of `requirements.txt`, with the licence that its own metadata states. `make licences` writes this page; `make sbom` writes the
same as CycloneDX, with versions and hashes. What each package is for: [dependencies](../explanation/dependencies.md).

| package | licence |
|---|---|
"""


class Package(NamedTuple):
    """One locked package."""

    name: str
    version: str
    hashes: tuple[str, ...]


def locked_packages(text: str) -> Iterator[Package]:
    """The packages of a lock file, in its order."""
    for block in re.split(r"\n(?=\S)", text):
        found = _PACKAGE.match(block)
        if found:
            yield Package(found[1].lower(), found[2], tuple(sorted(_HASH.findall(block))))


def licence_of(name: str) -> str:
    """The licence that the metadata of an installed package states, in one line."""
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return _UNKNOWN
    expression = _first(found, "License-Expression")
    if expression:
        return expression
    classifiers = [
        one.rpartition(" :: ")[2]
        for one in found.get_all("Classifier") or ()
        if one.startswith(_CLASSIFIER)
    ]
    if classifiers:
        return " / ".join(sorted(set(classifiers)))
    stated = _first(found, "License").strip().splitlines()
    return stated[0][:80] if stated else _UNKNOWN


def sbom(packages: list[Package], version: str) -> dict[str, Any]:
    """The bill of materials of this version of feedmill."""
    serial = uuid5(NAMESPACE_URL, json.dumps([version, packages]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/feedmill@{version}",
                "name": "feedmill",
                "version": version,
                "purl": f"pkg:pypi/feedmill@{version}",
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": [_component(one) for one in packages],
    }


def licence_page(packages: list[Package]) -> str:
    """The list as a page of the documentation."""
    rows = "".join(f"| `{one.name}` | {licence_of(one.name)} |\n" for one in packages)
    return _PAGE + rows


def _first(found: metadata.PackageMetadata, name: str) -> str:
    return str((found.get_all(name) or [""])[0])


def _component(package: Package) -> dict[str, Any]:
    purl = f"pkg:pypi/{package.name}@{package.version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "purl": purl,
        "licenses": [{"license": {"name": licence_of(package.name)}}],
        "hashes": [{"alg": "SHA-256", "content": one} for one in package.hashes],
    }


def main(kind: str, path: str) -> None:
    """Write one of the two."""
    packages = list(locked_packages(LOCK.read_text("utf-8")))
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if kind == "licences":
        text = licence_page(packages)
    else:
        version = metadata.version("feedmill")
        text = json.dumps(sbom(packages, version), indent=2, sort_keys=True) + "\n"
    target.write_text(text, "utf-8")
    print(f"{target}: {len(packages)} packages")


if __name__ == "__main__":
    main(*sys.argv[1:3])
