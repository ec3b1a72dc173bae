"""What people paste, end to end: the feed that comes of it, the requests it costs, the first line printed.

`feedmill add` with its real fetcher: names from a name server, TCP, TLS with server names, real redirects. The
requests are those that the servers saw.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import Mill
from tests.support.pasted_web import pasted_web
from tools.loopback_web import LoopbackWeb

TABLE = Path(__file__).with_name("pasted_inputs.txt")
ROWS = [line.split(" | ") for line in TABLE.read_text("utf-8").splitlines() if line]
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_COUNTED = re.compile(r"\((\d+) requests?\)")


def test_every_pasted_input_leads_where_the_table_says(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill.setenv(FEEDMILL_EGRESS_ALLOW_CIDRS="", FEEDMILL_FETCH_RETRY_WAIT_MS="1")
    with pasted_web().served(monkeypatch) as web:
        mill.setenv(FEEDMILL_FETCH_CA_FILE=web.fetching().ca_file or "")
        seen = [_pasted(row[0], number, mill, web) for number, row in enumerate(ROWS)]

    assert len(ROWS) >= 250
    assert seen == ROWS


def _pasted(address: str, number: int, mill: Mill, web: LoopbackWeb) -> list[str]:
    """One row: the input, the feed or the reason, the requests, the first line."""
    web.clear()  # hundreds of rows: each would read the requests of all before it
    mill.setenv(FEEDMILL_HOME=str(mill.folder / str(number)))
    written = address.replace("\\n", "\n").replace("\\t", "\t")
    said = mill("add", written)
    requests = len(web.visits)
    first = (said.text or said.err).splitlines()[0]
    if said.status == 0:
        outcome = first.rpartition("  ")[2]
        handshakes = int(outcome.startswith("http:"))  # that failed: its host has no https
        assert [int(count) for count in _COUNTED.findall(said.text)] == [requests + handshakes]
    else:
        told = mill("add", written, "--json")
        shape = told.json if told.out else {"error": told.error}
        outcome = f"refused: {shape['error']['code']}" if "error" in shape else _choices(shape)
    return [address, outcome, str(requests), _ID.sub("ID", first)]


def _choices(shape: dict[str, Any]) -> str:
    return f"choices: {len(shape['choices'])}"
