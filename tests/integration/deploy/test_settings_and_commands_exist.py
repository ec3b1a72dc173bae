"""Everything that the files call by name exists: settings, commands and their options."""

from pathlib import Path

import pytest
from tests.support.deploy_files import (
    COMPOSE,
    commands,
    make_secrets,
    parses,
    services,
    variables,
)

from feedmill.adapters.settings import load_config

COMMANDS = dict(commands())
PLACES = [place for place, _ in variables(Path())]


@pytest.mark.parametrize("place", PLACES)
def test_feedmill_takes_every_variable_that_it_is_given(place: str, tmp_path: Path) -> None:
    given = dict(variables(make_secrets(tmp_path / "secrets")))[place]

    config = load_config(environment=given)

    assert config.store.home == "/var/lib/feedmill"
    assert (config.store.url is None) == ("FEEDMILL_STORE_URL_FILE" not in given)
    assert (config.bus.url is None) == ("FEEDMILL_BUS_URL_FILE" not in given)


@pytest.mark.parametrize("place", COMMANDS)
def test_every_command_exists_with_its_options(place: str) -> None:
    assert parses(COMMANDS[place]).name == COMMANDS[place][0]


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_every_port_leads_to_where_feedmill_listens(path: Path) -> None:
    ports = [
        port
        for one in services(path).values()
        for port in one.get("ports", ())
        if "profiles" not in one  # Prometheus and Grafana have ports of their own
    ]

    assert ports == ["127.0.0.1:${PORT:-8642}:8642"]
