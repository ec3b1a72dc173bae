"""Texts that PostgreSQL can hold: everything but NUL and halves of characters stays as it is."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters.store.postgres.parameters import (
    clean_and_size,
    clean_value,
    postgres_json,
    postgres_text,
)
from feedmill.model.base import Value

ANY_TEXT = st.text(st.characters(), max_size=20)  # halves of pairs included


class Leaf(Value):
    text: str
    number: int = 1


class Tree(Value):
    leaves: tuple[Leaf, ...] = ()
    names: dict[str, list[str | None]] = msgspec.field(default_factory=dict)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("plain", "plain"),
        ("é\u4e2d\U0001f600", "é\u4e2d\U0001f600"),
        ("a\x00b", "a\ufffdb"),
        ("é\x00", "é\ufffd"),
        ("\ud800x\udfff", "\ufffdx\ufffd"),
        ("\x01\x7f\ufffe", "\x01\x7f\ufffe"),
    ],
)
def test_only_nul_and_halves_of_characters_are_replaced(text: str, kept: str) -> None:
    assert postgres_text(text) == kept


@given(ANY_TEXT)
def test_what_is_storable_has_bytes_no_nul_and_the_same_length(text: str) -> None:
    kept = postgres_text(text)

    assert b"\x00" not in kept.encode()
    assert len(kept) == len(text)
    assert postgres_text(kept) == kept


@given(ANY_TEXT, ANY_TEXT)
def test_every_text_of_a_value_is_storable_however_deep(text: str, name: str) -> None:
    tree = Tree(leaves=(Leaf(text="a"), Leaf(text=text)), names={name: [text, None]})

    kept, size = clean_and_size(tree)

    expected = Tree(
        leaves=(Leaf(text="a"), Leaf(text=postgres_text(text))),
        names={postgres_text(name): [postgres_text(text), None]},
    )
    assert kept == clean_value(tree) == expected
    assert size == len(msgspec.json.encode(expected))
    assert json.loads(postgres_json(tree)) == json.loads(msgspec.json.encode(expected))


def test_what_is_storable_already_is_the_same_value() -> None:
    tree = Tree(leaves=(Leaf(text="é"),), names={"a": ["b"]})

    assert clean_and_size(tree)[0] is tree
    assert clean_value(tree) is tree


def test_a_backslash_and_letters_that_look_like_a_nul_stay() -> None:
    leaf = Leaf(text="\\u0000")

    assert clean_and_size(leaf)[0] == leaf
    assert json.loads(postgres_json("\\u0000\x00")) == "\\u0000\ufffd"
