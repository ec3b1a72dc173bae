"""Settings from a TOML file and the environment, read once at the edge.

A file has one table per part ([schedule], [fetch], …); the environment wins over the file. A variable
with _FILE behind its name names a file that holds the value, for what is secret. Every mistake is
reported at once, each with its place, its value and what was expected.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from feedmill.config import Config
from feedmill.errors import ConfigError
from feedmill.fetch.guard import check_address
from feedmill.observe.log import LOG_LEVELS, mask_secrets
from feedmill.schedule.host_pace import lanes_by_host

CONFIG_NAME: Final = "feedmill.toml"
ENVIRONMENT_PREFIX: Final = "FEEDMILL_"

# Names that the seeds gave, and short ones; all others are FEEDMILL_<PART>_<FIELD>.
ENVIRONMENT: Final[dict[str, tuple[str, str]]] = {
    "FEEDMILL_HOME": ("store", "home"),
    "FEEDMILL_EGRESS_ALLOW_CIDRS": ("fetch", "allow_cidrs"),
    "FEEDMILL_EGRESS_ONLY_HOSTS": ("fetch", "only_hosts"),
    "FETCH_TIMEOUT_MS": ("fetch", "timeout_ms"),
    "MAX_BODY_BYTES": ("fetch", "max_body_bytes"),
    "SCHED_MIN_INTERVAL_SEC": ("schedule", "min_interval_sec"),
    "SCHED_MAX_INTERVAL_SEC": ("schedule", "max_interval_sec"),
    "SCHED_JITTER_RATIO": ("schedule", "jitter_ratio"),
    "HOST_MAX_CONCURRENCY": ("host", "max_concurrency"),
    "HOST_RPS": ("host", "rps"),
    "NORMALIZE_ENABLED": ("normalise", "enabled"),
    "HASH_SUMMARY_PREFIX_LEN": ("identify", "hash_summary_prefix_len"),
    "LINK_TRACKING_PARAMS": ("normalise", "link_tracking_params"),
    "SUMMARY_MAX_LEN": ("normalise", "summary_max_chars"),
    "MAX_XML_DEPTH": ("parse", "max_xml_depth"),
    "ALLOWED_ENCODINGS": ("parse", "allowed_encodings"),
    "ENCODING_CONFIDENCE_MIN": ("parse", "encoding_confidence_min"),
    "ENCODING_SAMPLE_SIZE": ("parse", "encoding_sample_size"),
}
# What platforms set for every program; our own name for the same thing wins.
OTHER_ENVIRONMENT: Final[dict[str, tuple[str, str]]] = {"DATABASE_URL": ("store", "url")}
# What OpenTelemetry calls our settings; a more particular name stands behind the general one.
OPENTELEMETRY: Final[dict[str, str]] = {
    "OTEL_SERVICE_NAME": "service_name",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "otlp_endpoint",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "otlp_endpoint",
}
_SAMPLERS: Final = {"always_on": "1", "always_off": "0"}
_NO_CELLS: Final = (
    "cells are no longer supported: feedmill uses one PostgreSQL database. Remove this setting and"
    " name that database in [store] url (FEEDMILL_STORE_URL). To move the subscriptions, run"
    " `feedmill export` with FEEDMILL_STORE_URL set to each old cell in turn, and `feedmill import`"
    " with it set to the new database. Stored entries are not moved"
)
# Settings of earlier versions, with what to do instead.
REMOVED: Final[dict[tuple[str, str], str]] = {
    ("store", "cells"): _NO_CELLS,
    ("store", "cells_file"): _NO_CELLS,  # FEEDMILL_STORE_CELLS_FILE
}
_BEHIND: Final = "_FILE"
_MOST_FILE_BYTES: Final = 65_536


def load_config(path: Path | None = None, environment: Mapping[str, str] = os.environ) -> Config:
    """The settings in force: defaults, then the file, then the environment."""
    mistakes: list[str] = []
    environment = _with_files(environment, mistakes)
    given: dict[str, dict[str, Any]] = {}
    for place, part, field, value in _from_file(path, environment, mistakes):
        _take(given, mistakes, place, part, field, value)
    for place, part, field, value in _from_environment(environment):
        _take(given, mistakes, place, part, field, value)
    config = Config(
        **{part: msgspec.convert(fields, _part_type(part)) for part, fields in given.items()}
    )
    mistakes += [*_contradictions(config), *_unknown_level(environment)]
    if mistakes:
        raise ConfigError(mistakes)
    return config


def environment_name(part: str, field: str) -> str:
    """The variable that sets a field."""
    for name, target in ENVIRONMENT.items():
        if target == (part, field):
            return name
    return f"{ENVIRONMENT_PREFIX}{part.upper()}_{field.upper()}"


@cache  # the types of all fields are looked up anew each time
def fields_of(part: str) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of one part, with their types and defaults."""
    return msgspec.structs.fields(_part_type(part))


