"""Early exits of a command."""

import signal

import pytest

from feedmill.interfaces.cli.exit import ctrl_c_ends_prompt
from feedmill.interfaces.cli.run_command import run_async


def test_one_ctrl_c_ends_a_prompt_inside_the_event_loop() -> None:
    answers = []

    async def ask() -> None:
        with ctrl_c_ends_prompt():
            signal.raise_signal(signal.SIGINT)  # while the prompt waits for a line
            answers.append("the prompt waits on")

    with pytest.raises(SystemExit) as leaving:
        run_async(ask)

    assert (leaving.value.code, answers) == (130, [])
