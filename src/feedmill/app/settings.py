"""Settings and logging of a process, read from the environment and the files that it names."""
# Tested in tests/integration/interfaces/cli/

import getpass
import os
import socket
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import json

from feedmill.adapters import settings
from feedmill.adapters.clock import SystemClock
from feedmill.config import Config, DiscoveryConfig
from feedmill.errors import ConfigError
from feedmill.observe import log

if TYPE_CHECKING:
    from feedmill.canonicalise.discovery.platforms import PlatformRules

_LEVELS: Final = {-1: "error", 0: "warning", 1: "info", 2: "debug"}


def load_config(path: Path | None = None, home: str | None = None) -> Config:
    """Load the settings; `home` from the command line overrides file and environment."""
    own = {} if home is None else {"FEEDMILL_HOME": home}
    return settings.load_config(path, os.environ | own)


def set_up_logging(verbose: int, *, as_json: bool) -> None:
    """Warnings by default, one line per refresh with -v, everything with -vv, errors with -1."""
    named = os.environ.get("FEEDMILL_LOG", "")
    level = named if named in log.LOG_LEVELS else _LEVELS[min(verbose, 2)]
    log.set_up(level, as_json=as_json or os.environ.get("FEEDMILL_LOG_JSON") == "1")


def config_reference() -> list[dict[str, str]]:
    """Every setting with its variable, default and allowed values."""
    return [
        {
            "part": part,
            "field": field.name,
            "variable": settings.environment_name(part, field.name),
            "default": json.encode(field.default).decode(),
            "allowed": settings.allowed_values(field.type),
        }
        for part in settings.section_names()
        for field in settings.fields_of(part)
    ]


def load_rules(config: DiscoveryConfig) -> "PlatformRules | None":
    """The platform rules of the file that the settings name, before the shipped ones; None when they name none."""
    path = config.rules_file
    if path is None:
        return None
    from feedmill.canonicalise.discovery.platforms import (  # noqa: PLC0415  # not for every command
        read_rules,
        shipped_rules,
    )

    try:
        return shipped_rules().after(read_rules(Path(path).read_text("utf-8")))
    except OSError as problem:
        raise ConfigError([f"{path}: cannot be read ({problem.strerror})"]) from problem
    except ValueError as problem:
        lines = str(problem).splitlines()
        raise ConfigError([f"{path}: {line}" for line in lines]) from problem


def owner_name() -> str:
    """The name under which this process leases lanes: host, random part and process id.

    Containers number their processes from 1 and may share the name of their machine.
    """
    return f"{socket.gethostname()}/{SystemClock().new_secret()[:4]}:{os.getpid()}"


def user_name() -> str:
    """The name of the account that this process runs under."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, in a container say
        return "unknown"


def current_time() -> datetime:
    """The current time, for commands without services."""
    return SystemClock().now()
