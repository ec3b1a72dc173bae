"""Builds the OpenAPI 3.1 document from the routes, and renders it as one HTML page without external assets.

Litestar lists paths and parameters; schemas come from msgspec, which also validates them; the
`RouteDescription` of each route adds bodies, responses, problems and scopes. Tests check the
document against the running server.
"""
# Tested in tests/integration/interfaces/rest/

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from typing import Any, Final, NamedTuple, get_origin

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from feedmill.interfaces.rest.auth import BASIC, SCOPE
from feedmill.interfaces.rest.problems import MEDIA_TYPE, PROBLEM_KINDS
from feedmill.interfaces.rest.responses import NDJSON
from feedmill.publish.shapes import Problem
from feedmill.version import __version__

DESCRIPTION: Final = "described"


class RouteDescription(NamedTuple):
    """Request and response bodies of a route, for the OpenAPI document."""

    gives: Any = None  # a shape; None: no body
    body: Any = None  # the shape of the request's body
    status: int = 200
    media_type: str = "application/json"
    takes: tuple[str, ...] = ("application/json",)
    lines: bool = False  # NDJSON on request
    problems: tuple[str, ...] = ()
    conditional: bool = False  # 304


_REF: Final = "#/components/schemas/{name}"
_BINARY: Final = {"type": "string", "format": "binary"}
_TEXT: Final = {"type": "string"}
_PLAIN: Final[dict[Any, dict[str, Any]]] = {bytes: _BINARY, str: _TEXT, dict: {"type": "object"}}
_ABOUT: Final = (
    "Feeds, entries and events of feedmill. Every list is paginated with an opaque cursor, or sent"
    " whole as NDJSON with `Accept: application/x-ndjson`. Every error is an RFC 9457 problem"
    " document with a stable type. Create tokens with `feedmill token create`."
)
# Any route may answer with these, whatever it describes.
_ALWAYS: Final = ("bad-request", "bad-parameter", "bad-host", "surprise", "store-unavailable")
_WITH_TOKEN: Final = ("unauthenticated", "forbidden", "rate-limited")
_WITH_BODY: Final = ("too-slow", "too-large", "unsupported-media-type", "cross-origin")


def openapi_document(app: Litestar) -> dict[str, Any]:
    """The OpenAPI document."""
    found = app.openapi_schema.to_schema()
    shapes: list[Any] = [Problem]
    for handler, operation in _operations(app, found):
        described: RouteDescription = handler.opt[DESCRIPTION]
        shapes += [one for one in (described.gives, described.body) if _is_shape(one)]
        _complete(operation, described, handler)
    _, schemas = msgspec.json.schema_components(shapes, ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "feedmill",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": found["paths"],
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "fm_…"},
                "reader": {"type": "http", "scheme": "basic"},
            },
        },
    }


def _operations(
    app: Litestar, found: dict[str, Any]
) -> Iterator[tuple[HTTPRouteHandler, dict[str, Any]]]:
    """Each route with a description, and the operation that Litestar generated for it."""
    by_id = {
        operation["operationId"]: operation
        for path in found["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict)
    }
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            name = getattr(handler, "operation_id", None)
            if DESCRIPTION in handler.opt and isinstance(name, str) and name in by_id:
                yield handler, by_id.pop(name)


def _complete(
    operation: dict[str, Any], described: RouteDescription, handler: HTTPRouteHandler
) -> None:
    scope = handler.opt.get(SCOPE)
    operation["responses"] = _responses(described, has_scope=scope is not None)
    operation["parameters"] = [_parameter(one) for one in operation.get("parameters", ())]
    if described.body is not None:
        schema = _schema(described.body)
        content = {kind: {"schema": _schema_for(kind, schema)} for kind in described.takes}
        operation["requestBody"] = {"required": True, "content": content}
    if scope is None:
        operation["security"] = []
    else:
        ways = ["token", "reader"] if handler.opt.get(BASIC) else ["token"]
        operation["security"] = [{way: []} for way in ways]
        operation["x-scope"] = scope
    operation["summary"] = handler.summary or handler.fn.__doc__
    for noise in ("deprecated", "description"):
        operation.pop(noise, None)


def _responses(described: RouteDescription, *, has_scope: bool) -> dict[str, Any]:
    answers: dict[str, Any] = {str(described.status): _answer(described)}
    if described.status == 201:
        answers["200"] = {**_answer(described), "description": "It already exists."}
    if described.conditional:
        answers["304"] = {"description": "Not modified."}
    codes = [
        *_ALWAYS,
        *(_WITH_TOKEN if has_scope else ()),
        *(_WITH_BODY if described.body is not None else ("cross-origin",)),
        *described.problems,
    ]
    if "not-found" not in codes:
        codes.append("no-such-route")
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(PROBLEM_KINDS[code].status, []).append(code)
    for status in sorted(by_status):
        answers[str(status)] = _problem(by_status[status])
    return answers


def _answer(described: RouteDescription) -> dict[str, Any]:
    words = {
        201: "Created.",
        202: "Accepted: the feed is scheduled for the next poll.",
        204: "Deleted.",
    }
    answer: dict[str, Any] = {"description": words.get(described.status, "OK.")}
    if described.gives is None:
        return answer
    kind = described.media_type.partition(";")[0]
    answer["content"] = {kind: {"schema": _schema(described.gives)}}
    if described.lines:
        answer["content"][NDJSON] = {"schema": _TEXT}
    return answer


def _problem(codes: list[str]) -> dict[str, Any]:
    said = "; ".join(f"`{code}`: {PROBLEM_KINDS[code].title}" for code in codes)
    problem: dict[str, Any] = {
        "description": f"{said}.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}},
    }
    wait = {
        "description": "Seconds to wait before the next attempt.",
        "schema": {"type": "integer", "minimum": 0},
    }
    if PROBLEM_KINDS[codes[0]].status in (429, 503):
        problem["headers"] = {"Retry-After": wait}
    return problem


def _parameter(found: dict[str, Any]) -> dict[str, Any]:
    """A query parameter without the null type: a query string cannot hold null."""
    schema = dict(found["schema"])
    schema.pop("description", None)
    kinds = [one for one in schema.pop("oneOf", ()) if one.get("type") != "null"]
    shape = {**(kinds[0] if kinds else {}), **schema}
    if shape.get("type") == "array" and "maxLength" in shape:
        shape["maxItems"] = shape.pop("maxLength")
    told = {"name": found["name"], "in": found["in"], "required": found["required"]}
    if "description" in found:
        told["description"] = found["description"]
    return {**told, "schema": shape}


def _schema(shape: Any) -> dict[str, Any]:  # noqa: ANN401  # any type
    if shape in _PLAIN:
        return _PLAIN[shape]
    return {"$ref": _REF.format(name=shape.__name__)}


def _schema_for(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A subscription list is binary, except as JSON, where any value is allowed."""
    return {} if schema is _BINARY and media_type == "application/json" else schema


def _is_shape(one: Any) -> bool:  # noqa: ANN401  # any type
    return isinstance(one, type) and get_origin(one) is None and issubclass(one, msgspec.Struct)


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
