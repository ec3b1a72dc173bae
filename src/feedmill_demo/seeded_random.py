"""Seeded random numbers: the same sites on every machine."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


def seeded_random(seed: str, *what: object) -> float:
    """A number in [0, 1) that depends on the seed and on what it is drawn for, and on nothing else."""
    key = "\x1f".join((seed, *map(str, what))).encode()
    return int.from_bytes(blake2b(key, digest_size=6).digest()) / 2**48


def seeded_choice(options: Sequence[T], seed: str, *what: object) -> T:
    """One of the options."""
    return options[int(seeded_random(seed, *what) * len(options))]
