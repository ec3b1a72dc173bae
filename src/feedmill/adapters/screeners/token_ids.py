"""Token ids for encoders that read tokens, from the `tokenizer.json` beside the model.

WordPiece (BERT and its children) is read here; the other kinds by onnxruntime-extensions, which needs
`tokenizer_config.json` too.
"""
# Tested in tests/integration/adapters/screeners/test_encoders.py

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from feedmill.errors import ScreenerError

Ids = np.ndarray[Any, np.dtype[np.int64]]

_MAX_TOKENS: Final = 256
_LONGEST_WORD: Final = 100
_CJK: Final = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_MARKS: Final = r"!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00b6\u00b7\u00bb\u00bf\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3011\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_PIECE: Final = re.compile(rf"[{_CJK}{_MARKS}]|[^\s{_CJK}{_MARKS}]+")


class TokenReader:
    """Makes token ids of texts; ScreenerError for a file that is missing or cannot be read."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            message = f"this model reads tokens: {path} is missing"
            raise ScreenerError(message, reason="model-missing")
        try:
            self._read(msgspec.json.decode(path.read_bytes()), path)
        except (msgspec.DecodeError, KeyError, TypeError, RuntimeError) as problem:
            message = f"{path} cannot be read as a tokenizer: {problem}"
            raise ScreenerError(message, reason="model-damaged") from problem

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Ids]:
        """Ids and their mask, one row for each text, filled up to the longest."""
        rows = [self._row(text) for text in texts]
        width = max(map(len, rows))
        ids = np.full((len(rows), width), self._pad, np.int64)
        mask = np.zeros_like(ids)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
            mask[at, : len(row)] = 1
        return ids, mask

    def _read(self, file: Mapping[str, Any], path: Path) -> None:
        model = file["model"]
        self._before, self._after = _special_ids(file.get("post_processor") or {})
        added = {one["content"]: one["id"] for one in file.get("added_tokens") or ()}
        self._pad = next((added[name] for name in ("[PAD]", "<pad>") if name in added), 0)
        self._other: Any = None
        if model.get("type") == "WordPiece":
            self._vocabulary: dict[str, int] = model["vocab"]
            self._unknown: int = self._vocabulary[model.get("unk_token", "[UNK]")]
            normalizer = file.get("normalizer") or {}
            self._lower = bool(normalizer.get("lowercase", True))
            accents = normalizer.get("strip_accents")
            self._strip = self._lower if accents is None else bool(accents)
        else:
            self._other = import_module("onnxruntime_extensions.pp_api").Tokenizer(str(path.parent))

    def _row(self, text: str) -> list[int]:
        room = _MAX_TOKENS - len(self._before) - len(self._after)
        if self._other is None:
            found = [one for word in self._words(text) for one in self._pieces(word)]
        else:
            found = list(self._other.tokenize([text])[0])
        return [*self._before, *found[:room], *self._after]

    def _words(self, text: str) -> list[str]:
        text = text.lower() if self._lower else text
        if self._strip:
            parts = unicodedata.normalize("NFD", text)
            text = "".join(char for char in parts if unicodedata.category(char) != "Mn")
        return _PIECE.findall(text)

    def _pieces(self, word: str) -> Iterator[int]:
        """The longest known beginning, again and again; a word that does not come out even is unknown."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _LONGEST_WORD:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                known = self._vocabulary.get(prefix + word[start:end])
                if known is not None:
                    found.append(known)
                    start = end
                    break
            else:
                break
        return iter(found if start == len(word) else (self._unknown,))


def _special_ids(processor: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """What stands before and after every text, such as [CLS] and [SEP]."""
    if "cls" in processor:  # BertProcessing, RobertaProcessing
        return [processor["cls"][1]], [processor["sep"][1]]
    sides: tuple[list[int], list[int]] = ([], [])
    at = 0
    for step in processor.get("single", ()):
        if "Sequence" in step:
            at = 1
        else:
            sides[at].extend(processor["special_tokens"][step["SpecialToken"]["id"]]["ids"])
    return sides
