"""Reads the platform rules of a user, which are asked before the shipped ones."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_discover.py

from pathlib import Path
from typing import TYPE_CHECKING

from feedmill.config import DiscoveryConfig
from feedmill.errors import ConfigError

if TYPE_CHECKING:
    from feedmill.canonicalise.discovery.platforms import PlatformRules


def load_rules(config: DiscoveryConfig) -> "PlatformRules | None":
    """The rules of the file that the settings name, before the shipped ones; None when they name none."""
    if config.rules_file is None:
        return None
    from feedmill.canonicalise.discovery.platforms import (  # noqa: PLC0415  # not for every command
        read_rules,
        shipped_rules,
    )

    try:
        own = read_rules(Path(config.rules_file).read_text("utf-8"))
    except OSError as problem:
        raise ConfigError(
            [f"{config.rules_file}: cannot be read ({problem.strerror})"]
        ) from problem
    except ValueError as problem:
        lines = str(problem).splitlines()
        raise ConfigError([f"{config.rules_file}: {line}" for line in lines]) from problem
    return shipped_rules().after(own)
