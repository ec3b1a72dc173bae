"""The door for agents is an extra: who lacks it learns how to get it."""

import sys

import pytest

from feedmill.errors import MissingExtraError
from feedmill.interfaces.cli.commands.servers.mcp import parse_listen_address
from feedmill.interfaces.cli.servers import load_mcp


def test_without_the_extra_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)

    with pytest.raises(MissingExtraError) as missing:
        load_mcp()

    assert "feedmill[mcp]" in missing.value.hint


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:8643", ("127.0.0.1", 8643)),
        (":0", ("127.0.0.1", 0)),
        ("8643", ("127.0.0.1", 8643)),
        ("[::1]:8643", ("[::1]", 8643)),
    ],
)
def test_a_place_is_an_address_and_a_port(text: str, place: tuple[str, int]) -> None:
    assert parse_listen_address(text) == place
