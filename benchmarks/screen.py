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
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from feedmill.adapters.screeners.encoders import OnnxEncoder
from feedmill.adapters.screeners.model_files import USE_M, model_path
from feedmill.app.screeners import default_topics, evaluation_set, install_model, open_screeners
from feedmill.config import Config, ScreenConfig, StoreConfig
from feedmill.engine.two_phase.screen import screen_texts
from feedmill.model.screening import ScreenText
from feedmill.screen.evaluate import read_gold
from feedmill.screen.texts import joined_text

DEFAULT_MODELS = Path(sys.prefix) / ".feedmill-models"


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


async def measure_encoder(texts: list[ScreenText], models: Path) -> float:
    """The encoder alone, over the same texts in the same batches; texts per second."""
    encoder = OnnxEncoder(USE_M.id, model_path(models), frozenset(), 0)
    passages = [joined_text(text) for text in texts]
    await encoder.encode(passages[:16])
    began, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(passages), 256):
        await encoder.encode(passages[start : start + 256])
    took, used = time.perf_counter() - began, time.process_time() - cpu
    print(f"encoder  {took:7.1f} s  {len(texts) / took:8.0f}/s  {used:7.1f} CPU s")
    return len(texts) / took


async def measure(count: int, models: Path) -> None:
    """Screen by each method and print what it took."""
    texts = texts_for(count)
    chars = sum(len(text.title) + len(text.summary) for text in texts) / max(1, len(texts))
    print(f"{count:,} candidates of {chars:.0f} characters on average")
    alone = await measure_encoder(texts, models)
    for method in ("lexical", "hybrid"):
        with TemporaryDirectory(prefix="feedmill-bench-") as home:
            config = Config(
                store=StoreConfig(home=home), screen=ScreenConfig(model_dir=str(models))
            )
            await install_model(config, "use-m")
            async with open_screeners(config, method) as opened:
                began, cpu = time.perf_counter(), time.process_time()
                done = await screen_texts(
                    texts,
                    default_topics(),
                    opened.screeners,
                    config.screen,
                    asked=opened.asked,
                )
                took, used = time.perf_counter() - began, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{method:8} {took:7.1f} s  {count / took:8.0f}/s  {used:7.1f} CPU s  "
            f"peak {peak:5.0f} MiB  keep {sum(one.suggestion == 'keep' for one in done):,}  "
            f"{count / took / alone:.2f} of the encoder's speed"
        )


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=50_000)
    parser.add_argument("--models", type=Path, default=DEFAULT_MODELS)
    chosen = parser.parse_args()
    asyncio.run(measure(chosen.candidates, chosen.models))


if __name__ == "__main__":
    main()
