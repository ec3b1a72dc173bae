"""Text that was encoded as UTF-8 twice, and text that only looks like it."""

import pytest

from feedmill.parse.input.double_encoding import undo_double_encoding


def twice(text: str, taken_for: str) -> str:
    """The text as a program reads it that takes its UTF-8 for a single-byte encoding."""
    letters = [bytes([byte]).decode(taken_for, "ignore") or chr(byte) for byte in text.encode()]
    return "".join(letters)


@pytest.mark.parametrize("taken_for", ["cp1252", "latin-1"])
@pytest.mark.parametrize(
    "text", ["sœur d’or", "naïve café", "25 °C – “quoted”", "żółw", "日本語 🙂"]
)
def test_text_encoded_twice_is_decoded_twice(text: str, taken_for: str) -> None:
    written = twice(text, taken_for)

    assert undo_double_encoding(f"<title>{written}</title>".encode()) == (
        f"<title>{text}</title>".encode(),
        1,
    )


def test_text_encoded_three_times_is_decoded_three_times() -> None:
    written = twice(twice("é’", "latin-1"), "latin-1")

    assert undo_double_encoding(written.encode()) == ("é’".encode(), 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("plain words", id="ASCII"),
        pytest.param("São Paulo, NÃO, ÂGE, Århus", id="capital letters before letters"),
        pytest.param("quoted ”Å” in Swedish", id="a letter before a closing quote"),
        pytest.param("é is shown as Ã© when a reader is wrong", id="both spellings"),
        pytest.param("’ is shown as â€™", id="both spellings of a quote"),
        pytest.param("« voilà\xa0» et «\xa0à\xa0»", id="a letter before a no-break space"),
        pytest.param("voilà\xa0! Ã© and 中文", id="a letter before a no-break space, and both"),
        pytest.param("Ã© and 中文", id="a character that no single byte can mean"),
    ],
)
def test_text_that_is_not_surely_encoded_twice_stays(text: str) -> None:
    assert undo_double_encoding(text.encode()) == (text.encode(), 0)


def test_each_entry_is_judged_by_itself() -> None:
    right, wrong = "<item>déjà vu</item>", f"<item>{twice('déjà vu', 'latin-1')}</item>"

    mended, count = undo_double_encoding(f"<rss>{right}{wrong}{right}</rss>".encode())

    assert mended.decode() == f"<rss>{right}<item>déjà vu</item>{right}</rss>"
    assert count == 1
