"""Renders the OpenAPI document as one HTML page without external assets."""
# Tested in tests/integration/interfaces/rest/

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from typing import Any, Final

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff;color-scheme:light dark}h1{font-size:1.6rem}h2{border-bottom:1px solid #ccc;"
    "margin-top:2.5rem}summary{cursor:pointer;padding:.25rem 0}code{font:14px ui-monospace,"
    "monospace;background:#f3f3f3;padding:0 .25rem;overflow-wrap:anywhere}b{display:inline-block;min-width:4.5rem;"
    "color:#064}table{border-collapse:collapse;margin:.5rem 0 1rem 1rem}"
    "td{padding:.15rem .8rem .15rem 0;vertical-align:top}nav a{display:inline-block;margin-right:1rem}"
    "td:first-child code{overflow-wrap:normal;white-space:nowrap}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code{background:#2a2a2a}"
    "b{color:#7c9}a{color:#8bf}}"
)
_CODE: Final = re.compile("`([^`]+)`")
POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    f"style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
)


def render_openapi_page(document: dict[str, Any]) -> bytes:
    """The OpenAPI document as a page."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            group = (operation.get("tags") or ["other"])[0]
            groups.setdefault(group, []).append(_operation(method, path, operation))
    info = document["info"]
    links = "".join(f'<a href="#{escape(_anchor(name))}">{escape(name)}</a>' for name in groups)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width">',
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style>",
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>",
        f"<p>{_words(info['description'])}</p>",
        f'<nav>{links}<a href="#shapes">shapes</a><a href="/openapi.json">openapi.json</a></nav>',
    ]
    for name, operations in groups.items():
        parts += [f'<h2 id="{escape(_anchor(name))}">{escape(name)}</h2>', *operations]
    parts += ['<h2 id="shapes">shapes</h2>', *_shapes(document["components"]["schemas"])]
    return "\n".join(parts).encode()


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    scope = operation.get("x-scope")
    needs = f"needs the scope <code>{escape(scope)}</code>" if scope else "open"
    rows = [
        _row(
            f"{one['name']} ({one['in']})", _kind(one["schema"]), _words(one.get("description", ""))
        )
        for one in operation.get("parameters", ())
    ]
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        rows.append(_row("body", f"<code>{escape(kind)}</code>", _kind(body["schema"])))
    for status, answer in operation["responses"].items():
        kinds = " ".join(
            f"<code>{escape(kind)}</code> {_kind(one['schema'])}"
            for kind, one in answer.get("content", {}).items()
        )
        rows.append(_row(status, kinds, _words(answer["description"])))
    head = f"<b>{escape(method.upper())}</b> <code>{escape(path)}</code>"
    said = _words(operation.get("summary", ""))
    return (
        f"<details><summary>{head} {said}</summary><p>{needs}</p>"
        f"<table>{''.join(rows)}</table></details>"
    )


def _shapes(schemas: dict[str, Any]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        required = set(schema.get("required", ()))
        rows = [
            _row(key, _kind(value), "" if key in required else "optional")
            for key, value in schema.get("properties", {}).items()
        ]
        said = escape(schema.get("description", "").split("\n")[0])
        yield (
            # A browser opens what is closed around the place that a link leads to.
            f"<details><summary><code>{escape(name)}</code> {said}</summary>"
            f'<table id="{escape(name)}">{"".join(rows)}</table></details>'
        )


def _row(name: str, kind: str, words: str) -> str:
    """A table row; `kind` and `words` are HTML."""
    return f"<tr><td><code>{escape(name)}</code><td>{kind}<td>{words}"


def _words(text: str) -> str:
    """Text as HTML; text between backticks becomes code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _kind(schema: dict[str, Any]) -> str:
    """A short description of a schema."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " ".join(f"<code>{escape(str(one))}</code>" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items') or {})}"
    return escape(str(schema.get("format") or schema.get("type") or "anything"))


def _anchor(name: str) -> str:
    return name.replace(" ", "-")
