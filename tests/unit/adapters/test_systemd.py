"""Words to systemd, taken by a real datagram socket."""

import socket
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.adapters.systemd import SystemdNotifier


def listening(address: str) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.bind(address)
    line.settimeout(HANG_GUARD_SEC)
    return line


def test_words_arrive_in_one_datagram_and_no_word_breaks_its_line(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with listening(path) as line:
        taken = SystemdNotifier({"NOTIFY_SOCKET": path}, 1).notify(
            "READY=1", "STATUS=a\nSTOPPING=1"
        )

        assert taken
        assert line.recv(4096) == b"READY=1\nSTATUS=a STOPPING=1"


def test_an_abstract_address_is_spoken_to_as_systemd_writes_it(tmp_path: Path) -> None:
    name = f"feedmill-test-{tmp_path.name}"
    with listening(f"\0{name}") as line:
        assert SystemdNotifier({"NOTIFY_SOCKET": f"@{name}"}, 1).notify("WATCHDOG=1")
        assert line.recv(4096) == b"WATCHDOG=1"


def test_signs_of_life_fill_the_queue_of_a_slow_supervisor_and_no_other_message_is_lost(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "notify")
    notifier = SystemdNotifier({"NOTIFY_SOCKET": path}, 1, patience_sec=HANG_GUARD_SEC)
    with listening(path) as line, ThreadPoolExecutor(1) as pool:
        while notifier.notify("WATCHDOG=1"):
            pass
        stopping = pool.submit(notifier.notify, "STOPPING=1")
        done, _ = wait([stopping], timeout=0.2)  # time to be dropped, if it were
        assert not done
        while line.recv(4096) != b"STOPPING=1":
            pass

        assert stopping.result()


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": "/nowhere/at/all"}])
def test_where_nobody_listens_nothing_happens(environment: dict[str, str]) -> None:
    assert not SystemdNotifier(environment, 1).notify("READY=1")


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
    ids=["asked", "asked of us", "asked of another", "off", "nonsense", "not asked"],
)
def test_the_watchdog_is_fed_only_where_it_is_asked_for(
    environment: dict[str, str], seconds: float | None
) -> None:
    line = SystemdNotifier({"NOTIFY_SOCKET": "/run/notify", **environment}, 7)

    assert line.watchdog_sec == seconds