@cache
def section_names() -> tuple[str, ...]:
    """The names of all parts, in the order of the file."""
    return tuple(field.name for field in msgspec.structs.fields(Config))


def allowed_values(kind: Any) -> str:  # noqa: ANN401  # a type
    """What a setting may be: its kind and its bounds, in words."""
    from msgspec import inspect  # noqa: PLC0415  # for mistakes only

    info = inspect.type_info(kind)
    if isinstance(info, inspect.UnionType):
        info = next(one for one in info.types if not isinstance(one, inspect.NoneType))
    match info:
        case inspect.Metadata(extra_json_schema={"description": str(words)}):
            return words
        case inspect.IntType():
            return f"a whole number{_bounds(info)}"
        case inspect.FloatType():
            return f"a number{_bounds(info)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.VarTupleType():
            return "a list of texts"
        case _:
            return "a text"


def _from_file(
    path: Path | None, environment: Mapping[str, str], mistakes: list[str]
) -> Iterator[tuple[str, str, str, object]]:
    chosen = path or _default_path(environment)
    if chosen is None:
        return
    try:
        tables = tomllib.loads(chosen.read_text("utf-8"))
    except OSError as problem:
        mistakes.append(f"{chosen}: cannot be read ({problem.strerror})")
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        mistakes.append(f"{chosen}: is not TOML ({problem})")
        return
    for part, fields in tables.items():
        if not isinstance(fields, dict):
            mistakes.append(
                f"{chosen}: {part} stands outside any table; put it under one of: {', '.join(section_names())}"
            )
            continue
        for field, value in fields.items():
            yield f"{chosen}: [{part}] {field}", part, field, value


def _default_path(environment: Mapping[str, str]) -> Path | None:
    named = environment.get("FEEDMILL_CONFIG")
    if named:
        return Path(named)
    found = [
        Path(CONFIG_NAME),
        Path(environment.get("FEEDMILL_HOME", "feedmill-data")) / CONFIG_NAME,
    ]
    return next((path for path in found if path.is_file()), None)


def _with_files(environment: Mapping[str, str], mistakes: list[str]) -> dict[str, str]:
    """The environment with the contents of the files that NAME_FILE names, as NAME."""
    found = dict(environment)
    for name, path in environment.items():
        plain = name.removesuffix(_BEHIND)
        if plain == name or not _is_variable(plain) or _is_variable(name) or name in _OTHER:
            continue
        del found[name]
        if plain in environment:
            mistakes.append(f"{plain} and {name} are both given; leave one of them out")
            continue
        try:
            with Path(path).open("rb") as file:
                found[plain] = file.read(_MOST_FILE_BYTES).decode("utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            words = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
            mistakes.append(f"{name}: {path} cannot be read ({words})")
            continue
        if not found[plain]:
            # "Not given" would be SQLite where a database was meant, and it would go unnoticed.
            mistakes.append(f"{name}: {path} is empty; write the value into it")
    return found


def _is_variable(name: str) -> bool:
    """True for a variable that sets a field."""
    if name in ENVIRONMENT or name in OTHER_ENVIRONMENT:
        return True
    part, _, field = name.removeprefix(ENVIRONMENT_PREFIX).lower().partition("_")
    is_known = part in section_names() and any(info.name == field for info in fields_of(part))
    return name.startswith(ENVIRONMENT_PREFIX) and is_known


def _from_environment(
    environment: Mapping[str, str],
) -> Iterator[tuple[str, str, str, object]]:
    for name, (part, field) in OTHER_ENVIRONMENT.items():
        if environment.get(name) and environment_name(part, field) not in environment:
            yield name, part, field, environment[name]
    yield from _from_opentelemetry(environment)
    for name, (part, field) in ENVIRONMENT.items():
        if name in environment:
            yield name, part, field, _spelled(environment[name], part, field)
    for name, value in environment.items():
        if not name.startswith(ENVIRONMENT_PREFIX) or name in ENVIRONMENT or name in _OTHER:
            continue
        part, _, field = name.removeprefix(ENVIRONMENT_PREFIX).lower().partition("_")
        yield name, part, field, _spelled(value, part, field)


def _from_opentelemetry(
    environment: Mapping[str, str],
) -> Iterator[tuple[str, str, str, object]]:
    """Settings of [observe] from the variables that OpenTelemetry has for every program."""
    off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if off or environment.get("OTEL_TRACES_EXPORTER", "").strip() == "none":
        return
    for name, field in OPENTELEMETRY.items():
        if environment.get(name):
            yield name, "observe", field, environment[name]
    sampler = environment.get("OTEL_TRACES_SAMPLER", "").strip().removeprefix("parentbased_")
    share = _SAMPLERS.get(sampler)
    if sampler == "traceidratio":
        share = environment.get("OTEL_TRACES_SAMPLER_ARG") or "1"
    if share is not None:
        ratio = _spelled(share, "observe", "trace_ratio")
        yield "OTEL_TRACES_SAMPLER", "observe", "trace_ratio", ratio


_OTHER: Final = frozenset(
    {
        "FEEDMILL_CONFIG",
        "FEEDMILL_CORPUS",
        "FEEDMILL_FAILPOINT",
        "FEEDMILL_LLM_KEY",
        "FEEDMILL_LLM_KEY_FILE",
        "FEEDMILL_LOG",
        "FEEDMILL_LOG_JSON",
        "FEEDMILL_SECRET_KEY",
        "FEEDMILL_SECRET_KEY_FILE",
    }
)


def _spelled(text: str, part: str, field: str) -> object:
    """Text from the environment in the shape of its field: lists are comma-separated."""
    default = getattr(getattr(Config(), part, None), field, None)
    if default is None and not text.strip():
        return None  # as compose files and shells spell "not given"
    if isinstance(default, tuple):
        return [item.strip() for item in text.split(",") if item.strip()]
    if isinstance(default, bool):
        return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}.get(
            text.strip().lower(), text
        )
    if isinstance(default, int | float):
        try:
            return float(text) if isinstance(default, float) else int(text)
        except ValueError:
            return text
    return text


