"""How many candidates are screened in a second, by words and by meaning, and in how much memory.

    python -m benchmarks.screen [--candidates 50000] [--models DIR]

The texts are made from the evaluation set: every one is different, so that no vector is
remembered from another. The model is fetched once when it is not in DIR.
"""

import argparse
import asyncio
import resource
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from feedmill.adapters.screeners.encoders import OnnxEncoder
from feedmill.adapters.screeners.model_files import USE_M, model_path
from feedmill.app.screeners import default_topics, evaluation_set, install_model, open_screeners
from feedmill.config import Config, ScreenConfig, StoreConfig
from feedmill.engine.two_phase.screen import screen_texts
from feedmill.model.screening import Screening, ScreenText
from feedmill.screen.evaluate import read_gold
from feedmill.screen.language import joined_text

DEFAULT_MODELS = Path(sys.prefix) / ".feedmill-models"
_WARM_UP = 16


def texts_for(count: int) -> list[ScreenText]:
    """So many different texts: entries of the set, shuffled together in pairs."""
    gold = [one.text for one in read_gold(evaluation_set(), default_topics())]
    found = []
    for number in range(count):
        one = gold[number % len(gold)]
        other = gold[(number * 7 + number // len(gold)) % len(gold)]
        summary = f"{one.summary} {other.summary} ({number})"
        found.append(replace(one, ref=number + 1, summary=summary))
    return found


async def measure(count: int, models: Path) -> None:
    """Screen by each method and print what it took.

    The encoder alone and the methods take turns over the same texts, so that a busy machine is equally
    busy for all of them; the hybrid comes before words alone, which find its words remembered.
    """
    texts = texts_for(count)
    chars = sum(len(text.title) + len(text.summary) for text in texts) / max(1, len(texts))
    print(f"{count:,} candidates of {chars:.0f} characters on average")
    encoder = OnnxEncoder(USE_M.id, model_path(models), frozenset(), 0)
    spent: dict[str, list[float]] = {name: [0.0, 0.0] for name in ("encoder", "hybrid", "lexical")}
    keeps = 0
    async with AsyncExitStack() as stack:
        home = stack.enter_context(TemporaryDirectory(prefix="feedmill-bench-"))
        config = Config(store=StoreConfig(home=home), screen=ScreenConfig(model_dir=str(models)))
        await install_model(config, "use-m")
        opened = {
            name: await stack.enter_async_context(open_screeners(config, name))
            for name in ("lexical", "hybrid")
        }

        async def turn(name: str, some: list[ScreenText]) -> tuple[Screening, ...]:
            if name == "encoder":
                await encoder.encode([joined_text(text) for text in some])
                return ()
            own = opened[name]
            return await screen_texts(
                some, default_topics(), own.screeners, config.screen, asked=own.asked
            )

        for name in spent:
            await turn(name, texts[:_WARM_UP])
        for start in range(_WARM_UP, count, config.screen.batch):
            some = texts[start : start + config.screen.batch]
            for name, sums in spent.items():
                began, cpu = time.perf_counter(), time.process_time()
                done = await turn(name, some)
                sums[0] += time.perf_counter() - began
                sums[1] += time.process_time() - cpu
                keeps += sum(one.suggestion == "keep" for one in done if name == "hybrid")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for name, (took, used) in spent.items():
        alone = spent["encoder"][1]
        print(
            f"{name:8} {took:7.1f} s  {count / took:8.0f}/s  {used:7.1f} CPU s  "
            f"{alone / used:.2f} of the encoder's speed per CPU-second"
        )
    print(f"peak {peak:.0f} MiB, keep {keeps:,}")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=50_000)
    parser.add_argument("--models", type=Path, default=DEFAULT_MODELS)
    chosen = parser.parse_args()
    asyncio.run(measure(chosen.candidates, chosen.models))


if __name__ == "__main__":
    main()
