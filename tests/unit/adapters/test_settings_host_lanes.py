"""The setting for big hosts is checked when it is read."""

import pytest

from feedmill.adapters.settings import load_config
from feedmill.errors import ConfigError


def test_big_hosts_come_as_a_list_from_the_environment() -> None:
    config = load_config(None, {"FEEDMILL_HOST_LANES": "a.example=2, b.example=3"})

    assert config.host.lanes == ("a.example=2", "b.example=3")


def test_a_big_host_without_a_number_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"\[host\] lanes 'a\.example' is not valid"):
        load_config(None, {"FEEDMILL_HOST_LANES": "a.example"})