def _take(
    given: dict[str, dict[str, Any]],
    mistakes: list[str],
    place: str,
    part: str,
    field: str,
    value: object,
) -> None:
    if part not in section_names():
        mistakes.append(
            f"{place}: there is no part {part!r}; the parts are: {', '.join(section_names())}"
        )
        return
    if (part, field) in REMOVED:
        mistakes.append(f"{place}: {REMOVED[part, field]}")
        return
    known = {info.name: info for info in fields_of(part)}
    if field not in known:
        mistakes.append(f"{place}: [{part}] has no setting {field!r}; it has: {', '.join(known)}")
        return
    try:
        msgspec.convert(value, known[field].type)
    except msgspec.ValidationError:
        shown = mask_secrets(repr(value))
        mistakes.append(
            f"{place}: invalid value {shown}: expected {allowed_values(known[field].type)}"
        )
        if place in OTHER_ENVIRONMENT:
            mistakes[-1] += (
                f"; unset {place}, or set {environment_name(part, field)}, which is preferred"
            )
        return
    given.setdefault(part, {})[field] = value


def _bounds(info: Any) -> str:  # noqa: ANN401  # IntType or FloatType, which are not imported
    least = f"above {info.gt:,}" if info.ge is None else f"at least {info.ge:,}"
    most = f"below {info.lt:,}" if info.le is None else f"at most {info.le:,}"
    return f", {least} and {most}"


def _contradictions(config: Config) -> list[str]:
    """Settings that are each fine and together make no sense."""
    found: list[str] = []
    schedule = config.schedule
    if schedule.min_interval_sec > schedule.max_interval_sec:
        found.append(
            f"[schedule] min_interval_sec {schedule.min_interval_sec} is above "
            f"max_interval_sec {schedule.max_interval_sec}"
        )
    if config.run.lease_sec * 1000 < config.fetch.timeout_ms + 5000:
        found.append("[run] lease_sec must outlast [fetch] timeout_ms by five seconds")
    try:
        check_address("192.0.2.1", allow_cidrs=config.fetch.allow_cidrs)
    except ConfigError as problem:
        found += [f"[fetch] {mistake}" for mistake in problem.mistakes]
    try:
        lanes_by_host(config.host)
    except ConfigError as problem:
        found += [f"[host] {mistake}" for mistake in problem.mistakes]
    return found


def _unknown_level(environment: Mapping[str, str]) -> list[str]:
    level = environment.get("FEEDMILL_LOG") or "info"
    if level in LOG_LEVELS:
        return []
    return [f"FEEDMILL_LOG: invalid value {level!r}: expected one of {', '.join(LOG_LEVELS)}"]


def _part_type(part: str) -> type[Any]:
    kind: type[Any] = type(getattr(Config(), part))
    return kind
