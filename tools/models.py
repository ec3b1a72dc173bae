"""`make models`: thousands of random histories of a feed and of a hub, each compared with a model of it.

    python tools/models.py [--runs 5000] [--steps 15]

A feed's items come, change, go and get other ids while polls fail, are redirected, die and are repeated; a hub loses, doubles,
forges and reorders what it sends. It talks to loopback only and ends by itself; the exit code is 1 when the engine and a
model disagree, and the shortest history that shows it is printed.
"""

import argparse
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' own models

from tests.integration.engine.poll.test_refresh_model import FeedModel
from tests.integration.engine.push.test_push_model import HubModel


def main() -> int:
    """Run both models; 0 when neither disagreed."""
    parser = argparse.ArgumentParser(description="compare the engine with models of it")
    parser.add_argument("--runs", type=int, default=5_000)
    parser.add_argument("--steps", type=int, default=15)
    options = parser.parse_args()
    chosen = settings(
        max_examples=options.runs,
        stateful_step_count=options.steps,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    for model in (FeedModel, HubModel):
        began = time.process_time()
        run_state_machine_as_test(model, settings=chosen)
        took = time.process_time() - began
        print(
            f"{model.__name__}: {options.runs:,} histories of up to {options.steps} steps, no difference"
            f" ({took:.0f} CPU-seconds)",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
